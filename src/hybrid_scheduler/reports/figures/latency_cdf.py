"""Figure: which share of the tasks had ended how long after it arrived."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.reports.material import Replay, replayed
from hybrid_scheduler.reports.style import axes, label, legend_beside, light_grid, log_x, looks, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.compare import Result

MARKS = 6  # per line: enough to tell lines apart in grey


@styled
def plot_latency_cdf(found: Result | Replay, ax: Axes | None = None) -> Axes:
    """Draw one line per scheduler: the further left, the sooner tasks end."""
    one = replayed(found)
    ax = axes(ax, 2.65)
    shown = looks(one.placements)
    for name in one.ranking:
        placements, look = one.placements[name], shown[name]
        seconds = np.sort(placements.turnaround[placements.ran])
        if len(seconds):
            shares = np.linspace(1.0 / len(seconds), 1.0, len(seconds))
            every = max(1, len(seconds) // MARKS)
            thin = np.unique(np.linspace(0, len(seconds) - 1, 400).astype(int))  # more cannot be seen
            ax.plot(
                seconds[thin], 100 * shares[thin], color=look.colour, linestyle=look.dash, marker=look.mark,
                markevery=max(1, every * len(thin) // len(seconds)), label=label(name),
            )  # fmt: skip
    log_x(ax, [float(value) for each in one.placements.values() for value in each.turnaround[each.ran]])
    ax.set_ylim(0, 101)
    light_grid(ax, "y")
    ax.set_xlabel(f"time from arrival to finish (s), seed {one.seed}, {one.how}")
    ax.set_ylabel("tasks ended (%)")
    legend_beside(ax, list(one.placements))
    return ax
