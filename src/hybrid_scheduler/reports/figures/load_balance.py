"""Figure: how evenly the GPUs were used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_scheduler.reports.figures.bars import draw_measure
from hybrid_scheduler.reports.style import styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.compare import Result


@styled
def plot_load_balance(result: Result, ax: Axes | None = None) -> Axes:
    """Draw one bar per scheduler, best on top, with its interval."""
    return draw_measure(result, "load_balance", "load balance of the GPUs", ax)
