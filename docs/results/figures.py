"""The figures of RESULTS.md, drawn from the same numbers as its tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from docs.results.data import Results, RunResults
from docs.results.sections import SECTIONS
from hybrid_scheduler.reports.figures.bars import draw_bars, mark_limit
from hybrid_scheduler.reports.figures.comparisons import plot_pareto
from hybrid_scheduler.reports.figures.experiments import plot_capacity, plot_learning, plot_load_sweep, plot_study
from hybrid_scheduler.reports.style import apply_style, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@apply_style
def plot_race(run: RunResults) -> Axes:
    """Draw how far every policy is from the certified bound, best on top."""
    intervals = {name: run.interval(name, "makespan_over_bound") for name in run.experiment.series}
    rows = dict(sorted(intervals.items(), key=lambda pair: pair[1].mean))
    ax = draw_bars(rows, "×", "makespan / certified bound (ratio), simulated")
    mark_limit(ax, 1.0, "certified bound")
    return ax


FIGURES: dict[str, Callable[[RunResults], Axes]] = {
    "mixed": plot_race,
    "overload": plot_race,
    "turnaround": lambda run: plot_study(run.experiment),
    "shift": lambda run: plot_study(run.experiment, measure="over_optimum"),
    "load": lambda run: plot_load_sweep(run.experiment),
    "pareto": lambda run: plot_pareto(run.experiment),
    "learning": lambda run: plot_learning(run.experiment),
    "kernels": lambda run: plot_study(run.experiment),
    "robustness": lambda run: plot_study(run.experiment),
    "capacity": lambda run: plot_capacity(run.experiment),
}


def draw_figures(results: Results, folder: Path) -> None:
    """Draw the figure of every section that shows one and has been run."""
    for name, run in results.items():
        if SECTIONS[name].figure:
            save_figure(FIGURES[name](run), folder / f"{SECTIONS[name].figure}.png")
