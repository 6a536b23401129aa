"""RESULTS.md follows from the numbers in git and states verdicts, intervals, seeds and what is missing."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import pytest

from docs.results import data, runner
from docs.results.claims import CLAIMS
from docs.results.data import RunResults
from docs.results.figures import FIGURES as DRAWN
from docs.results.markdown import format_seeds
from docs.results.page import FIGURES, build_page
from docs.results.plan import PLAN, Run
from docs.results.sections import (
    SECTIONS,
    format_adversary,
    format_robustness,
    format_turnaround,
    format_zero_shot,
)
from docs.results.verdicts import (
    FAILS,
    HOLDS,
    MISSING,
    UNDECIDED,
    Claim,
    Evidence,
    combine_verdicts,
    exceeds_claim,
    judge_evidence,
    judge_interval,
)
from hybrid_scheduler.cli import options
from hybrid_scheduler.core.metrics import Interval
from hybrid_scheduler.studies.experiments import ExperimentResult

ROOT = Path(__file__).parents[1]
NUMBERS = ROOT / "docs" / "results.json"
SMALL = Run("mixed", "compare mixed --tasks 30 --schedulers eft,greedy")


def build_run(**makespans: list[float]) -> RunResults:
    """Return synthetic numbers of a comparison; every measure is the makespan."""
    study = ExperimentResult("mixed", "workload", data.MEASURES)
    for name, values in makespans.items():
        for seed, value in enumerate(values):
            study.add(name, "mixed", seed, **dict.fromkeys(data.MEASURES, value))
    seeds = tuple(range(len(next(iter(makespans.values())))))
    return RunResults("mixed", "hms compare mixed --seeds 10 --out DIR", "0.0.0", seeds, study)


def synthetic_run() -> RunResults:
    slow = {name: [4.0, 4.4, 4.2] for name in ("greedy", "round_robin", "oracle", "price")}
    return build_run(hybrid_ml=[1.0, 1.1, 1.05], rl_agent=[2.0, 2.2, 2.1], **slow)


def test_the_page_in_git_is_what_its_numbers_say() -> None:
    expected = build_page(data.read_results(NUMBERS))
    assert (ROOT / "RESULTS.md").read_text(encoding="utf-8") == expected, "run python -m docs.results --write"


def test_the_numbers_in_git_come_back_to_the_same_bytes() -> None:
    assert data.dump_results(data.read_results(NUMBERS)) == NUMBERS.read_text(encoding="utf-8")


def test_every_figure_of_the_page_is_there_and_every_run_has_a_section() -> None:
    assert set(SECTIONS) == {run.name for run in PLAN}
    assert {name for name, each in SECTIONS.items() if each.figure} == set(DRAWN)
    for name in data.read_results(NUMBERS):
        if SECTIONS[name].figure:
            assert (ROOT / FIGURES / f"{SECTIONS[name].figure}.png").stat().st_size < 150_000


def test_evidence_comes_from_runs_of_the_plan() -> None:
    assert {each.run for evidence in CLAIMS.values() for each in evidence} <= {run.name for run in PLAN}


@pytest.mark.parametrize(
    ("interval", "at_most", "expected"),
    [
        (Interval(1.3, 1.25, 1.4), False, HOLDS),
        (Interval(1.1, 1.05, 1.15), False, FAILS),
        (Interval(1.2, 1.1, 1.3), False, UNDECIDED),
        (Interval(1.1, 1.05, 1.15), True, HOLDS),
        (Interval(1.3, 1.25, 1.4), True, FAILS),
        (Interval(1.2, 1.1, 1.3), True, UNDECIDED),
    ],
)
def test_a_verdict_needs_the_whole_interval(interval: Interval, at_most: bool, expected: str) -> None:
    assert judge_interval(Claim("x", 1.2, at_most=at_most), interval) == expected


def test_more_than_claimed_is_said_only_if_the_interval_is_past_the_range() -> None:
    claim = Claim("x", 1.2, 1.4)
    assert exceeds_claim(claim, Interval(1.6, 1.5, 1.7))
    assert not exceeds_claim(claim, Interval(1.45, 1.35, 1.5))


def test_two_seeds_decide_nothing_and_a_missing_run_is_missing() -> None:
    evidence = Evidence("there", "mixed", lambda run: run.interval("eft", "makespan"))
    assert judge_evidence(Claim("x", 1.0), evidence, {"mixed": build_run(eft=[5.0, 5.1])}) == UNDECIDED
    assert judge_evidence(Claim("x", 1.0), evidence, {"mixed": build_run(eft=[5.0, 5.1, 5.2])}) == HOLDS
    assert judge_evidence(Claim("x", 1.0), evidence, {}) == MISSING


def test_verdicts_of_several_places_name_the_exceptions() -> None:
    assert combine_verdicts([("a", HOLDS), ("b", HOLDS), ("c", MISSING)]) == "holds"
    assert combine_verdicts([("a", FAILS), ("b", FAILS)]) == "does not hold"
    assert combine_verdicts([("a", HOLDS), ("b", HOLDS), ("c", FAILS)]).endswith(
        "(2 of 3 places): does not hold for c"
    )
    assert combine_verdicts([("a", HOLDS), ("b", FAILS), ("c", UNDECIDED)]).endswith(
        "(1 of 3 places): only for a; does not hold for b; cannot be told for c"
    )
    assert combine_verdicts([("a", FAILS), ("b", UNDECIDED)]) == "does not hold; cannot be told for b"
    assert combine_verdicts([("a", MISSING)]) == MISSING


def test_the_page_prints_intervals_seeds_commands_wins_and_losses() -> None:
    text = build_page({"mixed": synthetic_run()})
    assert "`hms compare mixed --seeds 10 --out DIR`: seeds 0–2 (3); 7 of 10 seeds still missing" in text
    assert "simulated" in text
    assert "1.050 [1.000, 1.100]" in text
    assert "`rl_agent` loses to `hybrid_ml` (100 %); beats" in text
    assert "| `mixed`, load 0.9 | 50.0 % | 0–2 (3) | [mixed](#mixed) | holds |" in text
    assert "| `mixed`, load 0.9 | 4.000 | 0–2 (3) | [mixed](#mixed) | holds |" in text


def test_ordered_queues_are_set_against_first_come_first_served_place_by_place() -> None:
    study = ExperimentResult("turnaround", "workload and load", ("turnaround_over_bound", "mean_turnaround"))
    for x, seed, name in product(("a, 0.9", "b, 2"), range(3), ("hybrid_ml", "hybrid_ml:order=fifo", "eft")):
        value = 1.0 if name == "hybrid_ml" else 2.0
        study.add(name, x, seed, turnaround_over_bound=1.0 + value, mean_turnaround=value)
    text = format_turnaround(RunResults("turnaround", "hms experiment turnaround", "0.0.0", (0, 1, 2), study))
    assert "| `hybrid_ml` | 2.000 | 1.00 s |\n| `hybrid_ml:order=fifo` | 3.000 | 2.00 s |" in text
    assert text.endswith("| a, 0.9 | 0.500 |\n| b, 2 | 0.500 |")


def build_study(name: str, measures: tuple[str, ...], **values: list[float]) -> RunResults:
    """Return synthetic numbers of an experiment, two places and one seed; every measure is the value."""
    study = ExperimentResult(name, "x", measures)
    for series, places in values.items():
        for x, value in enumerate(places):
            study.add(series.replace("_there", " trained there"), x, 0, **dict.fromkeys(measures, value))
    return RunResults(name, f"hms experiment {name}", "0.0.0", (0,), study)


def test_zero_shot_names_every_loss_and_how_near_it_is_to_training() -> None:
    measures = ("turnaround_over_bound", "mean_turnaround")
    values = {"attention_agent": [1.1, 1.2], "eft": [1.0, 1.5], "attention_agent_there": [1.1, 1.0]}
    text = format_zero_shot(build_study("zero_shot", measures, **values))
    assert "loses, by the mean of ratios seed by seed: 0 to `eft` (10.0 %); " in text
    assert "1 to `attention_agent trained there` (20.0 %)." in text
    assert text.endswith("in 1 of 2 places; 1.200 times its turnaround at worst (1).")


def test_the_worst_of_every_learner_is_named() -> None:
    text = format_adversary(build_study("adversary", ("ratio",), hybrid_ml=[2.0, 9.0], rl_agent=[3.0, 1.0]))
    assert text.endswith("`hybrid_ml` 9 × `1` (seed 0), `rl_agent` 3 × `0` (seed 0).")
    learners = {"hybrid_ml": [0.5, 0.9], "rl_agent": [1.2, 1.0], "attention_agent": [0.4, 0.3]}
    text = format_robustness(build_study("robustness", ("over_blind", "over_told"), **learners))
    assert text.endswith(
        "`hybrid_ml` 0.900 (noise 1), `rl_agent` 1.200 (noise 0), `attention_agent` 0.400 (noise 0)."
    )


def test_what_was_not_run_is_named_as_missing() -> None:
    text = build_page({"mixed": synthetic_run()})
    assert text.count("**Missing**: not run yet") == len(PLAN) - 1
    assert "| [shift](#shift) | missing |" in text


def test_seeds_are_counted_and_gaps_are_shown() -> None:
    assert format_seeds((0, 1, 2)) == "0–2 (3)"
    assert format_seeds((0, 2)) == "0, 2 (2)"
    assert format_seeds((4,)) == "4 (1)"


def test_older_numbers_stay_while_they_rest_on_more_seeds() -> None:
    long, short = build_run(eft=[1.0, 2.0]), build_run(eft=[3.0])
    assert data.merge_results({"mixed": long}, {"mixed": short})["mixed"] is long
    assert data.merge_results({"mixed": short}, {"mixed": long})["mixed"] is long
    assert data.merge_results({"mixed": long}, {})["mixed"] is long


def test_every_command_of_the_plan_takes_one_seed() -> None:
    assert options.parse_seeds("3,") == (3,)
    assert PLAN[0].command() == ["hms", "compare", "mixed", "--seeds", "10", "--out", "DIR"]


def test_runs_are_kept_by_seed_skipped_and_read_back(tmp_path: Path) -> None:
    log: list[str] = []
    arguments = list(sys.argv)
    runner.run_missing([SMALL], 2, log.append, tmp_path)
    runner.run_missing([SMALL], 2, log.append, tmp_path)
    assert [line.partition(":")[0] for line in log] == ["mixed, seed 0", "mixed, seed 1"]
    run = data.collect_results([SMALL], tmp_path)["mixed"]
    assert run.seeds == (0, 1)
    assert run.experiment.series == ["eft", "greedy"]
    assert run.ratio("greedy", "eft", "makespan").mean > 1
    assert run.interval("eft", "turnaround_over_bound").mean >= 1
    assert sys.argv == arguments


def test_a_folder_of_another_command_is_refused(tmp_path: Path) -> None:
    runner.run_seed(SMALL, 0, tmp_path)
    with pytest.raises(SystemExit, match="another command"):
        runner.has_run(Run("mixed", "compare mixed --tasks 31"), 0, tmp_path)
