"""The report of an experiment: summary, figures and tables of all measures, threats to validity, how to repeat it."""

from __future__ import annotations

import inspect

from hybrid_scheduler.core.formatting import format_count, format_interval, format_value
from hybrid_scheduler.core.metrics import MEASURES, Interval, bootstrap_paired
from hybrid_scheduler.reports import gallery
from hybrid_scheduler.reports.comparison_report import build_repetition, build_threats
from hybrid_scheduler.reports.data import ExperimentData
from hybrid_scheduler.reports.document import Block, Bullets, Document, Heading, Image, Paragraph, Table
from hybrid_scheduler.reports.figures.experiments import find_unit, plot_study
from hybrid_scheduler.reports.style import render_svg
from hybrid_scheduler.reports.text import quote_name
from hybrid_scheduler.studies import experiments
from hybrid_scheduler.studies.compare import Progress
from hybrid_scheduler.studies.experiments import ExperimentResult

MORE_IS_BETTER = {"static_over_this", "test_r2", "capacity", "load"}
QUESTIONS = {"capacity": "The highest arrival rate at which each policy's queue stays stable."}
TABLE_COLUMNS = 4


def build(data: ExperimentData, progress: Progress) -> Document:
    """Build the report of an experiment."""
    experiment, manifest = data.experiment, data.manifest
    seeds = format_count(len({row["seed"] for row in experiment.rows}), "seed")
    function = experiments.EXPERIMENTS.get(experiment.name)
    question = inspect.getdoc(function) if function else QUESTIONS.get(experiment.name)
    blocks: list[Block] = [
        Heading("In short"),
        Bullets(summarise(experiment)),
        Heading("Figures"),
        *_draw_images(data, progress),
        Heading("Tables"),
        Paragraph("Means over the seeds, in brackets the 95 % bootstrap interval; bold is the best of several."),
        *build_tables(experiment),
        *build_threats(["One family of workloads and one cluster; others may rank the policies otherwise."]),
        *build_repetition(manifest, "hms report RUN", "writes this report again"),
    ]
    subtitle = f"{question or ''} {manifest.get('cluster', '')}, {seeds}. **Simulated.**".strip()
    return Document(f"Experiment: {experiment.name}", subtitle, tuple(blocks))


def summarise(experiment: ExperimentResult) -> tuple[str, ...]:
    """Return a sentence per measure for the first and the last x: who was best, and whether that is clear."""
    places = _list_places(experiment)
    ends = list(dict.fromkeys((places[0], places[-1])))
    if len(experiment.series) > 1:
        return tuple(_describe_best(experiment, name, x) for name in experiment.measures for x in ends)
    only, lines = experiment.series[0], []
    for name in experiment.measures:
        points, unit = experiment.points(only, name), find_unit(name)
        texts = [f"{format_interval(points[x], unit)} at {_format_place(experiment, x)}" for x in ends]
        lines.append(f"{_title(name)} of {quote_name(only)}: {', then '.join(texts)}.")
    return tuple(lines)


def _describe_best(experiment: ExperimentResult, name: str, x: object) -> str:
    (best, first), (second, next_), *_ = ranking = rank_series(experiment, name, x)
    unit = find_unit(name)
    values = [
        {row["seed"]: row[name] for row in experiment.rows if row["series"] == series and row["x"] == x}
        for series in (best, second)
    ]
    shared = sorted(set(values[0]) & set(values[1]))
    if len({row["seed"] for row in experiment.rows}) < 2:
        clear = "one seed says nothing about chance"
    elif bootstrap_paired(*([each[seed] for seed in shared] for each in values)).excludes_zero():
        clear = "a clear difference"
    else:
        clear = "the paired interval holds 0, no clear difference"
    last, worst = ranking[-1]
    return (
        f"{_title(name)} ({_format_place(experiment, x)}): {quote_name(best)} is best, "
        f"{format_value(first.mean, unit)} against {format_value(next_.mean, unit)} of {quote_name(second)}: "
        f"{clear}. Last is {quote_name(last)} with {format_value(worst.mean, unit)}."
    )


def rank_series(experiment: ExperimentResult, name: str, x: object) -> list[tuple[str, Interval]]:
    """Return the series that have this x, best first."""
    points = [(series, experiment.points(series, name).get(x)) for series in experiment.series]
    less_is_better = MEASURES[name].less_is_better if name in MEASURES else name not in MORE_IS_BETTER
    sign = 1 if less_is_better else -1
    return sorted(((series, each) for series, each in points if each), key=lambda pair: sign * pair[1].mean)


def build_tables(experiment: ExperimentResult) -> list[Table]:
    """Build a table for every measure, a row per series and at most four places across; one for a single series."""
    places = _list_places(experiment)
    if len(experiment.series) == 1:
        series, names = experiment.series[0], experiment.measures
        points = {name: experiment.points(series, name) for name in names}
        rows = tuple((str(x), *(format_interval(points[name][x], find_unit(name)) for name in names)) for x in places)
        head = (experiment.x_name, *(name.replace("_", " ") for name in names))
        return [Table(f"{quote_name(series)}: every measure at every {experiment.x_name}.", head, rows)]
    return [
        _build_table(experiment, name, places[first : first + TABLE_COLUMNS])
        for name in experiment.measures
        for first in range(0, len(places), TABLE_COLUMNS)
    ]


def _build_table(experiment: ExperimentResult, name: str, places: list[object]) -> Table:
    unit, points = find_unit(name), {series: experiment.points(series, name) for series in experiment.series}
    rows = tuple(
        (quote_name(series), *(format_interval(each[x], unit) if x in each else "–" for x in places))
        for series, each in points.items()
    )
    best = [rank_series(experiment, name, x)[0][0] for x in places]
    marked = frozenset((experiment.series.index(series), 1 + column) for column, series in enumerate(best))
    head = ("series", *(_format_place(experiment, x) for x in places))
    return Table(f"{_title(name)} ({unit}).", head, rows, emphasis=marked)


def _draw_images(data: ExperimentData, progress: Progress) -> list[Image]:
    """Draw every measure, then the figures of this experiment, which take the place of some measures."""
    experiment, images = data.experiment, []
    special = [each for each in gallery.list_suitable(data) if each.in_report != "never"]
    measures = [name for name in experiment.measures if name not in {each.replaces for each in special}]
    for number, name in enumerate(measures):
        progress(number, len(measures))
        svg = render_svg(plot_study(experiment, measure=name))
        images.append(Image(f"study-{name}", svg, f"{_title(name)} with 95 % intervals."))
    own = [Image(each.name, render_svg(gallery.draw(each.name, data)), each.sentence) for each in special]
    return images + own


def _list_places(experiment: ExperimentResult) -> list[object]:
    """Return the values of x, in the order of the rows."""
    return list(dict.fromkeys(row["x"] for row in experiment.rows))


def _format_place(experiment: ExperimentResult, x: object) -> str:
    return x if isinstance(x, str) else f"{experiment.x_name} {x:g}"


def _title(measure: str) -> str:
    return measure.replace("_", " ").capitalize()
