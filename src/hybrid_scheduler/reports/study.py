"""Figure: what an experiment found, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_scheduler.metrics import MEASURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.experiments import Study

# Okabe and Ito's colours with different marks: neither eye nor printer needs colour alone.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
MARKS = "oD^sv*Xp"


def plot_study(study: Study, ax: Axes | None = None, measure: str = "") -> Axes:
    """Draw one measure of a study, the first by default: lines over numbers, bars over names."""
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(figsize=(7.5, 4.2), layout="constrained").subplots()
    name = measure or study.measures[0]
    if len({row["x"] for row in study.rows}) == 1:
        _bars(study, name, ax)
    else:
        _lines(study, name, ax)
        if len(study.series) > 1:
            ax.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    number = len({row["seed"] for row in study.rows})
    seeds = f"{number} seed{'s' if number > 1 else ''}"
    ax.set_title(f"{study.name}: {name.replace('_', ' ')}, {seeds}, simulated", fontsize=10, loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_all_measures(study: Study) -> Axes:
    """Draw every measure of a study, one below the other; returns the first picture."""
    from matplotlib.figure import Figure

    number = len(study.measures)
    figure = Figure(figsize=(7.5, 3.0 * number + 0.6), layout="constrained")
    panels = figure.subplots(number, squeeze=False)[:, 0]
    for name, ax in zip(study.measures, panels, strict=True):
        plot_study(study, ax, name)
    first: Axes = panels[0]
    return first


def _labelled(name: str) -> str:
    unit = MEASURES[name].unit if name in MEASURES else "×"
    return name.replace("_", " ") + ("" if unit == "×" else f" ({unit})")


def _bars(study: Study, name: str, ax: Axes) -> None:
    for position, series in enumerate(study.series):
        (each,) = study.points(series, name).values()
        error = [[each.mean - each.low], [each.high - each.mean]]
        ax.barh(position, each.mean, xerr=error, color=COLOURS[0], height=0.62, error_kw={"capsize": 3})
        ax.annotate(f"{each.mean:.3g}", (each.high, position), xytext=(6, 0), textcoords="offset points", va="center")
    ax.set_yticks(range(len(study.series)), study.series)
    ax.invert_yaxis()
    ax.set_xlabel(_labelled(name))
    ax.margins(x=0.12)


def _lines(study: Study, name: str, ax: Axes) -> None:
    largest = max(row[name] for row in study.rows)
    smallest = min(row[name] for row in study.rows)
    for number, series in enumerate(study.series):
        points = study.points(series, name)
        mean = [each.mean for each in points.values()]
        error = [
            [each.mean - each.low for each in points.values()],
            [each.high - each.mean for each in points.values()],
        ]
        colour, mark = COLOURS[number % len(COLOURS)], MARKS[number % len(MARKS)]
        ax.errorbar(list(points), mean, yerr=error, color=colour, marker=mark, capsize=2, label=series, linewidth=1.3)
    if smallest > 0 and largest / smallest > 20:
        ax.set_yscale("log")
    ax.set_xlabel(study.x_name)
    ax.set_ylabel(_labelled(name))
