"""The last lines of a pipeline claim no more than the seeds can tell."""

from __future__ import annotations

from typing import Any

import pytest

from hybrid_scheduler.pipeline.summary import ranking, verdict
from hybrid_scheduler.pipeline.workspace import Inputs, Record

FIGURES = ("makespan_over_bound", "makespan", "load_balance")


def evaluated(lead: list[float], seeds: int = 10, **more: Any) -> Record:
    times = {"hybrid_ml": 1.0, "rl_agent": 1.25, "round_robin": 4.0}
    figures = {name: {key: [time, time - 0.1, time + 0.1] for key in FIGURES} for name, time in times.items()}
    facts = {"schedulers": figures, "lead": lead, "seeds": seeds, **more}
    return Record("evaluation", Inputs({}, {}), {}, facts)


@pytest.mark.parametrize(
    ("lead", "seeds", "line"),
    [
        ([-0.2, -0.3, -0.1], 10, "hybrid_ml ends first, round_robin last"),
        ([-0.2, -0.5, 0.1], 10, "hybrid_ml and rl_agent cannot be told apart on 10 seeds; round_robin ends last"),
        ([-0.2, -0.2, -0.2], 1, "hybrid_ml ends first (one seed: no interval), round_robin last"),
        ([], 10, "hybrid_ml was alone"),
    ],
)
def test_a_winner_is_named_only_if_the_seeds_can_tell(lead: list[float], seeds: int, line: str) -> None:
    assert verdict(evaluated(lead, seeds))[0] == line


def test_the_shift_is_told_if_there_was_one() -> None:
    shift = {"static forest": 7.1, "hybrid_ml": 1.1, "rl_agent": 1.2}
    assert "7.1× the optimum, hybrid_ml 1.1×, rl_agent 1.2×" in verdict(evaluated([-1.0, -1.0, -1.0], shift=shift))[1]
    assert len(verdict(evaluated([-1.0, -1.0, -1.0]))) == 1


def test_the_table_has_how_many_times_as_fast_as_the_baselines() -> None:
    rows = ranking(evaluated([]), "queued")
    assert rows[1] == ("rl_agent", "1.250 [1.150, 1.350]", "3.20×", "–", "1.25")
