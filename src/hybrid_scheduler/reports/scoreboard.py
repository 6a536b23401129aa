"""The scoreboard of a suite as a picture: a field for every policy and instance, darker the farther from the best."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.reports.style import INK, WIDTH, axes, label, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.scoreboard import Scoreboard

FAR = 2.0
"""From this ratio on a field is as dark as it gets."""


@styled
def plot_scoreboard(board: Scoreboard, ax: Axes | None = None) -> Axes:
    """Draw instances down and policies across, best policy first; the shortest of a row is bold."""
    policies = [each.policy for each in board.standings()]
    ratios = np.array([[board.ratio(policy, line) for policy in policies] for line in board.lines])
    width = max(WIDTH, 2.4 + 0.55 * len(policies))
    ax = axes(ax, 1.2 + 0.21 * max(len(board.lines), 3), width)
    shade = np.ma.masked_invalid(np.log(np.clip(ratios, 1.0, FAR)))
    ax.imshow(shade, cmap="Greys", vmin=0, vmax=1.7 * math.log(FAR), aspect="auto")
    for (row, column), ratio in np.ndenumerate(ratios):
        _write(ax, column, row, ratio, bold=bool(ratio <= np.nanmin(ratios[row]) * (1 + 1e-9)))
    ax.set_xticks(range(len(policies)), [label(each, 16) for each in policies], rotation=35, ha="left")
    ax.xaxis.tick_top()
    ax.set_yticks(range(len(board.lines)), [label(line.instance, 34) for line in board.lines])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    # In two lines: long names of instances leave little width below the cells.
    ax.set_xlabel("makespan / best known value or certified bound\nbold: shortest; –: came to no end; simulated")
    return ax


def _write(ax: Axes, column: int, row: int, ratio: float, bold: bool) -> None:
    words = "–" if math.isnan(ratio) else f"{ratio:.3f}" if ratio < 10 else f"{ratio:.0f}"
    weight = "bold" if bold else "normal"
    ax.text(column, row, words, ha="center", va="center", fontsize=7.0, fontweight=weight, color=INK)
