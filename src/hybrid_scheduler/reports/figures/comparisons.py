"""Figures that set schedulers against each other: paired differences, times, energy against time, sim-to-real."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.core.formatting import format_percent, format_quantity
from hybrid_scheduler.core.metrics import Interval
from hybrid_scheduler.reports.figures.bars import annotate_value, bars_height, whiskers
from hybrid_scheduler.reports.style import (
    LIMIT,
    SOFT,
    add_grid,
    apply_style,
    get_axes,
    get_panels,
    label,
    plot_styles,
    set_log_x,
)
from hybrid_scheduler.studies.compare import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.runtime.validation import Validation
    from hybrid_scheduler.studies.experiments import ExperimentResult

Point = tuple[Interval, Interval]  # mean turnaround and energy


@apply_style
def plot_differences(result: Result, ax: Axes | None = None) -> Axes:
    """Draw how much longer than the best each scheduler takes; an interval that touches the line is no clear lead."""
    best, *others = result.ranking(result.time)
    base = result.interval(best, result.time).mean
    paired = {spec: result.difference(spec, best, result.time) for spec in others}
    gaps = {spec: Interval(gap.mean / base, gap.low / base, gap.high / base) for spec, gap in paired.items()}
    ax = get_axes(ax, bars_height(len(gaps)))
    styles = plot_styles(result.comparison.schedulers)
    for position, (name, each) in enumerate(gaps.items()):
        style = styles[name]
        ax.errorbar(
            100 * each.mean, position, xerr=whiskers(each, 100), color=style.colour, marker=style.marker, capsize=3,
            linestyle="none",
        )  # fmt: skip
        text = format_percent(each.mean) + ("" if each.excludes_zero() else " (not clear)")
        annotate_value(ax, text, (100 * each.high, position))
    ax.axvline(0, color=LIMIT, linewidth=1.3, linestyle=(0, (4, 2)))
    _scale_gaps(ax, gaps)
    ax.set_yticks(range(len(gaps)), [label(name) for name in gaps])
    ax.set_ylim(max(len(gaps), 1) - 0.5, -0.5)
    add_grid(ax, "x")
    ax.set_xlabel(
        f"{result.time.replace('_', ' ')} longer than {label(best)} (%), paired by seed, {result.comparison.origin}"
    )
    return ax


def _scale_gaps(ax: Axes, gaps: dict[str, Interval]) -> None:
    """Keep small gaps visible beside large ones: linear near 0, logarithmic beyond."""
    highest = 100 * max((each.high for each in gaps.values()), default=1.0)
    lowest = 100 * min((each.low for each in gaps.values()), default=0.0)
    nearest = 100 * min((abs(each.mean) for each in gaps.values() if each.mean), default=1.0)
    if highest > 50 * max(nearest, 0.5):
        ax.set_xscale("symlog", linthresh=1.0, linscale=0.5)
        ax.set_xlim(min(lowest * 2, -0.5), highest * 8)
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    else:
        ax.set_xlim(min(1.1 * lowest, -0.03 * highest), max(1.3 * highest, 0.1))


@apply_style
def plot_average_duration(result: Result, ax: Axes | None = None) -> Axes:
    """Draw the mean time from arrival to finish with its interval, and left of it the mean time of execution."""
    order = result.ranking("mean_turnaround")
    ax = get_axes(ax, bars_height(len(order)))
    styles = plot_styles(result.comparison.schedulers)
    values = []
    for position, spec in enumerate(order):
        turnaround, execution = (result.interval(spec, name) for name in ("mean_turnaround", "mean_execution"))
        style = styles[spec]
        ax.plot([execution.mean, turnaround.mean], [position, position], color=style.colour, linewidth=1)
        ax.plot(execution.mean, position, marker="|", markersize=9, color=style.colour, markeredgewidth=1.6)
        ax.errorbar(
            turnaround.mean, position, xerr=whiskers(turnaround), color=style.colour, marker=style.marker,
            capsize=2.5, markersize=6.5,
        )  # fmt: skip
        annotate_value(ax, format_quantity(turnaround.mean, "s"), (turnaround.high, position))
        values += [turnaround.mean, execution.mean]
    ax.set_yticks(range(len(order)), [label(name) for name in order])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(order) - 0.5, -0.5)
    positive = [value for value in values if value > 0]
    if positive and max(positive) > 10 * min(positive):
        set_log_x(ax, positive)
        ax.set_xlim(min(positive) / 1.5, max(positive) * 4)
    elif positive:
        ax.set_xlim(0, 1.3 * max(positive))
    add_grid(ax, "x")
    ax.set_xlabel(
        f"mean time from arrival to finish (s), {result.comparison.origin}; the bar | is how long a task runs"
    )
    return ax


@apply_style
def plot_pareto(found: Result | ExperimentResult, ax: Axes | None = None) -> Axes:
    """Draw energy over mean turnaround with both intervals, and the Pareto front as a line."""
    points = collect_points(found)
    ax = get_axes(ax, 2.75)
    styles, front = plot_styles(points), find_front(points)
    for name, (time, energy) in points.items():
        style = styles[name]
        ax.errorbar(
            time.mean, energy.mean, xerr=whiskers(time), yerr=whiskers(energy),
            color=style.colour, marker=style.marker, markersize=7, linestyle="none", elinewidth=1,
            markerfacecolor=style.colour if name in front else "white", label=label(name, 34), zorder=3,
        )  # fmt: skip
    line = [(points[name][0].mean, points[name][1].mean) for name in front]
    ax.plot(*zip(*line, strict=True), color="#5a6675", linewidth=1, linestyle=(0, (2, 2)), label="front", zorder=1)
    times = [time.mean for time, _ in points.values() if time.mean > 0]
    if times and max(times) > 10 * min(times):
        set_log_x(ax, times)
    ax.margins(0.08)
    add_grid(ax, "y")
    how = found.comparison.origin if isinstance(found, Result) else "simulated"
    ax.set_xlabel(f"mean time from arrival to finish (s), {how}")
    ax.set_ylabel("energy of the run (J)")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.6)
    return ax


def collect_points(found: Result | ExperimentResult) -> dict[str, Point]:
    """Return time and energy of every scheduler of a comparison, or of every setting of an experiment."""
    if isinstance(found, Result):
        specs = found.comparison.schedulers
        return {spec: (found.interval(spec, "mean_turnaround"), found.interval(spec, "energy")) for spec in specs}
    return {
        f"{series}, {found.x_name} {x:g}": (time, found.points(series, "energy")[x])
        for series in found.series
        for x, time in found.points(series, "mean_turnaround").items()
    }


def find_front(points: dict[str, Point]) -> list[str]:
    """Return the points that no other dominates, fastest first."""
    order = sorted(points, key=lambda name: (points[name][0].mean, points[name][1].mean))
    front: list[str] = []
    for name in order:
        if not front or points[name][1].mean < points[front[-1]][1].mean:
            front.append(name)
    return front


@apply_style
def plot_validation(validations: Sequence[Validation], devices: str) -> Axes:
    """Draw calibrated against measured task times and finished tasks over time, first seed of every scheduler."""
    first = {each.scheduler: each for each in reversed(validations)}
    scatter, finished = get_panels(None, 2, 3.2)
    for name, style in plot_styles(list(dict.fromkeys(each.scheduler for each in validations))).items():
        calibrated, measured = first[name].task_seconds
        scatter.plot(
            calibrated, measured, marker=style.marker, linestyle="none", color=style.colour, markersize=2.5, alpha=0.6
        )
        for placements, dash in ((first[name].simulated, (3, 2)), (first[name].measured, None)):
            ends = np.sort(placements.finish[placements.ran])
            counts = np.arange(1, len(ends) + 1)
            line = finished.step(ends, counts, where="post", color=style.colour, linewidth=1.1)[0]
            line.set_label(f"{label(name)}, {'measured' if dash is None else 'simulated'}")
            if dash:
                line.set_dashes(dash)
    low = max(min(scatter.get_xlim()[0], scatter.get_ylim()[0]), 1e-6)
    high = max(scatter.get_xlim()[1], scatter.get_ylim()[1])
    scatter.plot([low, high], [low, high], color=SOFT, linewidth=0.8, linestyle=":")
    scatter.set_xscale("log")
    scatter.set_yscale("log")
    scatter.set_xlabel("calibrated seconds of a task")
    scatter.set_ylabel(f"measured seconds ({devices})")
    finished.set_xlabel("seconds since the start")
    finished.set_ylabel("tasks ended")
    finished.legend(fontsize=6.5)
    add_grid(finished, "y")
    return scatter
