"""The sentences of a comparison's report: its verdict, the distance to the bound, and who leads in other measures."""

from __future__ import annotations

from hybrid_scheduler import registry
from hybrid_scheduler.core.formatting import format_count, format_factor, format_percent, format_value
from hybrid_scheduler.core.metrics import MEASURES, Interval
from hybrid_scheduler.reports.style import label
from hybrid_scheduler.studies.compare import Result, Verdict

OTHER_MEASURES = {"mean_turnaround": "shortest mean turnaround", "energy": "least energy", "cost": "lowest cost"}
LONGER_TEXT = {"makespan": "its makespan is {}", "total_time": "its tasks take {} time"}


def summarise(result: Result) -> tuple[str, ...]:
    """Return the sentences of the summary: who won, how clearly, how far from the bound, who leads elsewhere."""
    score, verdict = result.score, result.verdict
    ranking = result.ranking(score)
    lines = [_describe_winner(result, verdict, len(ranking)), _describe_bound(result, verdict)]
    if len(ranking) > 1:
        lines += [_describe_lead(verdict), _describe_blind_gap(result, score, ranking)]
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
    return f"**{place}**: {format_value(each.mean, '×')} × {what}{_format_spread(each, verdict.num_seeds)}."


def _format_spread(each: Interval, seeds: int) -> str:
    if seeds < 2:
        return " (one seed: no interval)"
    ends = f"{format_value(each.low, '×')} to {format_value(each.high, '×')}"
    return f" (95 % interval {ends}, {format_count(seeds, 'seed')})"


def _describe_bound(result: Result, verdict: Verdict) -> str:
    if result.comparison.measured:
        return "That bound is made of times that were measured or learnt: a yardstick, not a proof, for times vary."
    above = format_percent(max(result.interval(verdict.winner, verdict.measure).mean - 1.0, 0.0))
    if verdict.measure == "makespan_over_bound":
        return (
            f"No schedule can end before the bound, so it ends **at most {above} later than the best there is**, "
            "known or unknown."
        )
    return f"Every device was always free; its tasks take {above} longer than with the best splits."


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


def _describe_blind_gap(result: Result, score: str, ranking: list[str]) -> str:
    """Compare the best policy that does not know the times with the best one that does."""
    knowing = [spec for spec in ranking if describe_knowledge(spec) == "yes"]
    blind = [spec for spec in ranking if describe_knowledge(spec) == "no"]
    if not knowing or not blind:
        return ""
    base, gap = result.interval(knowing[0], score).mean, result.difference(blind[0], knowing[0], score)
    clear = gap.excludes_zero() or len(result.outcomes) == 1
    side = "ahead of" if gap.mean < 0 else "behind"
    text = f"{format_percent(abs(gap.mean) / base)} {side}" if clear else "level with"
    return (
        f"The best policy that never sees how long a task takes, {quote_name(blind[0])}, is {text} the best that "
        f"does, {quote_name(knowing[0])}."
    )


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
    """Name the leaders in turnaround, energy and cost that are not the winner, and what their lead costs in time."""
    lines = []
    for name, superlative in OTHER_MEASURES.items():
        best = result.ranking(name)[0]
        gap = result.difference(winner, best, name)
        if best == winner or (len(result.outcomes) > 1 and not gap.excludes_zero()):
            continue
        mean, extra = result.interval(best, name).mean, result.difference(best, winner, result.time).mean
        longer = extra / result.interval(winner, result.time).mean
        price = f", but {LONGER_TEXT[result.time].format(format_excess(longer))}" if longer > 0.005 else ""
        figure, excess = format_value(mean, MEASURES[name].unit), format_excess(gap.mean / mean)
        lines.append(f"{quote_name(best)} has the {superlative} ({figure}; the winner needs {excess}){price}.")
    return lines


def format_excess(share: float) -> str:
    """Write by how much something is larger: in per cent up to double, then as a multiple."""
    return f"{format_percent(share)} more" if share < 1 else f"{format_factor(1 + share)} as much"


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


def describe_knowledge(spec: str) -> str:
    """Return whether a policy knows the true times, in the registry's words; "" if it is not in there."""
    entry = registry.schedulers.table.get(spec.partition(":")[0])
    return entry.clairvoyant if entry else ""


def bound_name(result: Result) -> str:
    """Return what makespans are compared with; measured times prove no bound."""
    return "the bound for the measured times" if result.comparison.measured else "the certified bound"


def count_policies(number: int) -> str:
    """Write '1 policy', '8 policies'."""
    return f"{number} polic{'y' if number == 1 else 'ies'}"


def quote_name(spec: str, widest: int = 34) -> str:
    """Return a scheduler's name as code, for running text."""
    return f"`{label(spec, widest)}`"


def join_names(specs: list[str]) -> str:
    """Return names with commas and an 'and'."""
    names = [quote_name(spec) for spec in specs]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
