"""`hms compare`, the report and the pipeline's summary state one verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers_cli import hms, refused
from hybrid_scheduler.core.formatting import format_percent
from hybrid_scheduler.pipeline.evaluate import list_conclusions, list_rows
from hybrid_scheduler.server.job_process import summarize_result
from hybrid_scheduler.studies.results import load_result
from workloads.formats.samples import swf_file

pytestmark = pytest.mark.usefixtures("blank_pictures")


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
    line = "tie: oracle and oracle:step=0.… cannot be told apart on 3 seeds"
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
    assert str(result).splitlines() == printed.splitlines()[:-1], "a kept result has the table that was printed"


def test_a_log_of_parallel_jobs_is_compared_and_bounded_only_if_serialised_and_says_so(tmp_path: Path) -> None:
    log = str(swf_file(tmp_path)[0])
    for words in (["compare", log, "-s", "eft", "--seeds", "1"], ["bound", log], ["run", log]):
        refused(hms(*words), "log.swf: 1 of 3 jobs took several processors", "--serialise")
    done = hms("compare", log, "-s", "eft", "--seeds", "1", "--serialise")
    assert done.code == 0, done.err
    assert "simulated; serialised" in done.out
    assert "SERIALISED: 1 of 3 jobs took several processors at once" in done.out
    assert "SERIALISED: 1 of 3 jobs" in hms("bound", log, "--serialise").out
    assert "SERIALISED: 1 of 3 jobs" in hms("inspect", log).out


def test_times_by_the_formula_are_marked(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text("size,compute_intensity,memory_required,time_cpu\n1000,0.5,10,2580\n", encoding="utf-8")
    words = ("bound", str(path), "--gpus", "1")
    assert "no task can run on gpu" in hms(*words).out
    assert "2580" in hms(*words).out
    assert "ASSUMED: times on gpu follow the formula" in hms(*words, "--assume", "formula").out
    compared = hms("compare", str(path), "-s", "eft", "--seeds", "1", "--gpus", "1", "--assume", "formula")
    assert "simulated; assumed" in compared.out
