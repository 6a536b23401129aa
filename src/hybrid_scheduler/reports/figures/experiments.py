"""Figures of experiments: a measure per series and x, as lines over numbers or bars over names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_scheduler.core.formatting import format_count
from hybrid_scheduler.core.metrics import MEASURES
from hybrid_scheduler.reports.figures.bars import bars_height, draw_bars, mark_limit
from hybrid_scheduler.reports.style import (
    add_grid,
    add_legend,
    apply_style,
    create_figure,
    get_axes,
    label,
    plot_styles,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.experiments import ExperimentResult

UNITS = {
    "over_optimum": "×",
    "static_over_this": "×",
    "test_r2": "R²",
    "mae": "share",
    "capacity": "tasks/s",
    "load": "share",
}
"""Units of measures that only experiments have."""

SPREAD = 0.7  # of the room of a name that the marks of its series take


@apply_style
def plot_study(experiment: ExperimentResult, ax: Axes | None = None, measure: str = "") -> Axes:
    """Draw one measure of an experiment, the first by default: lines over numbers, bars over names."""
    name = measure or experiment.measures[0]
    if _has_single_x(experiment):
        rows = {series: next(iter(experiment.points(series, name).values())) for series in experiment.series}
        ax = draw_bars(rows, find_unit(name), _axis_label(name), ax)
    else:
        ax = get_axes(ax, 2.8)
        _draw_lines(experiment, name, ax)
        add_legend(ax, experiment.series)
    seeds = format_count(len({row["seed"] for row in experiment.rows}), "seed")
    ax.set_title(f"{experiment.name}: {name.replace('_', ' ')}, {seeds}, simulated")
    return ax


@apply_style
def plot_all_measures(experiment: ExperimentResult) -> Axes:
    """Draw every measure of an experiment, one below the other; returns the first axes."""
    number = len(experiment.measures)
    height = bars_height(len(experiment.series)) + 0.3 if _has_single_x(experiment) else 2.9
    rows = create_figure(height * number).subplots(number, squeeze=False)[:, 0]
    for name, ax in zip(experiment.measures, rows, strict=True):
        plot_study(experiment, ax, name)
    first: Axes = rows[0]
    return first


@apply_style
def plot_learning(experiment: ExperimentResult, ax: Axes | None = None, measure: str = "") -> Axes:
    """Draw one line per learner with its interval over the tasks seen, the first measure by default."""
    ax = plot_study(experiment, ax, measure)
    ax.set_xlabel(f"{experiment.x_name} (number), simulated")
    return ax


@apply_style
def plot_load_sweep(experiment: ExperimentResult, ax: Axes | None = None, measure: str = "mean_turnaround") -> Axes:
    """Draw one line per scheduler with its interval; right of load 1 every queue grows without end."""
    ax = plot_study(experiment, ax, measure)
    ax.set_title("")  # the name of the limit takes its place
    ax.set_xlabel("offered load (1: all that the cluster can do at best), simulated")
    mark_limit(ax, 1.0, "no queue is stable beyond")
    return ax


@apply_style
def plot_capacity(experiment: ExperimentResult, ax: Axes | None = None) -> Axes:
    """Draw the highest stable load of each scheduler, highest on top, as a share of the optimum."""
    loads = {series: next(iter(experiment.points(series, "load").values())) for series in experiment.series}
    rows = dict(sorted(loads.items(), key=lambda pair: -pair[1].mean))
    ax = draw_bars(rows, "share", "highest stable offered load (share of the optimum), simulated", ax)
    mark_limit(ax, 1.0, "optimum")
    return ax


def find_unit(measure: str) -> str:
    """Return the unit of a measure of a comparison or an experiment."""
    return MEASURES[measure].unit if measure in MEASURES else UNITS.get(measure, "×")


def _axis_label(measure: str) -> str:
    unit = find_unit(measure)
    return f"{measure.replace('_', ' ')} ({'ratio' if unit == '×' else unit})"


def _has_single_x(experiment: ExperimentResult) -> bool:
    return len({row["x"] for row in experiment.rows}) == 1


def _draw_lines(experiment: ExperimentResult, measure: str, ax: Axes) -> None:
    """Draw one line with intervals per series over x, or marks beside each other over names, which have no order.

    A wide range of values gets a logarithmic axis.
    """
    styles, places = plot_styles(experiment.series), list(dict.fromkeys(row["x"] for row in experiment.rows))
    named = any(isinstance(x, str) for x in places)
    for number, series in enumerate(experiment.series):
        points, style = experiment.points(series, measure), styles[series]
        shift = SPREAD * ((number + 0.5) / len(experiment.series) - 0.5)
        positions = [places.index(x) + shift if named else x for x in points]
        below = [each.mean - each.low for each in points.values()]
        above = [each.high - each.mean for each in points.values()]
        ax.errorbar(
            positions, [each.mean for each in points.values()], yerr=[below, above], color=style.colour,
            marker=style.marker, linestyle="none" if named else style.dash, capsize=2, label=label(series),
        )  # fmt: skip
    if named:
        ax.set_xticks(range(len(places)), [str(x).replace(", ", "\n") for x in places])
        ax.set_xlim(-0.5, len(places) - 0.5)
    values = [row[measure] for row in experiment.rows]
    if min(values) > 0 and max(values) / min(values) > 20:
        ax.set_yscale("log")
    add_grid(ax, "y")
    ax.set_xlabel(experiment.x_name)
    ax.set_ylabel(_axis_label(measure))
