"""`hms compare`, the report and the pipeline's summary state one verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers_cli import hms
from hybrid_scheduler.core.formatting import format_percent
from hybrid_scheduler.pipeline.summary import list_conclusions, list_rows
from hybrid_scheduler.server.job_process import summarize_result
from hybrid_scheduler.studies.results import load_result


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def compare_and_report(schedulers: str) -> tuple[str, str]:
    """Keep a comparison in the folder `run`; return what the command prints and the text of its report."""
    compared = hms("compare", "-n", "60", "--seeds", "3", "-s", schedulers, "--out", "run")
    assert compared.code == 0, compared.err
    assert hms("report", "run", "-o", "report.html").code == 0
    return compared.out, Path("report.html").read_text(encoding="utf-8")


def test_a_tied_run_is_a_tie_everywhere() -> None:
    printed, report = compare_and_report("oracle,oracle:step=0.05,round_robin")
    line = "tie: oracle and oracle:step=0… cannot be told apart on 3 seeds"
    assert line in printed
    assert "Tie of " in report
    assert "cannot be told apart" in report
    assert "came first" not in report
    assert list_conclusions(load_result("run"), None)[0].startswith("tie: oracle and oracle:step=0.05 cannot")


def test_a_clear_winner_has_the_same_lead_and_factor_everywhere() -> None:
    printed, report = compare_and_report("oracle,greedy,round_robin")
    result = load_result("run")
    verdict = result.verdict
    assert (verdict.winner, verdict.is_tie) == ("oracle", False)
    lead = format_percent(verdict.lead.mean)
    assert f"oracle leads {verdict.runner_up} by {lead} (" in printed
    assert "oracle came first of 3 policies" in report
    assert f"{lead} (paired interval" in report.replace("\N{NO-BREAK SPACE}", " ")
    assert list_conclusions(result, None) == [str(verdict)]
    speedup = f"{result.speedup('oracle', 'round_robin').mean:.2f}"
    assert f"takes {speedup} times as long" in report
    assert list_rows(result)[0][2] == f"{speedup}×"
    assert summarize_result(result)["headline"]["scheduler"] == result.judge("mean_turnaround").winner


def test_the_table_of_a_kept_result_is_the_one_that_was_printed() -> None:
    printed, _ = compare_and_report("oracle,greedy,round_robin")
    assert str(load_result("run")).splitlines() == printed.splitlines()[:-1]
