"""The report of an experiment, as blocks."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from hybrid_scheduler.core.metrics import MEASURES, Interval, paired
from hybrid_scheduler.reports import gallery
from hybrid_scheduler.reports.comparison_report import repeat, threats
from hybrid_scheduler.reports.document import Block, Bullets, Document, Heading, Image, Paragraph, Table
from hybrid_scheduler.reports.figures.study import plot_study, unit_of
from hybrid_scheduler.reports.material import StudyMaterial
from hybrid_scheduler.reports.numbers import count, plain, with_interval
from hybrid_scheduler.reports.style import figure_svg
from hybrid_scheduler.reports.text import named
from hybrid_scheduler.studies import experiments
from hybrid_scheduler.studies.experiments import Study

Progress = Callable[[int, int], None]
MORE_IS_BETTER = {"static_over_this", "test_r2", "capacity", "load"}
INSTEAD = {"pareto": "", "load_sweep": "mean_turnaround", "capacity": "load"}
"""Figures of their own, and the measure that they show already."""
QUESTIONS = {"capacity": "The highest arrival rate at which each policy's queue stays stable."}


def build(material: StudyMaterial, progress: Progress) -> Document:
    """Build the report of an experiment."""
    study, manifest = material.study, material.manifest
    seeds = len({row["seed"] for row in study.rows})
    made = experiments.EXPERIMENTS.get(study.name)
    question = inspect.getdoc(made) if made else QUESTIONS.get(study.name)
    subtitle = f"{question or ''} {manifest.get('cluster', '')}, {count(seeds, 'seed')}. **Simulated.**".strip()
    blocks: list[Block] = [
        Heading("In short"),
        Bullets(summary(study)),
        Heading("Figures"),
        *_pictures(material, progress),
        Heading("Tables"),
        Paragraph("Means over the seeds, in brackets the 95 % bootstrap interval; bold is the best of several."),
        *tables(study),
        *threats(["One family of workloads and one cluster; others may rank the policies otherwise."]),
        *repeat(manifest, "hms report RUN", "writes this report again"),
    ]
    return Document(f"Experiment: {study.name}", subtitle, tuple(blocks))


def less_is_better(name: str) -> bool:
    """Whether less of a study's measure is better."""
    return MEASURES[name].less_is_better if name in MEASURES else name not in MORE_IS_BETTER


def ranked(study: Study, name: str, x: object) -> list[tuple[str, Interval]]:
    """Return the series that have this x, best first."""
    found = [(series, study.points(series, name).get(x)) for series in study.series]
    sign = 1 if less_is_better(name) else -1
    return sorted(((series, each) for series, each in found if each), key=lambda pair: sign * pair[1].mean)


def gap(study: Study, name: str, x: object, one: str, other: str) -> Interval:
    """Return the paired difference between two series at one x."""
    values = {
        series: {row["seed"]: row[name] for row in study.rows if row["series"] == series and row["x"] == x}
        for series in (one, other)
    }
    seeds = sorted(set(values[one]) & set(values[other]))
    return paired([values[one][seed] for seed in seeds], [values[other][seed] for seed in seeds])


def summary(study: Study) -> tuple[str, ...]:
    """Say for every measure who was best at the first and the last x, and whether that is clear."""
    places = list(dict.fromkeys(row["x"] for row in study.rows))
    ends = [places[0]] if len(places) == 1 else [places[0], places[-1]]
    if len(study.series) > 1:
        return tuple(_best(study, name, x) for name in study.measures for x in ends)
    return tuple(_course(study, name, places) for name in study.measures)


def _best(study: Study, name: str, x: object) -> str:
    (best, first), (second, next_), *_ = ranked(study, name, x)
    words = f"{name.replace('_', ' ').capitalize()} ({_where(study, x)}): {named(best)} is best"
    figures = f"{plain(first.mean, unit_of(name))} against {plain(next_.mean, unit_of(name))} of {named(second)}"
    difference = gap(study, name, x, best, second)
    single = len({row["seed"] for row in study.rows}) < 2
    clear = "one seed says nothing about chance" if single else "a clear difference"
    clear = clear if single or difference.excludes_zero() else "the paired interval holds 0, no clear difference"
    (last, worst) = ranked(study, name, x)[-1]
    return f"{words}, {figures}: {clear}. Last is {named(last)} with {plain(worst.mean, unit_of(name))}."


def _where(study: Study, x: object) -> str:
    return str(x) if isinstance(x, str) else f"{study.x_name} {x:g}"


def _course(study: Study, name: str, places: list[object]) -> str:
    points = study.points(study.series[0], name)
    unit = unit_of(name)
    ends = dict.fromkeys((places[0], places[-1]))
    texts = [f"{with_interval(points[x], unit)} at {_where(study, x)}" for x in ends]
    return f"{name.replace('_', ' ').capitalize()} of {named(study.series[0])}: {', then '.join(texts)}."


def tables(study: Study) -> list[Table]:
    """Return a table for every measure, series down, at most four places across; one table for a single series."""
    places = list(dict.fromkeys(row["x"] for row in study.rows))
    if len(study.series) == 1:
        return [_single(study, places)]
    cuts = range(0, len(places), 4)
    return [_table(study, name, places[first : first + 4]) for name in study.measures for first in cuts]


def _single(study: Study, places: list[object]) -> Table:
    found = {name: study.points(study.series[0], name) for name in study.measures}
    rows = tuple((str(x), *(with_interval(found[name][x], unit_of(name)) for name in study.measures)) for x in places)
    head = (study.x_name, *(name.replace("_", " ") for name in study.measures))
    return Table(f"{named(study.series[0])}: every measure at every {study.x_name}.", head, rows)


def _table(study: Study, name: str, places: list[object]) -> Table:
    unit, found = unit_of(name), {series: study.points(series, name) for series in study.series}
    rows = tuple(
        (named(series), *(with_interval(found[series][x], unit) if x in found[series] else "–" for x in places))
        for series in study.series
    )
    best = [ranked(study, name, x)[0][0] for x in places]
    marked = frozenset((study.series.index(series), 1 + column) for column, series in enumerate(best))
    head = ("series", *(_where(study, x) for x in places))
    return Table(f"{name.replace('_', ' ').capitalize()} ({unit}).", head, rows, emphasis=marked)


def _pictures(material: StudyMaterial, progress: Progress) -> list[Image]:
    study, special = material.study, [each for each in gallery.suitable(material) if each.name in INSTEAD]
    images = []
    measures = [name for name in study.measures if name not in {INSTEAD[each.name] for each in special}]
    for number, name in enumerate(measures):
        progress(number, len(measures))
        caption = f"{name.replace('_', ' ').capitalize()} with 95 % intervals."
        images.append(Image(f"study-{name}", figure_svg(plot_study(study, measure=name)), caption))
    for each in special:
        svg = figure_svg(gallery.draw(each.name, material))
        images.append(Image(each.name, svg, f"{each.summary[:1].upper()}{each.summary[1:]}."))
    return images
