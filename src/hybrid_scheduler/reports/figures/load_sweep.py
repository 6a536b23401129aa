"""Figure: how turnaround grows with the offered load, and where queues overflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_scheduler.reports.figures.bars import mark_limit
from hybrid_scheduler.reports.figures.study import plot_study
from hybrid_scheduler.reports.style import styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.experiments import Study


@styled
def plot_load_sweep(study: Study, ax: Axes | None = None, measure: str = "mean_turnaround") -> Axes:
    """Draw one line per scheduler with its interval; right of load 1 nobody can keep up."""
    ax = plot_study(study, ax, measure)
    ax.set_title("")  # its place is taken by the words at the line
    ax.set_xlabel("offered load (1: all that the cluster can do at best), simulated")
    mark_limit(ax, 1.0, "no queue is stable beyond")
    return ax
