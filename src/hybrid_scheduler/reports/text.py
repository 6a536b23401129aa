"""Numbers as people read them: three digits, a prefix, an interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_scheduler import registry
from hybrid_scheduler.core.formatting import format_count, format_factor, format_percent, format_value
from hybrid_scheduler.core.metrics import MEASURES, Interval
from hybrid_scheduler.reports.style import label
from hybrid_scheduler.studies.compare import Result, Verdict

if TYPE_CHECKING:
    from hybrid_scheduler.core.metrics import Interval
    from hybrid_scheduler.studies.compare import Result


OTHER_MEASURES = {"mean_turnaround": "shortest mean turnaround", "energy": "least energy", "cost": "lowest cost"}


LONGER_TEXT = {"makespan": "its makespan is {}", "total_time": "its tasks take {} time"}


def quote_name(spec: str, widest: int = 34) -> str:
    """Return a scheduler's name as it stands in running text."""
    return f"`{label(spec, widest)}`"


def join_names(specs: list[str]) -> str:
    """Return names with commas and an 'and'."""
    names = [quote_name(spec) for spec in specs]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def format_excess(share: float) -> str:
    """Say by how much something is larger: per cent up to double, then how many times."""
    return f"{format_percent(share)} more" if share < 1 else f"{format_factor(1 + share)} as much"


def summarise(result: Result) -> tuple[str, ...]:
    """Return the sentences of the summary: who won, how clearly, how far from the bound, who lost where."""
    score, verdict = result.score, result.verdict
    ranking = result.ranking(score)
    lines = [_describe_winner(result, verdict, len(ranking)), _bound(result, score, ranking)]
    if len(ranking) > 1:
        lines += [_describe_lead(verdict), _blind(result, score, ranking)]
        lines.append(_describe_last(result, verdict, ranking[-1]))
        lines += _describe_other_leaders(result, verdict.winner)
    lines += _describe_lost_tasks(result)
    return tuple(line for line in lines if line)


def _describe_winner(result: Result, verdict: Verdict, policies: int) -> str:
    each = result.interval(verdict.winner, verdict.measure)
    what = bound_name(result) if verdict.measure == "makespan_over_bound" else "the closed-form optimum"
    names = [label(spec, 34) for spec in verdict.winners]
    if verdict.is_tie:
        place = f"Tie of {', '.join(names[:-1])} and {names[-1]}, first of {count_policies(policies)}"
    else:
        place = f"{names[0]} came first of {count_policies(policies)}" if policies > 1 else f"{names[0]} ran alone"
    return f"**{place}**: {format_value(each.mean, '×')} × {what}{_interval(each, result)}."


def bound_name(result: Result) -> str:
    """Name the bound for what it is."""
    return "the bound for the measured times" if result.comparison.measured else "the certified bound"


def count_policies(number: int) -> str:
    """Write '1 policy', '8 policies'."""
    return f"{number} polic{'y' if number == 1 else 'ies'}"


def _interval(each: Interval, result: Result) -> str:
    if len(result.outcomes) < 2:
        return " (one seed: no interval)"
    seeds = format_count(len(result.outcomes), "seed")
    return f" (95 % interval {format_value(each.low, '×')} to {format_value(each.high, '×')}, {seeds})"


def _bound(result: Result, score: str, ranking: list[str]) -> str:
    above = result.interval(ranking[0], score).mean - 1.0
    if result.comparison.measured:
        return "That bound is made of times that were measured or learnt: a yardstick, not a proof, for times vary."
    if score == "makespan_over_bound":
        return (
            f"No schedule can end before the bound, so it ends **at most {format_percent(max(above, 0.0))} later than the "
            "best there is**, known or unknown."
        )
    return f"Every device was always free; its tasks take {format_percent(max(above, 0.0))} longer than with the best splits."


def _describe_lead(verdict: Verdict) -> str:
    seeds, lead = format_count(verdict.num_seeds, "seed"), verdict.lead
    if verdict.is_tie and verdict.num_seeds == 1:
        return f"{join_names(list(verdict.winners))} **cannot be told apart**; one seed says nothing about chance."
    text = f"Its lead over the next, {quote_name(verdict.runner_up)}, is {format_percent(lead.mean)}"
    if verdict.num_seeds == 1:
        return f"{text}; one seed says nothing about chance."
    text += f" (paired interval {format_percent(lead.low)} to {format_percent(lead.high)})"
    if verdict.is_tie:
        names = join_names(list(verdict.winners))
        return f"{text}; that interval holds 0, so {names} **cannot be told apart** on these {seeds}."
    return f"{text}: a **clear difference**, ahead on {verdict.seeds_won} of {seeds}."


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
    words = f"{format_percent(abs(gap.mean) / base)} {side}" if clear else "level with"
    return (
        f"The best policy that never sees how long a task takes, {quote_name(one)}, is {words} the best that does, "
        f"{quote_name(other)}."
    )


def _sighted(spec: str) -> str:
    entry = registry.schedulers.table.get(spec.partition(":")[0])
    return entry.clairvoyant if entry else ""


def _describe_last(result: Result, verdict: Verdict, last: str) -> str:
    if last in verdict.winners:
        return ""
    mean = result.interval(last, verdict.measure).mean
    text = f"Last is {quote_name(last)} at {format_value(mean, '×')} ×."
    if "round_robin" not in result.comparison.schedulers or "round_robin" in verdict.winners:
        return text
    speedup = result.speedup(verdict.winner, "round_robin").mean
    return f"{text} {quote_name('round_robin')} takes {speedup:.2f} times as long as {quote_name(verdict.winner)}."


def _describe_other_leaders(result: Result, winner: str) -> list[str]:
    """Say who leads in time, energy and cost where it is somebody else, and what that costs."""
    lines = []
    for name, words in OTHER_MEASURES.items():
        best = result.ranking(name)[0]
        gap = result.difference(winner, best, name)
        if best == winner or (len(result.outcomes) > 1 and not gap.excludes_zero()):
            continue
        mean, extra = result.interval(best, name).mean, result.difference(best, winner, result.time).mean
        longer = extra / result.interval(winner, result.time).mean
        price = f", but {LONGER_TEXT[result.time].format(format_excess(longer))}" if longer > 0.005 else ""
        figure = format_value(mean, MEASURES[name].unit)
        lines.append(
            f"{quote_name(best)} has the {words} ({figure}; the winner needs {format_excess(gap.mean / mean)}){price}."
        )
    return lines


def _describe_lost_tasks(result: Result) -> list[str]:
    lines = []
    rejected = max(result.interval(spec, "rejected").mean for spec in result.comparison.schedulers)
    if rejected > 0:
        lines.append(f"{rejected:g} tasks a seed fit no device and were rejected, the same ones for every policy.")
    spilled = {spec: result.interval(spec, "spilled").mean for spec in result.comparison.schedulers}
    worst = max(spilled, key=lambda spec: spilled[spec])
    if spilled[worst] > 0:
        lines.append(
            f"Tasks that did not fit where they were sent: up to {spilled[worst]:g} a seed ({quote_name(worst)})."
        )
    return lines
