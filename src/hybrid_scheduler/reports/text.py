"""Numbers as people read them: three digits, a prefix, an interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_scheduler import registry
from hybrid_scheduler.core.metrics import MEASURES, Interval
from hybrid_scheduler.reports.figures.speed_up import baseline_of, speed_ups
from hybrid_scheduler.reports.numbers import count, factor, percent, plain
from hybrid_scheduler.reports.style import label
from hybrid_scheduler.studies.compare import Result

if TYPE_CHECKING:
    from hybrid_scheduler.core.metrics import Interval
    from hybrid_scheduler.studies.compare import Result


ASIDE = {"mean_turnaround": "shortest mean turnaround", "energy": "least energy", "cost": "lowest cost"}


LONGER = {"makespan": "its makespan is {}", "total_time": "its tasks take {} time"}


def named(spec: str, widest: int = 34) -> str:
    """Return a scheduler's name as it stands in running text."""
    return f"`{label(spec, widest)}`"


def listed(specs: list[str]) -> str:
    """Return names with commas and an 'and'."""
    names = [named(spec) for spec in specs]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def later(share: float) -> str:
    """Say by how much something is larger: per cent up to double, then how many times."""
    return f"{percent(share)} more" if share < 1 else f"{factor(1 + share)} as much"


def summary(result: Result) -> tuple[str, ...]:
    """Return the sentences of the summary: who won, how clearly, how far from the bound, who lost where."""
    score = result.score
    ranking = result.ranking(score)
    lines = [_winner(result, score, ranking), _bound(result, score, ranking)]
    if len(ranking) > 1:
        lines += [_lead(result, score, ranking), _blind(result, score, ranking), _losers(result, score, ranking)]
        lines += _asides(result, ranking[0])
    lines += _troubles(result)
    return tuple(line for line in lines if line)


def _winner(result: Result, score: str, ranking: list[str]) -> str:
    best, each = ranking[0], result.interval(ranking[0], score)
    what = bound_words(result) if score == "makespan_over_bound" else "the closed-form optimum"
    place = f"came first of {policies(len(ranking))}" if len(ranking) > 1 else "ran alone"
    return f"**{label(best, 34)} {place}**: {plain(each.mean, '×')} × {what}{_interval(each, result)}."


def bound_words(result: Result) -> str:
    """Name the bound for what it is."""
    return "the bound for the measured times" if result.comparison.measured else "the certified bound"


def policies(number: int) -> str:
    """Write '1 policy', '8 policies'."""
    return f"{number} polic{'y' if number == 1 else 'ies'}"


def _interval(each: Interval, result: Result) -> str:
    if len(result.outcomes) < 2:
        return " (one seed: no interval)"
    seeds = count(len(result.outcomes), "seed")
    return f" (95 % interval {plain(each.low, '×')} to {plain(each.high, '×')}, {seeds})"


def _bound(result: Result, score: str, ranking: list[str]) -> str:
    above = result.interval(ranking[0], score).mean - 1.0
    if result.comparison.measured:
        return "That bound is made of times that were measured or learnt: a yardstick, not a proof, for times vary."
    if score == "makespan_over_bound":
        return (
            f"No schedule can end before the bound, so it ends **at most {percent(max(above, 0.0))} later than the "
            "best there is**, known or unknown."
        )
    return (
        f"Every device was always free; its tasks take {percent(max(above, 0.0))} longer than with the best splits."
    )


def equals(result: Result, score: str) -> list[str]:
    """Return the schedulers whose paired difference to the best is not clear."""
    best, *others = result.ranking(score)
    if len(result.outcomes) < 2:
        return []
    return [spec for spec in others if not result.difference(spec, best, score).excludes_zero()]


def _lead(result: Result, score: str, ranking: list[str]) -> str:
    best, second = ranking[0], ranking[1]
    base, gap = result.interval(second, score).mean, result.difference(best, second, score)
    lead = f"Its lead over the next, {named(second)}, is {percent(-gap.mean / base)}"
    if len(result.outcomes) < 2:
        return f"{lead}; one seed says nothing about chance."
    spread = f"(paired interval {percent(-gap.high / base)} to {percent(-gap.low / base)})"
    wins = sum(a < b for a, b in zip(result.values(best, score), result.values(second, score), strict=True))
    if gap.excludes_zero():
        return f"{lead} {spread}: a **clear difference**, ahead on {wins} of {count(len(result.outcomes), 'seed')}."
    return (
        f"{lead} {spread}; that interval holds 0, so it **cannot be told apart** from "
        f"{listed(equals(result, score))} on these {count(len(result.outcomes), 'seed')}."
    )


def _blind(result: Result, score: str, ranking: list[str]) -> str:
    """Say how the best policy without knowledge of times does against the best one with it."""
    sees = [spec for spec in ranking if _sighted(spec) == "yes"]
    blind = [spec for spec in ranking if _sighted(spec) == "no"]
    if not sees or not blind:
        return ""
    one, other = blind[0], sees[0]
    base, gap = result.interval(other, score).mean, result.difference(one, other, score)
    clear = gap.excludes_zero() or len(result.outcomes) == 1
    side = "ahead of" if gap.mean < 0 else "behind"
    words = f"{percent(abs(gap.mean) / base)} {side}" if clear else "level with"
    return (
        f"The best policy that never sees how long a task takes, {named(one)}, is {words} the best that does, "
        f"{named(other)}."
    )


def _sighted(spec: str) -> str:
    entry = registry.schedulers.table.get(spec.partition(":")[0])
    return entry.sighted if entry else ""


def _losers(result: Result, score: str, ranking: list[str]) -> str:
    last, each = ranking[-1], result.interval(ranking[-1], score)
    words = f"Last is {named(last)} at {plain(each.mean, '×')} ×"
    base = baseline_of(result)
    if base != "round_robin" or ranking[0] == base:
        return f"{words}."
    speed = speed_ups(result)[ranking[0]]
    return f"{words}. Against {named(base)} the winner's makespan is {factor(speed.mean)} shorter."


def _asides(result: Result, winner: str) -> list[str]:
    """Say who leads in time, energy and cost where it is somebody else, and what that costs."""
    lines = []
    for name, words in ASIDE.items():
        best = result.ranking(name)[0]
        gap = result.difference(winner, best, name)
        if best == winner or (len(result.outcomes) > 1 and not gap.excludes_zero()):
            continue
        mean, extra = result.interval(best, name).mean, result.difference(best, winner, result.time).mean
        longer = extra / result.interval(winner, result.time).mean
        price = f", but {LONGER[result.time].format(later(longer))}" if longer > 0.005 else ""
        figure = plain(mean, MEASURES[name].unit)
        lines.append(f"{named(best)} has the {words} ({figure}; the winner needs {later(gap.mean / mean)}){price}.")
    return lines


def _troubles(result: Result) -> list[str]:
    lines = []
    rejected = max(result.interval(spec, "rejected").mean for spec in result.comparison.schedulers)
    if rejected > 0:
        lines.append(f"{rejected:g} tasks a seed fit no device and were rejected, the same ones for every policy.")
    spilled = {spec: result.interval(spec, "spilled").mean for spec in result.comparison.schedulers}
    worst = max(spilled, key=lambda spec: spilled[spec])
    if spilled[worst] > 0:
        lines.append(
            f"Tasks that did not fit where they were sent: up to {spilled[worst]:g} a seed ({named(worst)})."
        )
    return lines
