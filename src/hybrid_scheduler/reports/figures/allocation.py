"""Figure: how much of the work each scheduler gave to the GPUs as time went by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.reports.material import Replay, replayed
from hybrid_scheduler.reports.style import axes, label, legend_beside, light_grid, looks, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.core.placements import Placements
    from hybrid_scheduler.core.tasks import Floats
    from hybrid_scheduler.studies.compare import Result

STRETCHES = 24


def shares_over_time(placements: Placements, stretches: int = STRETCHES) -> tuple[Floats, Floats]:
    """Return the mean GPU share of consecutive stretches of tasks, and the tasks that had arrived by their ends."""
    rows = np.flatnonzero(placements.ran)
    parts = [part for part in np.array_split(rows, stretches) if len(part)]
    ends = np.array([part[-1] + 1.0 for part in parts])
    return ends, np.array([placements.gpu_fraction[part].mean() for part in parts])


@styled
def plot_allocation(found: Result | Replay, ax: Axes | None = None) -> Axes:
    """Draw one line per scheduler: the mean GPU share, stretch by stretch."""
    one = replayed(found)
    ax = axes(ax, 2.5)
    shown = looks(one.placements)
    for name in one.ranking:
        ends, shares = shares_over_time(one.placements[name])
        look = shown[name]
        ax.plot(
            ends, 100 * shares, color=look.colour, linestyle=look.dash, marker=look.mark, markersize=4.5, markevery=3,
            label=label(name),
        )  # fmt: skip
    ax.set_ylim(-3, 103)
    light_grid(ax, "y")
    ax.set_xlabel(f"tasks arrived (number), seed {one.seed}, {one.how}")
    ax.set_ylabel("mean share on a GPU (%)")
    legend_beside(ax, list(one.placements))
    return ax
