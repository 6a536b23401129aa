"""The whole pipeline, small: files where they belong, same seed same bytes, killed and continued."""

from __future__ import annotations

import csv
import json
import runpy
import shutil
import signal
import subprocess
import sys
import time
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from helpers_cli import SCRIPT, Finished, files_in, hms, process, refused
from hybrid_scheduler.learning.predictors import RandomForestPredictor
from hybrid_scheduler.profiling.profile_file import load_profile
from hybrid_scheduler.studies.results import load_result
from hybrid_scheduler.workloads.generator import WorkloadGenerator
from small_pipeline import write_small

ROOT = Path(__file__).parents[2]
PLACES = (
    "data/profiles/hardware_profile.json",
    "data/workload_traces/training_workload.csv",
    "data/workload_traces/test_workload.csv",
    "models/scheduler_model.pkl",
    "models/forest.model",
    "models/agent.pth",
    "data/results/scheduling_results.csv",
    "data/results/comparison/measures.csv",
)
PHASES = ("profiling", "workload", "training", "scheduling", "evaluation")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which `python main.py` has run."""
    folder = tmp_path_factory.mktemp("finished")
    write_small(folder)
    out = StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out):
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["main.py"])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(ROOT / "main.py"), run_name="__main__")
    assert ended.value.code == 0
    (folder / "out.txt").write_text(out.getvalue())
    return folder


def results_in(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder but the log, which grows with every command."""
    return {name: data for name, data in files_in(folder).items() if not name.startswith("logs")}


@pytest.fixture
def copied(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the finished folder, and stand in it."""
    folder = tmp_path / "copy"
    shutil.copytree(finished, folder)
    monkeypatch.chdir(folder)
    return folder


def results(folder: Path) -> dict[str, bytes]:
    """Return all results that follow from the seed: no wall times, and no models.

    A pickle's bytes depend on which of its strings happen to be one object; what the models decide is in the results.
    """
    measured = ("data/profiles", "data/pipeline", "data/results/comparison/result.json", "models", "out.txt", "logs")
    return {name: data for name, data in files_in(folder).items() if not name.startswith(measured)}


def test_main_writes_the_files_of_the_guide(finished: Path) -> None:
    for place in PLACES:
        assert (finished / place).is_file(), place
    assert load_profile(finished / PLACES[0]).kernels == ["matmul"]
    training = WorkloadGenerator.load(finished / PLACES[1]).tasks
    assert training is not None
    assert len(training) == 200
    assert RandomForestPredictor.load(finished / PLACES[3]).n_estimators == 5


def test_the_decisions_are_one_row_a_task(finished: Path) -> None:
    with (finished / "data/results/scheduling_results.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["task_id"]) for row in rows] == list(range(50))
    for row in rows:
        assert 0 <= float(row["gpu_fraction"]) <= 1
        assert float(row["arrival_time"]) <= float(row["start"]) <= float(row["finish"])


def test_the_comparison_is_a_run_like_any_other(copied: Path) -> None:
    result = load_result("data/results/comparison")
    assert result.comparison.seeds == (42, 43)
    assert len(result.comparison.schedulers) == 5
    repeated = hms("repeat", "data/results/comparison")
    assert repeated.code == 0, repeated.err


def test_the_command_of_the_comparison_makes_the_same_comparison(copied: Path) -> None:
    command = json.loads((copied / "data/results/comparison/manifest.json").read_text())["command"]
    done = hms(*command[1:], "--out", "again")
    assert done.code == 0, done.err
    assert Path("again/measures.csv").read_bytes() == Path("data/results/comparison/measures.csv").read_bytes()


def test_the_summary_has_a_line_per_phase_and_the_verdict(finished: Path) -> None:
    out = (finished / "out.txt").read_text()
    assert "hardware profiling" in out
    assert "200 tasks to train on, 50 to schedule" in out
    assert "makespan / bound" in out
    assert "offline_forest" in out
    assert "5 of 5 phases" in out


def test_same_seed_same_bytes_in_another_folder(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_small(tmp_path)
    done = hms("pipeline")
    assert done.code == 0, done.err
    assert results(tmp_path) == results(finished)


def test_another_seed_gives_other_results_and_keeps_those_of_before(copied: Path, finished: Path) -> None:
    done = hms("pipeline", "--seed", "7")
    assert done.code == 0, done.err
    assert "seed is 7, was 42" in done.out
    assert "data/results/scheduling_results.csv of before is now data/earlier/1/" in done.out
    before = (finished / "data/results/scheduling_results.csv").read_bytes()
    assert (copied / "data/results/scheduling_results.csv").read_bytes() != before
    assert (copied / "data/earlier/1/data/results/scheduling_results.csv").read_bytes() == before


def test_what_is_done_is_done(copied: Path) -> None:
    before = results_in(copied)
    done = hms("pipeline")
    assert "nothing to do" in done.out
    assert done.out.count(" before ") == 5
    assert results_in(copied) == before


def test_a_changed_option_redoes_what_depends_on_it(copied: Path) -> None:
    stamps = {place: (copied / place).stat().st_mtime_ns for place in PLACES}
    write_small(copied, **{"agent_tasks: 40": "agent_tasks: 60"})
    done = hms("pipeline")
    assert done.code == 0, done.err
    assert "scheduling.agent_tasks is 60, was 40" in done.out
    assert "models/agent.pth is another one" in done.out
    untouched = [place for place in PLACES if (copied / place).stat().st_mtime_ns == stamps[place]]
    assert untouched == list(PLACES[:5])


def test_a_killed_pipeline_goes_on(tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_small(tmp_path)
    record = tmp_path / "data/pipeline/training.json"
    with subprocess.Popen([SCRIPT, "pipeline"], cwd=tmp_path, stdout=subprocess.DEVNULL) as running:
        while not record.exists() and running.poll() is None:
            time.sleep(0.002)
        running.send_signal(signal.SIGKILL)
    records = {name: tmp_path / f"data/pipeline/{name}.json" for name in PHASES}
    stamps = {name: path.stat().st_mtime_ns for name, path in records.items() if path.exists()}
    assert "training" in stamps
    done = hms("pipeline")
    assert done.code == 0, done.err
    for name, stamp in stamps.items():
        assert records[name].stat().st_mtime_ns == stamp, f"{name} was done again"
    assert results(tmp_path) == results(finished)


def test_the_measured_machine_can_be_simulated(copied: Path) -> None:
    write_small(copied, **{"pipeline:": "pipeline:\n  machine: profile"})
    done = hms("pipeline")
    assert done.code == 0, done.err
    result = load_result("data/results/comparison")
    assert result.comparison.source.profile.endswith("hardware_profile.json")


@pytest.mark.usefixtures("blank_pictures")
def test_the_isolated_mode_without_an_agent_and_with_figures_and_a_report(copied: Path) -> None:
    write_small(
        copied,
        **{
            "pipeline:": "pipeline:\n  mode: isolated",
            "agent_tasks: 40": "agent_tasks: 0",
            "[round_robin, greedy, offline_forest, hybrid_ml, rl_agent]": "[greedy, offline_forest]",
            "figures: false": "figures: true",
            "report: none": "report: html",
        },
    )
    done = hms("pipeline", "--force")
    assert done.code == 0, done.err
    assert "time / best" in done.out
    assert not Path("models/agent.pth").exists()
    assert Path("data/results/report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert Path("data/results/figures/gpu_fraction.png").exists()
    assert "open data/results/report.html" in done.out


def test_a_changed_policy_file_is_compared_again(copied: Path) -> None:
    listed = "[round_robin, greedy, offline_forest, hybrid_ml, rl_agent]"
    write_small(copied, **{listed: "[greedy, mine.py]"})
    for device in (0, 1):
        Path("mine.py").write_text(f"def mine(task, view):\n    return {device}.0, {device}\n", encoding="utf-8")
        done = hms("pipeline")
        assert done.code == 0, done.err
    assert "evaluation          is run again: mine.py is another one" in done.out


def test_a_profile_can_be_brought_along(copied: Path) -> None:
    shutil.copy("data/profiles/hardware_profile.json", "mine.json")
    write_small(copied, **{"brief: true": "brief: true, file: mine.json"})
    done = hms("pipeline")
    assert done.code == 0, done.err
    assert 'profiling.file is "mine.json", was null' in done.out
    Path("mine.json").write_text("{")
    refused_unchanged(copied, "mine.json", "damaged")
    Path("mine.json").unlink()
    refused_unchanged(copied, "mine.json", "cannot be read")


def refused_unchanged(folder: Path, *says: str) -> None:
    before = results_in(folder)
    finished = hms("pipeline")
    refused(Finished(finished.code, "", finished.err), *says)
    assert results_in(folder) == before


def test_a_torn_profile_is_told_and_nothing_is_overwritten(copied: Path) -> None:
    (copied / PLACES[0]).write_bytes((copied / PLACES[0]).read_bytes()[:100])
    refused_unchanged(copied, "hardware_profile.json", "damaged", "--from profiling")


def test_a_torn_record_is_told_and_nothing_is_overwritten(copied: Path) -> None:
    path = copied / "data/pipeline/evaluation.json"
    path.write_bytes(path.read_bytes()[:100])
    refused_unchanged(copied, "evaluation.json", "damaged", "remove it")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--config", "none.yaml"], "none.yaml does not exist"),
        (["--from", "trainng"], "did you mean 'training'"),
        (["--seed", "-1"], "seed is -1"),
        (["--out", "file.txt"], "cannot write"),
    ],
)
def test_options_that_cannot_be_meant_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_small(tmp_path)
    Path("file.txt").write_text("a file")
    before = files_in(tmp_path)
    refused(hms("pipeline", *words), says)
    assert files_in(tmp_path) == before


def test_without_its_package_main_says_what_to_do(tmp_path: Path) -> None:
    done = process(sys.executable, "-S", str(ROOT / "main.py"), cwd=tmp_path)  # -S: no installed packages
    assert done.code == 1
    assert "make setup" in done.err
    assert len(done.err.splitlines()) == 1


def test_the_log_of_the_pipeline_is_where_the_guide_looks_for_it(finished: Path) -> None:
    text = (finished / "logs" / "app.log").read_text(encoding="utf-8")
    assert "offline training" in text


def test_tasks_put_in_place_of_the_written_ones_are_taken(copied: Path) -> None:
    own = WorkloadGenerator(7)
    own.generate_preset("cpu_friendly", 150, load=0.9)
    own.save_workload(copied / "data/workload_traces/training_workload.csv")
    done = hms("pipeline")
    assert done.code == 0, done.err
    assert "training_workload.csv is another one now: its tasks are taken" in done.out
    record = json.loads((copied / "data/pipeline/workload.json").read_text())
    assert record["facts"]["data/workload_traces/training_workload.csv"]["num_tasks"] == 150
    assert "offline training    is run again" in done.out
    (copied / "data/workload_traces/training_workload.csv").write_text("not,a\ntrace")
    torn = hms("pipeline")
    assert (torn.code, torn.err.count("\n")) == (2, 1)
    assert "training_workload.csv" in torn.err


def test_the_pipeline_takes_ones_own_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = WorkloadGenerator(7)
    own.generate_preset("mixed", 200, load=0.9)
    own.save_workload(tmp_path / "mine.csv")
    write_small(tmp_path, test_tasks="trace: mine.csv, test_tasks")
    done = hms("pipeline")
    assert done.code == 0, done.err
    result = load_result(tmp_path / "data/results/comparison")
    assert result.outcomes[0].workload["num_tasks"] == 40  # the last fifth, which nobody was trained on
    assert hms("pipeline", "--trace", "mine.csv").out.count("before") == 5
    refused(hms("pipeline", "--trace", "yours.csv"), "yours.csv does not exist")
