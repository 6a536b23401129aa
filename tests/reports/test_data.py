"""A kept run is read back bit for bit, its replay is the kept seed, and spoilt runs are refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from helpers_cli import files_in, hms, refused
from hybrid_scheduler.reports.data import replay
from hybrid_scheduler.studies.results import load_result, measures_to_csv
from reports.sample_runs import run_comparison


def test_a_run_is_read_back_bit_for_bit(kept_run: Path) -> None:
    again = load_result(kept_run)
    assert measures_to_csv(again) == (kept_run / "measures.csv").read_text(encoding="utf-8")
    assert again.outcomes[0].bound.prices.keys() == {"cpu", "gpu"}


def test_a_replay_is_the_kept_seed() -> None:
    again = replay(run_comparison())
    assert again.whole
    assert again.same
    assert again.placements["eft"].makespan == run_comparison().outcomes[0].measures["eft"]["makespan"]


SPOILT: dict[str, tuple[str, Callable[[str], str], str]] = {
    "a damaged manifest": ("manifest.json", lambda text: text[:200], "damaged"),
    "a damaged result": ("result.json", lambda text: text[:200], "result.json is damaged"),
    "a result of something else": ("result.json", lambda _: "{}", "result.json is damaged"),
    "damaged measures": ("measures.csv", lambda text: text[:-20], "SHA-256 differs"),
    "a newer schema": ("manifest.json", lambda text: text.replace('"schema": 1', '"schema": 7'), "newer version"),
}


@pytest.mark.parametrize("arguments", ["report run", "plot run -f makespan"])
@pytest.mark.parametrize("case", SPOILT)
def test_a_spoilt_run_is_refused_in_one_line(case: str, arguments: str, run: Path) -> None:
    name, spoil, message = SPOILT[case]
    path = run / name
    path.write_text(spoil(path.read_text(encoding="utf-8")), encoding="utf-8")
    before = files_in(Path())
    refused(hms(*arguments.split(" ")), message)
    assert files_in(Path()) == before


@pytest.mark.usefixtures("blank_pictures")
def test_a_run_without_gpus_or_with_few_tasks_has_no_forest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    few = "size,compute_intensity,memory_required\n" + "100,0.5,10\n" * 3
    Path("few.csv").write_text(few, encoding="utf-8")
    policies = ("-s", "eft,hybrid_ml", "--seeds", "1")
    assert hms("compare", "few.csv", *policies, "-o", "few").code == 0
    assert hms("compare", "mixed", "-n", "50", "--gpus", "0", *policies, "-o", "cpu").code == 0
    for run in ("few", "cpu"):
        assert hms("report", run, "--format", "html").code == 0
        assert "Threats" in Path(run, "report.html").read_text(encoding="utf-8")
        refused(hms("plot", run, "-f", "model_accuracy"), "with GPUs and 40 tasks")


def test_a_run_in_which_nothing_ran_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("big.csv").write_text("size,compute_intensity,memory_required\n100,0.5,10\n", encoding="utf-8")
    tiny = "nodes: [{cpu: 1, gpu: 1}]\nclasses: {cpu: {kind: cpu, memory: 5}, gpu: {memory: 5}}\n"
    Path("tiny.yaml").write_text(tiny, encoding="utf-8")
    assert hms("compare", "big.csv", "--cluster", "tiny.yaml", "-s", "eft", "--seeds", "1", "-o", "run").code == 0
    refused(hms("report", "run"), "no task ran")
