"""Figure: which share of a task each scheduler gives to a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.reports.material import Replay, replayed
from hybrid_scheduler.reports.style import axes, label, looks, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.compare import Result

BINS = 20


@styled
def plot_gpu_fraction(found: Result | Replay, ax: Axes | None = None) -> Axes:
    """Draw one row of bars per scheduler: how often a task got which share, relative to the most common one."""
    one = replayed(found)
    ax = axes(ax, 0.75 + 0.29 * max(len(one.placements), 2))
    shown = looks(one.placements)
    edges = np.linspace(0, 1, BINS + 1)
    for row, name in enumerate(one.ranking):
        placements = one.placements[name]
        shares = placements.gpu_fraction[placements.ran]
        counts = np.histogram(shares, edges)[0]
        ax.bar(
            100 * edges[:-1], -0.72 * counts / max(1, counts.max()), width=100 / BINS, bottom=row + 0.4, align="edge",
            color=shown[name].colour, edgecolor="white", linewidth=0.4,
        )  # fmt: skip
        ax.axhline(row + 0.4, color="#5a6675", linewidth=0.6)
        if len(shares):
            ax.annotate(f"mean {shares.mean():.0%}", (102, row), va="center", fontsize=8, annotation_clip=False)
    ax.set_yticks(range(len(one.placements)), [label(name) for name in one.ranking])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(one.placements) - 0.45, -0.55)
    ax.set_xlim(0, 114)
    ax.set_xticks(range(0, 101, 20))
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(f"share of a task given to a GPU (%), how often; seed {one.seed}, {one.how}")
    return ax
