"""The sentences of a comparison's report: its verdict, the distance to the bound, and who leads in other measures."""

from __future__ import annotations

from hybrid_scheduler import registry
from hybrid_scheduler.core.formatting import format_count, format_factor, format_percent, format_value
from hybrid_scheduler.core.metrics import MEASURES
from hybrid_scheduler.reports.style import label
from hybrid_scheduler.studies.compare import ANY, WHOLE, Result, Verdict

OTHER_MEASURES = {"mean_turnaround": "shortest mean turnaround", "energy": "least energy", "cost": "lowest cost"}
LONGER_TEXT = {
    "makespan": "its makespan is {}",
    "total_time": "its tasks take {} time",
    "mean_turnaround": "its mean turnaround is {}",
}

SCORE_TEXT = {
    "execution_over_best": "the closed-form optimum",
    "turnaround_over_bound": "the certified bound of mean turnaround",
}
"""What scores are relative to; makespans are to the bound, as `bound_name` calls it."""


def summarise(result: Result) -> tuple[str, ...]:
    """Return the sentences of the summary: who won, how clearly, how far from the bound, who leads elsewhere."""
    score, verdict = result.score, result.verdict
    ranking = result.ranking(score)
    lines = [_describe_winner(result, verdict, len(ranking)), _describe_bound(result, verdict)]
    if len(ranking) > 1:
        lines += [_describe_lead(verdict), _describe_blind_gap(result, score, ranking)]
        lines.append(_describe_last(result, verdict, ranking[-1]))
        lines += _describe_other_leaders(result, verdict.winner)
    rejected, spilled = result.describe_lost_tasks(quote_name)
    lines.append(f"{rejected}, the same ones for every policy." if rejected else "")
    lines.append(f"{spilled[0].upper()}{spilled[1:]}." if spilled else "")
    return tuple(line for line in lines if line)


def _describe_winner(result: Result, verdict: Verdict, policies: int) -> str:
    each = result.interval(verdict.winner, verdict.measure)
    what = SCORE_TEXT.get(verdict.measure) or bound_name(result)
    names = [label(spec, 34) for spec in verdict.winners]
    if verdict.is_tie:
        place = f"Tie of {', '.join(names[:-1])} and {names[-1]}, first of {count_policies(policies)}"
    else:
        place = f"{names[0]} came first of {count_policies(policies)}" if policies > 1 else f"{names[0]} ran alone"
    mean, low, high = (format_value(value, "×") for value in (each.mean, each.low, each.high))
    seeds = format_count(verdict.num_seeds, "seed")
    spread = "one seed: no interval" if verdict.num_seeds < 2 else f"95 % interval {low} to {high}, {seeds}"
    return f"**{place}**: {mean} × {what} ({spread})."


def _describe_bound(result: Result, verdict: Verdict) -> str:
    if result.comparison.measured:
        return "That bound is made of times that were measured or learnt: a yardstick, not a proof, for times vary."
    above = format_percent(max(result.interval(verdict.winner, verdict.measure).mean - 1.0, 0.0))
    if verdict.measure == "makespan_over_bound":
        return (
            f"No schedule can end before the bound, so it ends **at most {above} later than the best there is**, "
            "known or unknown."
        )
    if verdict.measure == "turnaround_over_bound":
        covered = "" if verdict.winner in result.list_splitting() else " of whole tasks"
        return (
            f"No schedule{covered} has a mean below the bound, so its tasks take **at most {above} longer on average "
            "than with the best there is**, known or unknown."
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
    """Name the leaders in other measures that are not the winner, and what their lead costs in time."""
    lines = []
    others = OTHER_MEASURES
    if result.time in others:
        others = {"makespan": "shortest makespan"} | {
            name: each for name, each in others.items() if name != result.time
        }
    for name, superlative in others.items():
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


def describe_turnaround(result: Result) -> tuple[str, ...]:
    """Return sentences on the shortest mean turnaround, what no schedule can reach, and whom that covers."""
    best = result.ranking("mean_turnaround")[0]
    mean, over = (result.interval(best, name).mean for name in ("mean_turnaround", "turnaround_over_bound"))
    whole, some = (format_value(result.turnaround_bound(each), "s") for each in (WHOLE, ANY))
    certificates = [each for outcome in result.outcomes for each in outcome.turnaround_bounds.values()]
    checked = "separate code has checked every proof"
    if not all(each.verified for each in certificates):
        checked = "**but a proof did not pass its check: please report this**"
    lines = [
        f"From its arrival to its end a task takes {format_value(mean, 's')} on average with {quote_name(best)}, "
        "the shortest of all.",
        f"No schedule of whole tasks has a mean below {whole}, whatever it knows of the future and however it orders "
        f"its queues; {checked}.",
        f"{quote_name(best)} is at {format_value(over, '×')} × its bound: **at most "
        f"{format_percent(max(over - 1.0, 0.0))} is left to gain**, and less without knowing the future.",
    ]
    if splitting := result.list_splitting():
        lines.append(
            f"{join_names(splitting)} split tasks, which only a weaker bound covers: {some} for any schedule."
        )
    return tuple(lines)


def format_excess(share: float) -> str:
    """Write by how much something is larger: in per cent up to double, then as a multiple."""
    return f"{format_percent(share)} more" if share < 1 else f"{format_factor(1 + share)} as much"


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
