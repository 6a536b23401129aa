"""Figure: on how many seeds each scheduler beat each other one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.reports.style import axes, label, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.compare import Result


@styled
def plot_win_matrix(result: Result, ax: Axes | None = None) -> Axes:
    """Draw rows against columns: seeds on which the row's time was the shorter, in grey; bold: a clear lead."""
    order = result.ranking(result.time)
    ax = axes(ax, 1.0 + 0.26 * max(len(order), 3))
    wins, seeds = result.wins(result.time), len(result.outcomes)
    table = np.array([[np.nan if one == other else wins[one][other] for other in order] for one in order])
    ax.imshow(np.ma.masked_invalid(table), cmap="Greys", vmin=0, vmax=1.6 * seeds, aspect="auto")
    for row, one in enumerate(order):
        for column, other in enumerate(order):
            if one != other:
                clear = result.difference(one, other, result.time).high < 0 and seeds > 1
                _write(ax, column, row, int(wins[one][other]), clear)
    names = [label(name, 14) for name in order]
    ax.set_xticks(range(len(order)), names, rotation=30, ha="left", rotation_mode="anchor")
    ax.xaxis.tick_top()
    ax.set_yticks(range(len(order)), names)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    plural = "s" if seeds > 1 else ""
    ax.set_xlabel(
        f"seeds won by the row against the column (number of {seeds} seed{plural}), {result.comparison.how}"
    )
    ax.set_ylabel("scheduler (fastest first)")
    return ax


def _write(ax: Axes, column: int, row: int, wins: int, clear: bool) -> None:
    weight = "bold" if clear else "normal"
    ax.text(column, row, str(wins), ha="center", va="center", fontweight=weight, fontsize=8.5, color="black")
