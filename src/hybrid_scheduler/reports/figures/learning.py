"""Figure: how learners get better with the tasks that they have seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_scheduler.reports.figures.study import plot_study
from hybrid_scheduler.reports.style import styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.experiments import Study


@styled
def plot_learning(study: Study, ax: Axes | None = None, measure: str = "") -> Axes:
    """Draw one line per learner with its interval over the tasks seen, the first measure by default."""
    ax = plot_study(study, ax, measure)
    ax.set_xlabel(f"{study.x_name} (number), simulated")
    return ax
