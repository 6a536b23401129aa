"""Figure: how far every scheduler is from the certified bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_scheduler.reports.figures.bars import draw_measure, mark_limit
from hybrid_scheduler.reports.style import styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.compare import Result


@styled
def plot_makespan_over_bound(result: Result, ax: Axes | None = None) -> Axes:
    """Draw one bar per scheduler, best on top, with its interval; no schedule can be left of the line at 1."""
    bound = "bound for measured times" if result.comparison.measured else "certified bound"
    ax = draw_measure(result, "makespan_over_bound", f"makespan / {bound}", ax)
    mark_limit(ax, 1.0, bound)
    return ax
