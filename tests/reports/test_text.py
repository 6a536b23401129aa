"""The summary of a report names the winner, how clear its lead is, and how far it is from the bound."""

from __future__ import annotations

from hand_made import CLEAR, TIED, make_result
from hybrid_scheduler.core.formatting import format_percent
from hybrid_scheduler.reports.style import label
from hybrid_scheduler.reports.text import describe_turnaround, summarise
from reports.sample_runs import run_comparison


def test_the_summary_names_the_winner_its_interval_and_the_bound() -> None:
    result = run_comparison()
    text = " ".join(summarise(result))
    best = result.ranking(result.score)[0]
    each = result.interval(best, "makespan_over_bound")
    assert f"**{label(best)} came first of 5 policies**: {each.mean:.3f} × the certified bound" in text
    assert f"95 % interval {each.low:.3f} to {each.high:.3f}, 3 seeds" in text
    assert f"at most {format_percent(each.mean - 1)} later than the best there is" in text


def test_the_summary_says_whether_the_lead_is_clear() -> None:
    result = run_comparison()
    text = " ".join(summarise(result))
    best, second = result.ranking(result.score)[:2]
    clear = result.difference(best, second, result.score).excludes_zero()
    assert ("a **clear difference**" in text) is clear
    assert ("**cannot be told apart**" in text) is not clear
    alone = " ".join(summarise(run_comparison(seeds=1, specs=("eft", "greedy"))))
    assert "one seed says nothing about chance" in alone
    assert "interval" in alone


def test_a_tied_run_is_called_a_tie_and_has_no_winner() -> None:
    text = " ".join(summarise(make_result(TIED)))
    assert "**Tie of eft and oracle, first of 3 policies**: 1.200 × the certified bound" in text
    assert "`eft` and `oracle` **cannot be told apart** on these 3 seeds" in text
    assert "came first" not in text


def test_a_clear_winner_has_the_lead_and_the_factor_of_the_verdict() -> None:
    result = make_result(CLEAR)
    text = " ".join(summarise(result))
    assert "**eft came first of 3 policies**" in text
    assert f"Its lead over the next, `greedy`, is {format_percent(result.verdict.lead.mean)}" in text
    assert "`round_robin` takes 3.00 times as long as `eft`." in text


def test_turnaround_is_set_against_what_no_schedule_can_reach() -> None:
    result = make_result({"eft": (1.2, 1.2), "oracle": (1.5, 1.5)}, score="turnaround")
    first, bound, *_ = summarise(result)
    assert first.startswith("**eft came first of 2 policies**: 1.200 × the certified bound of mean turnaround")
    assert "No schedule of whole tasks has a mean below the bound" in bound
    assert "**at most 20.0 % longer on average than with the best there is**" in bound
    text = " ".join(describe_turnaround(result))
    assert "a task takes 1.20 s on average with `eft`" in text
    assert "No schedule of whole tasks has a mean below 1.00 s" in text
    assert "**at most 20.0 % is left to gain**" in text
    assert "`oracle` split tasks, which only a weaker bound covers: 500 ms for any schedule." in text


def test_where_all_tie_nobody_is_last() -> None:
    assert "Last is" not in " ".join(summarise(make_result({"eft": (1.0, 1.1), "round_robin": (1.0, 1.1)})))
