"""Figure: what an experiment found, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_scheduler.core.metrics import MEASURES
from hybrid_scheduler.reports.figures.bars import draw_bars, height_of
from hybrid_scheduler.reports.numbers import count
from hybrid_scheduler.reports.style import axes, label, legend_beside, light_grid, looks, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.experiments import Study

UNITS = {
    "over_optimum": "×",
    "static_over_this": "×",
    "test_r2": "R²",
    "mae": "share",
    "capacity": "tasks/s",
    "load": "share",
}


def unit_of(name: str) -> str:
    """Return the unit of a measure of an experiment."""
    return MEASURES[name].unit if name in MEASURES else UNITS.get(name, "×")


def title_of(study: Study, name: str) -> str:
    """Return what a picture of a study is about."""
    seeds = count(len({row["seed"] for row in study.rows}), "seed")
    return f"{study.name}: {name.replace('_', ' ')}, {seeds}, simulated"


def has_one_place(study: Study) -> bool:
    """Whether all rows have the same x, so that there are bars and no lines to draw."""
    return len({row["x"] for row in study.rows}) == 1


@styled
def plot_study(study: Study, ax: Axes | None = None, measure: str = "") -> Axes:
    """Draw one measure of a study, the first by default: lines over numbers, bars over names."""
    name = measure or study.measures[0]
    if has_one_place(study):
        rows = {series: next(iter(study.points(series, name).values())) for series in study.series}
        ax = draw_bars(rows, unit_of(name), labelled(name), ax)
    else:
        ax = axes(ax, 2.8)
        draw_lines(study, name, ax)
        legend_beside(ax, study.series)
    ax.set_title(title_of(study, name))
    return ax


@styled
def plot_all_measures(study: Study) -> Axes:
    """Draw every measure of a study, one below the other; returns the first picture."""
    number = len(study.measures)
    each = height_of(len(study.series)) + 0.3 if has_one_place(study) else 2.9
    found = new_figure(each * number).subplots(number, squeeze=False)[:, 0]
    for name, ax in zip(study.measures, found, strict=True):
        plot_study(study, ax, name)
    first: Axes = found[0]
    return first


def labelled(name: str) -> str:
    """Return a measure's name and unit for an axis."""
    unit = unit_of(name)
    return f"{name.replace('_', ' ')} ({'ratio' if unit == '×' else unit})"


def draw_lines(study: Study, name: str, ax: Axes) -> None:
    """Draw one line with intervals per series over x; a wide range of values gets a logarithmic axis."""
    shown = looks(study.series)
    for series in study.series:
        points, look = study.points(series, name), shown[series]
        mean = [each.mean for each in points.values()]
        error = [
            [each.mean - each.low for each in points.values()],
            [each.high - each.mean for each in points.values()],
        ]
        ax.errorbar(
            list(points), mean, yerr=error, color=look.colour, marker=look.mark, linestyle=look.dash, capsize=2,
            label=label(series),
        )  # fmt: skip
    values = [row[name] for row in study.rows]
    if min(values) > 0 and max(values) / min(values) > 20:
        ax.set_yscale("log")
    light_grid(ax, "y")
    ax.set_xlabel(study.x_name)
    ax.set_ylabel(labelled(name))
