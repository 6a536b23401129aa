"""Figure: how much longer the tasks take than with the best splits, every device being free."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_scheduler.reports.figures.bars import draw_measure, mark_limit
from hybrid_scheduler.reports.style import styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.compare import Result


@styled
def plot_time_over_best(result: Result, ax: Axes | None = None) -> Axes:
    """Draw one bar per scheduler, best on top, with its interval; in the isolated race nobody can be below 1."""
    ax = draw_measure(result, "execution_over_best", "time of all tasks / closed-form optimum", ax)
    mark_limit(ax, 1.0, "best splits")
    return ax
