"""The last lines of a pipeline state the verdict of the comparison."""

from __future__ import annotations

from hand_made import CLEAR, TIED, make_result
from hybrid_scheduler.pipeline.evaluate import list_conclusions, list_rows, short_name


def test_the_first_line_is_the_verdict() -> None:
    assert list_conclusions(make_result(CLEAR), None) == [str(make_result(CLEAR).verdict)]
    assert list_conclusions(make_result(TIED), None) == ["tie: eft and oracle cannot be told apart on 3 seeds"]


def test_the_effect_of_the_shift_is_printed_if_there_was_one() -> None:
    shift = {"static forest": 7.1, "hybrid_ml": 1.1, "rl_agent": 1.2}
    lines = list_conclusions(make_result(CLEAR), shift)
    assert "7.1× the optimum, hybrid_ml 1.1×, rl_agent 1.2×" in lines[1]


def test_the_table_has_the_speedup_over_both_baselines() -> None:
    (eft, greedy, _) = list_rows(make_result(CLEAR))
    assert eft == ("eft", "1.200 [1.100, 1.300]", "3.00×", "2.00×", "1.20")
    assert greedy[:4] == ("greedy", "2.400 [2.200, 2.600]", "1.50×", "1.00×")
    assert list_rows(make_result(TIED))[0][3] == "–"


def test_models_of_earlier_phases_are_called_by_the_names_of_the_options() -> None:
    specs = ("hybrid_ml:online=false:model=a", "hybrid_ml:model=a", "rl_agent:model=b", "oracle:step=0.1")
    assert [short_name(spec) for spec in specs] == ["offline_forest", "hybrid_ml", "rl_agent", "oracle:step=0.1"]
