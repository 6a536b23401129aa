"""Tables of a comparison: results with intervals, paired tests, where each policy wins and loses, seed by seed."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler import registry
from hybrid_scheduler.core.metrics import MEASURES, sign_test
from hybrid_scheduler.reports.document import Table
from hybrid_scheduler.reports.material import Replay
from hybrid_scheduler.reports.numbers import percent, plain, quantity, with_interval
from hybrid_scheduler.reports.text import named
from hybrid_scheduler.studies.compare import Result

COLUMNS = ("mean_turnaround", "p99_turnaround", "energy", "cost")
TESTED = ("mean_turnaround", "energy", "cost")
JUDGED = ("mean_turnaround", "p99_turnaround", "mean_waiting", "load_balance", "energy", "cost")
MOST_SEEDS, WIDEST = 20, 22  # seeds of a table, letters of a name in it


def sees(spec: str) -> str:
    """Return what a policy knows of the true times."""
    entry = registry.schedulers.table.get(spec.partition(":")[0])
    return (entry.sighted if entry else "") or "own"


def results(result: Result) -> Table:
    """Return the main table: best first, with intervals of the deciding measure."""
    score = result.score
    ranking = result.ranking(score)
    rows = tuple(
        (
            named(spec, WIDEST),
            sees(spec),
            with_interval(result.interval(spec, score), "×"),
            *(quantity(result.interval(spec, name).mean, MEASURES[name].unit) for name in COLUMNS),
        )
        for spec in ranking
    )
    best = {name: result.ranking(name)[0] for name in COLUMNS}
    marked = {(ranking.index(best[name]), 3 + column) for column, name in enumerate(COLUMNS)} | {(0, 2)}
    first = "makespan / bound" if score == "makespan_over_bound" else "time / optimum"
    head = ("policy", "knows times", first, "mean turnaround", "99 % of tasks within", "energy", "cost")
    caption = "Means over the seeds, in brackets the 95 % bootstrap interval; bold is the best of a column."
    return Table(caption, head, rows, words=2, emphasis=frozenset(marked))


def tests(result: Result) -> Table | None:
    """Return the paired tests of every policy against the winner; none where there is one seed or one policy."""
    best, *others = result.ranking(result.score)
    if len(result.outcomes) < 2 or not others:
        return None
    names = (result.time, *TESTED)
    rows = tuple((named(spec, WIDEST), *(_tested(result, spec, best, name) for name in names)) for spec in others)
    head = ("policy", *(name.replace("_", " ") for name in names))
    caption = (
        f"Paired differences to {named(best)} on the same tasks, in per cent of its mean, from × 3 on as a "
        "multiple: mean [95 % interval], p of the sign test. Less is better; **=**: the interval holds 0."
    )
    return Table(caption, head, rows)


def _tested(result: Result, spec: str, best: str, name: str) -> str:
    base, gap = result.interval(best, name).mean, result.difference(spec, best, name)
    chance = sign_test(result.values(spec, name), result.values(best, name))
    if not base:
        return "–"
    equal = "" if gap.excludes_zero() else "**=** "
    share = _share(gap.mean / base, gap.low / base, gap.high / base)
    return f"{equal}{share}, p {_chance(chance)}".replace(" ", "\u00a0").replace(
        ",\u00a0p", ", p"
    )  # breaks there only


def _share(mean: float, low: float, high: float) -> str:
    """Write a difference in per cent, or from three times as much on as a multiple."""
    if mean >= 2:
        return f"× {1 + mean:.3g} [{1 + low:.3g}, {1 + high:.3g}]"
    texts = [percent(value).removesuffix(" %") for value in (mean, low, high)]
    return f"{texts[0]} % [{texts[1]}, {texts[2]}]"


def _chance(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}" if value < 0.1 else f"{value:.1f}"


def judged(result: Result) -> tuple[str, ...]:
    """Return the measures in which policies are ranked."""
    free = ("mean_waiting", "load_balance") if result.comparison.mode == "isolated" else ()
    return (result.time, *(name for name in JUDGED if name not in free))  # where all is free nothing waits


def ranks(result: Result) -> Table:
    """Return every policy's place in every measure that matters, first and last in bold."""
    order = result.ranking(result.score)
    names = judged(result)
    found = {name: places(result, name) for name in names}
    rows = tuple((named(spec, WIDEST), *(str(found[name][spec]) for name in names)) for spec in order)
    marked = {
        (row, 1 + column)
        for row, spec in enumerate(order)
        for column, name in enumerate(names)
        if found[name][spec] == 1
    }
    head = ("policy", *(name.replace("_", " ") for name in names))
    caption = "The place of every policy in every measure (1 is best); those that cannot be told apart share one."
    return Table(caption, head, rows, emphasis=frozenset(marked))


def places(result: Result, name: str) -> dict[str, int]:
    """Return places from 1; whoever is not clearly worse than the leader of a place shares it."""
    order = result.ranking(name) if MEASURES[name].less_is_better else result.ranking(name)[::-1]
    found, leader, place = {}, order[0], 1
    for position, spec in enumerate(order):
        gap = result.difference(spec, leader, name)
        clear = gap.excludes_zero() if len(result.outcomes) > 1 else gap.mean != 0
        if clear:
            leader, place = spec, position + 1
        found[spec] = place
    return found


def by_kind(one: Replay) -> Table | None:
    """Return the mean turnaround of small and large, light and heavy tasks; none where tasks are few."""
    tasks, ran = one.tasks, next(iter(one.placements.values())).ran
    if int(ran.sum()) < 40:
        return None
    large = tasks.size >= np.quantile(tasks.size[ran], 0.75)
    small = tasks.size <= np.quantile(tasks.size[ran], 0.25)
    light, heavy = tasks.compute_intensity < 0.5, tasks.compute_intensity >= 0.5
    groups = {
        "smallest quarter": small,
        "largest quarter": large,
        "intensity below 0.5": light,
        "intensity from 0.5 on": heavy,
    }
    kept = {words: rows & ran for words, rows in groups.items() if (rows & ran).any()}
    means = {
        spec: [float(placements.turnaround[rows].mean()) for rows in kept.values()]
        for spec, placements in one.placements.items()
    }
    return _kinds(one, means, list(kept))


def _kinds(one: Replay, means: dict[str, list[float]], groups: list[str]) -> Table:
    order = sorted(means, key=lambda spec: sum(means[spec]))
    best = [min(means[spec][column] for spec in order) for column in range(len(groups))]
    rows = tuple((named(spec, WIDEST), *(quantity(value, "s") for value in means[spec])) for spec in order)
    marked = frozenset(
        (row, 1 + column)
        for row, spec in enumerate(order)
        for column, value in enumerate(means[spec])
        if value == best[column]
    )
    caption = f"Mean turnaround by kind of task on seed {one.seed}; bold is the best of a kind."
    return Table(caption, ("policy", *groups), rows, emphasis=marked)


def seed_by_seed(result: Result) -> Table | None:
    """Return the deciding measure of every seed, seeds down; none where they would fill pages."""
    score = result.score
    ranking = result.ranking(score)
    if not 1 < len(result.outcomes) <= MOST_SEEDS or len(ranking) > 9:
        return None
    rows = tuple(
        (
            str(outcome.seed),
            quantity(outcome.bound.makespan, "s"),
            *(plain(outcome.measures[spec][score], "×") for spec in ranking),
        )
        for outcome in result.outcomes
    )
    head = ("seed", "bound", *(named(spec, 12) for spec in ranking))
    marked = frozenset(
        (row, 2 + int(np.argmin([outcome.measures[spec][score] for spec in ranking])))
        for row, outcome in enumerate(result.outcomes)
    )
    return Table(f"{score.replace('_', ' ').capitalize()}, seed by seed; bold won.", head, rows, emphasis=marked)
