"""Figure: the highest arrival rate that each scheduler sustains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_scheduler.reports.figures.bars import draw_bars, mark_limit
from hybrid_scheduler.reports.style import styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.experiments import Study


@styled
def plot_capacity(study: Study, ax: Axes | None = None) -> Axes:
    """Draw one bar per scheduler, highest on top, as a share of what the cluster can do at best."""
    found = {series: next(iter(study.points(series, "load").values())) for series in study.series}
    rows = dict(sorted(found.items(), key=lambda pair: -pair[1].mean))
    ax = draw_bars(rows, "share", "highest stable offered load (share of the optimum), simulated", ax)
    mark_limit(ax, 1.0, "optimum")
    return ax
