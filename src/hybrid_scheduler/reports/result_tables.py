"""Tables of a comparison: results with intervals, paired tests, where each policy wins and loses, seed by seed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from hybrid_scheduler.core.formatting import format_interval, format_percent, format_quantity, format_value
from hybrid_scheduler.core.metrics import MEASURES, sign_test
from hybrid_scheduler.reports.data import Replay
from hybrid_scheduler.reports.document import Table
from hybrid_scheduler.reports.text import describe_knowledge, quote_name
from hybrid_scheduler.studies.compare import SCORES, WHOLE, Outcome, Result

COLUMNS = {
    "makespan_over_bound": "makespan / bound",
    "mean_turnaround": "mean turnaround",
    "turnaround_over_bound": "turnaround / bound",
    "p99_turnaround": "99 % of tasks within",
    "energy": "energy",
    "cost": "cost",
}
SCORE_TITLES = {**COLUMNS, "execution_over_best": "time / optimum"}
TESTED_MEASURES = ("mean_turnaround", "energy", "cost")
RANKED_MEASURES = ("mean_turnaround", "p99_turnaround", "mean_waiting", "load_balance", "energy", "cost")
MAX_SEEDS, MAX_POLICIES = 20, 9  # what a table of seeds has room for
NAME_WIDTH = 22


def build_results(result: Result) -> Table:
    """Build the main table: best first, with intervals of the score."""
    score = result.score
    ranking = result.ranking(score)
    absent = {score} if result.has_turnaround_bounds else set(SCORES.values())
    columns = {name: title for name, title in COLUMNS.items() if name not in absent}
    rows = tuple(
        (
            quote_name(spec, NAME_WIDTH),
            describe_knowledge(spec) or "own",
            format_interval(result.interval(spec, score), "×"),
            *(format_value(result.interval(spec, name).mean, MEASURES[name].unit) for name in columns),
        )
        for spec in ranking
    )
    best = {name: result.ranking(name)[0] for name in columns}
    marked = {(ranking.index(best[name]), 3 + column) for column, name in enumerate(columns)} | {(0, 2)}
    head = ("policy", "knows times", SCORE_TITLES[score], *columns.values())
    caption = "Means over the seeds, in brackets the 95 % bootstrap interval; bold is the best of a column."
    return Table(caption, head, rows, text_columns=2, emphasis=frozenset(marked))


def build_tests(result: Result) -> Table | None:
    """Build the paired tests of every policy against the best; None for one seed or one policy."""
    best, *others = result.ranking(result.score)
    if len(result.outcomes) < 2 or not others:
        return None
    names = _put_time_first(result, TESTED_MEASURES)
    rows = tuple(
        (quote_name(spec, NAME_WIDTH), *(_format_test(result, spec, best, name) for name in names)) for spec in others
    )
    head = ("policy", *(name.replace("_", " ") for name in names))
    caption = (
        f"Paired differences to {quote_name(best)} on the same tasks, in per cent of its mean, from × 3 on as a "
        "multiple: mean [95 % interval], p of the sign test. Less is better; **=**: the interval holds 0."
    )
    return Table(caption, head, rows)


def _format_test(result: Result, spec: str, best: str, name: str) -> str:
    base, gap = result.interval(best, name).mean, result.difference(spec, best, name)
    p_value = sign_test(result.values(spec, name), result.values(best, name))
    if not base:
        return "–"
    equal = "" if gap.excludes_zero() else "**=** "
    mean, low, high = (value / base for value in (gap.mean, gap.low, gap.high))
    if mean >= 2:
        share = f"× {1 + mean:.3g} [{1 + low:.3g}, {1 + high:.3g}]"
    else:
        low_text, high_text = (format_percent(value).removesuffix(" %") for value in (low, high))
        share = f"{format_percent(mean)} [{low_text}, {high_text}]"
    p_text = "< 0.001" if p_value < 0.001 else f"{p_value:.3f}" if p_value < 0.1 else f"{p_value:.1f}"
    text = f"{equal}{share}, p {p_text}"
    return text.replace(" ", "\u00a0").replace(",\u00a0p", ", p")  # a line breaks only before p


def rank_all(result: Result) -> dict[str, dict[str, int]]:
    """Return the rank of every policy in every measure that matters."""
    # Isolated devices are always free, so nothing waits and no load has to be balanced.
    void = ("mean_waiting", "load_balance") if result.comparison.mode == "isolated" else ()
    names = _put_time_first(result, [name for name in RANKED_MEASURES if name not in void])
    return {name: rank(result, name) for name in names}


def _put_time_first(result: Result, names: Iterable[str]) -> list[str]:
    """Return measures, first the one in seconds that belongs to the score; if it is turnaround, then the makespan."""
    others = ("makespan", *names) if result.time == "mean_turnaround" else names
    return list(dict.fromkeys((result.time, *others)))


def rank(result: Result, name: str) -> dict[str, int]:
    """Return ranks from 1; a policy that is not clearly worse than the first of a rank shares it."""
    order = result.ranking(name) if MEASURES[name].less_is_better else result.ranking(name)[::-1]
    ranks, leader, place = {}, order[0], 1
    for position, spec in enumerate(order):
        gap = result.difference(spec, leader, name)
        if gap.excludes_zero() if len(result.outcomes) > 1 else gap.mean != 0:
            leader, place = spec, position + 1
        ranks[spec] = place
    return ranks


def build_ranks(result: Result, ranks: dict[str, dict[str, int]]) -> Table:
    """Build the table of ranks by measure and policy, first places in bold."""
    ranking = result.ranking(result.score)
    table = [[places[spec] for places in ranks.values()] for spec in ranking]
    rows = tuple((quote_name(spec, NAME_WIDTH), *map(str, row)) for spec, row in zip(ranking, table, strict=True))
    caption = "The place of every policy in every measure (1 is best); those that cannot be told apart share one."
    head = ("policy", *(name.replace("_", " ") for name in ranks))
    return Table(caption, head, rows, emphasis=_find_cells(np.array(table) == 1))


def build_kinds(replay: Replay) -> Table | None:
    """Build the mean turnaround of small and large, light and heavy tasks; None for fewer than 40 tasks."""
    tasks, ran = replay.tasks, next(iter(replay.placements.values())).ran
    if int(ran.sum()) < 40:
        return None
    groups = {
        "smallest quarter": tasks.size <= np.quantile(tasks.size[ran], 0.25),
        "largest quarter": tasks.size >= np.quantile(tasks.size[ran], 0.75),
        "intensity below 0.5": tasks.compute_intensity < 0.5,
        "intensity from 0.5 on": tasks.compute_intensity >= 0.5,
    }
    masks = {name: rows & ran for name, rows in groups.items() if (rows & ran).any()}
    means = {
        spec: [float(placements.turnaround[rows].mean()) for rows in masks.values()]
        for spec, placements in replay.placements.items()
    }
    order = sorted(means, key=lambda spec: sum(means[spec]))
    rows = tuple(
        (quote_name(spec, NAME_WIDTH), *(format_quantity(value, "s") for value in means[spec])) for spec in order
    )
    table = np.array([means[spec] for spec in order])
    caption = f"Mean turnaround by kind of task on seed {replay.seed}; bold is the best of a kind."
    return Table(caption, ("policy", *masks), rows, emphasis=_find_cells(table == table.min(axis=0)))


def _find_cells(chosen: NDArray[np.bool_]) -> frozenset[tuple[int, int]]:
    """Return the cells of a table for which an array is true; its first column is the second of the table."""
    return frozenset((row, 1 + column) for row, column in np.argwhere(chosen).tolist())


def build_seeds(result: Result) -> Table | None:
    """Build the scores of every seed; None where they would fill pages."""
    score = result.score
    ranking = result.ranking(score)
    if not 1 < len(result.outcomes) <= MAX_SEEDS or len(ranking) > MAX_POLICIES:
        return None
    rows = tuple(
        (
            str(outcome.seed),
            format_quantity(_find_bound(outcome, score), "s"),
            *(format_value(outcome.measures[spec][score], "×") for spec in ranking),
        )
        for outcome in result.outcomes
    )
    head = ("seed", "bound", *(quote_name(spec, 12) for spec in ranking))
    marked = frozenset(
        (row, 2 + int(np.argmin([outcome.measures[spec][score] for spec in ranking])))
        for row, outcome in enumerate(result.outcomes)
    )
    return Table(f"{score.replace('_', ' ').capitalize()}, seed by seed; bold won.", head, rows, emphasis=marked)


def _find_bound(outcome: Outcome, score: str) -> float:
    """Return what the score of most policies is relative to, in seconds."""
    is_turnaround = score == "turnaround_over_bound"
    return outcome.turnaround_bounds[WHOLE].mean if is_turnaround else outcome.bound.makespan
