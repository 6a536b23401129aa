"""A run directory holds what was asked and what came out; repeating it gives the same bits or says why not."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from helpers_cli import Finished, files_in, hms, hms_process, refused
from hybrid_scheduler import __version__
from hybrid_scheduler.core import Cluster
from hybrid_scheduler.deprecated import restore_defaults
from hybrid_scheduler.studies.compare import Comparison, compare
from hybrid_scheduler.studies.results import (
    load_manifest,
    load_result,
    measures_to_csv,
    parse_comparison,
    repeat,
    save_result,
    to_csv,
    to_json,
)
from hybrid_scheduler.workloads.source import Source

COMPARE = ("compare", "mixed", "-n", "50", "-s", "eft,random,round_robin", "--seeds", "3")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept") / "run"
    assert hms(*COMPARE, "--out", str(folder)).code == 0
    return folder


@pytest.fixture
def run(kept: Path, tmp_path: Path) -> Path:
    """Return a copy of a run directory that a test may spoil."""
    return Path(shutil.copytree(kept, tmp_path / "run"))


def _change(run: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = run / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    change(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")


def _repeat(run: Path) -> Finished:
    return hms("repeat", str(run))


# --- what is kept --------------------------------------------------------------------------------------------


def test_a_run_directory_has_a_manifest_a_result_and_measures_and_nothing_else(run: Path) -> None:
    assert set(files_in(run)) == {"manifest.json", "measures.csv", "result.json"}


def test_the_manifest_says_what_was_asked_with_what_and_by_which_version(kept: Path) -> None:
    manifest = json.loads((kept / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["schema"] == 1
    assert manifest["version"] == __version__
    assert manifest["command"] == ["hms", *COMPARE, "--out", str(kept)]
    assert manifest["comparison"]["schedulers"] == ["eft", "random", "round_robin"]
    assert manifest["comparison"]["seeds"] == [0, 1, 2]
    assert manifest["comparison"]["source"]["name"] == "mixed"
    assert set(manifest["workloads"]) == {"0", "1", "2"}
    assert len(set(manifest["workloads"].values())) == 3
    assert {"python", "platform", "numpy", "numba", "scipy"} <= set(manifest["environment"])


def test_the_manifest_has_the_digest_of_the_measures(kept: Path) -> None:
    manifest = json.loads((kept / "manifest.json").read_text(encoding="utf-8"))
    digest = hashlib.sha256((kept / "measures.csv").read_bytes()).hexdigest()
    assert manifest["sha256"] == {"measures.csv": digest}


def test_the_measures_are_one_line_for_every_seed_and_scheduler(kept: Path) -> None:
    with (kept / "measures.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["seed"], row["scheduler"]) for row in rows] == [
        (str(seed), name) for seed in range(3) for name in ("eft", "random", "round_robin")
    ]
    for row in rows:
        assert float(row["makespan"]) / float(row["bound"]) == float(row["makespan_over_bound"]) >= 1.0


def test_the_result_is_what_json_prints_and_agrees_with_the_measures(kept: Path) -> None:
    result = json.loads((kept / "result.json").read_text(encoding="utf-8"))
    printed = json.loads(hms(*COMPARE, "--json").out)
    with (kept / "measures.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for name, figures in result["schedulers"].items():
        assert {**figures, "measured": None} == {**printed["schedulers"][name], "measured": None}
        makespans = [float(row["makespan"]) for row in rows if row["scheduler"] == name]
        assert figures["makespan"] == pytest.approx(sum(makespans) / 3, rel=1e-15)
    assert result["bound"] == printed["bound"]
    assert result["workload"] == printed["workload"]


def test_a_manifest_gives_back_the_same_comparison_with_infinities(tmp_path: Path) -> None:
    asked = Comparison(Source.of("mixed", 20, load=0.5), ("eft",), Cluster.default(2), "isolated", (4, 1))
    result = compare(asked)
    save_result(result, tmp_path / "run", ["hms"])
    again = parse_comparison(load_manifest(tmp_path / "run"))
    assert again == asked
    assert measures_to_csv(compare(again)) == measures_to_csv(result)


def test_json_text_is_strict() -> None:
    text = to_json({"a": [float("nan"), float("inf"), 1.5], "b": (1, None), "é": "ü"})
    assert json.loads(text) == {"a": [None, None, 1.5], "b": [1, None], "é": "ü"}
    assert "NaN" not in text
    assert "é" in text


# --- repeated ------------------------------------------------------------------------------------------------


def test_a_run_is_repeated_bit_for_bit(run: Path) -> None:
    before = files_in(run)
    finished = _repeat(run)
    assert finished.code == 0, finished.err
    assert finished.out == "repeated bit for bit: 3 seeds, 3 schedulers\n"
    assert files_in(run) == before


def test_learners_of_a_run_that_version_1_0_kept_serve_tasks_as_they_come(tmp_path: Path) -> None:
    asked = Comparison(Source.of("mixed", 120, None, 2.0), ("hybrid_ml:order=fifo", "eft"), seeds=(0,))
    result = compare(asked)
    folder = save_result(result, tmp_path / "kept", ["hms"])
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest |= {"version": "1.0.0", "comparison": {**manifest["comparison"], "schedulers": ["hybrid_ml", "eft"]}}
    then = repeat(manifest)
    assert then.comparison.schedulers == ("hybrid_ml", "eft")
    assert then.values("hybrid_ml", "mean_turnaround") == result.values("hybrid_ml:order=fifo", "mean_turnaround")
    now = repeat({**manifest, "version": "1.1.0"})
    assert now.values("hybrid_ml", "mean_turnaround") < then.values("hybrid_ml", "mean_turnaround")


def test_a_run_is_repeated_bit_for_bit_in_another_process_with_another_hash_seed(run: Path) -> None:
    finished = hms_process("repeat", str(run), env={"PYTHONHASHSEED": "77"})
    assert finished.code == 0, finished.err
    assert finished.out.startswith("repeated bit for bit")


@pytest.mark.parametrize(
    "words",
    [
        "compare cholesky -n 30 -s heft,eft --seeds 2 --out run",
        "compare mixed -n 30 -s oracle:step=0.25,greedy --seeds 5,3 --mode isolated --load 1.5 --out run",
        "compare pareto -n 30 -s eft --seeds 1 --rate 12.5 --gpus 2 --score turnaround --plot bars.png --out run",
        "compare mixed -n 30 -s eft --seeds 1 --cluster cluster.yaml --out run",
    ],
)
def test_every_kind_of_run_is_repeated_bit_for_bit(words: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(
        "nodes: [{cpu: 1, big: 2}, {cpu: 2}]\nclasses: {big: {memory: .inf}}\n", encoding="utf-8"
    )
    assert hms(*words.split(" ")).code == 0
    (tmp_path / "cluster.yaml").unlink()
    assert _repeat(Path("run")).out.startswith("repeated bit for bit: ")


def test_a_run_of_a_file_is_repeated_bit_for_bit_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hms("generate", "mixed", "-n", "30", "--out", "tasks.csv").code == 0
    assert hms("compare", "tasks.csv", "-s", "eft", "--seeds", "1", "--out", "run").code == 0
    assert _repeat(Path("run")).code == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert _repeat(Path("..") / "run").out.startswith("repeated bit for bit")


def test_a_run_with_an_own_policy_is_repeated_bit_for_bit(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def mine(task, view):\n    return 1.0, 1 + task.row % 4\n", encoding="utf-8")
    assert hms("compare", "-n", "30", "-s", "mine.py", "--seeds", "2", "--out", "run").code == 0
    assert _repeat(Path("run")).code == 0
    (tmp_path / "mine.py").write_text("def mine(task, view):\n    return 1.0, 1 + task.row % 3\n", encoding="utf-8")
    refused(_repeat(Path("run")), "mine.py")


@pytest.fixture
def run_of_1_0(run: Path) -> Path:
    """Return a run directory as version 1.0 wrote it: without bounds of turnaround and what is measured by them."""
    added, path = ("turnaround_over_bound", "split"), run / "measures.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = [{name: row[name] for name in row if name not in added} for row in csv.DictReader(file)]
    path.write_text(to_csv(tuple(rows[0]), [tuple(row.values()) for row in rows]), encoding="utf-8")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    _change(run, lambda manifest: manifest["sha256"].update({"measures.csv": digest}))
    document = json.loads((run / "result.json").read_text(encoding="utf-8"))
    del document["turnaround_bound"]
    for figures in document["schedulers"].values():
        for name in added:
            del figures[name], figures["intervals"][name]
    (run / "result.json").write_text(to_json(document), encoding="utf-8")
    return run


def test_a_policy_that_version_1_0_kept_gets_the_options_by_which_it_decided() -> None:
    assert restore_defaults("price", "1.0.0") == "price:tie=0"
    assert restore_defaults("price:tie=0.1", "1.0.0") == "price:tie=0.1"
    assert restore_defaults("price", "1.1.0") == "price"


@pytest.mark.usefixtures("blank_pictures")
def test_a_run_that_version_1_0_kept_is_repeated_bit_for_bit_and_read(run_of_1_0: Path) -> None:
    assert "turnaround_over_bound" not in (run_of_1_0 / "measures.csv").read_text(encoding="utf-8")
    assert _repeat(run_of_1_0).out == "repeated bit for bit: 3 seeds, 3 schedulers\n"
    result = load_result(run_of_1_0)
    assert not result.has_turnaround_bounds
    assert math.isnan(result.values("eft", "turnaround_over_bound")[0])
    assert result.values("eft", "makespan_over_bound")[0] >= 1.0
    assert hms("report", str(run_of_1_0), "-o", "old.html").code == 0
    assert "How short turnaround can be" not in Path("old.html").read_text(encoding="utf-8")


def test_a_run_with_a_measure_that_is_unknown_here_is_no_repetition(run: Path) -> None:
    text = (run / "measures.csv").read_text(encoding="utf-8").replace("energy_delay", "energy_tomorrow")
    (run / "measures.csv").write_text(text, encoding="utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()
    _change(run, lambda manifest: manifest["sha256"].update({"measures.csv": digest}))
    refused(_repeat(run), "not repeated bit for bit")


def test_bounds_of_turnaround_are_kept_seed_by_seed(kept: Path) -> None:
    document = json.loads((kept / "result.json").read_text(encoding="utf-8"))
    again = load_result(kept)
    for row, outcome in zip(document["turnaround_bound"]["by_seed"], again.outcomes, strict=True):
        assert row["seed"] == outcome.seed
        assert row["whole tasks"] == asdict(outcome.turnaround_bounds["whole tasks"])
        assert row["any schedule"]["verified"] is True
        eft = outcome.measures["eft"]
        assert eft["turnaround_over_bound"] == eft["mean_turnaround"] / row["whole tasks"]["mean"]


# --- refused -------------------------------------------------------------------------------------------------


def test_an_altered_digest_is_refused(run: Path) -> None:
    _change(run, lambda manifest: manifest["sha256"].update({"measures.csv": "0" * 64}))
    refused(_repeat(run), str(run))


def test_measures_that_come_out_otherwise_are_refused_with_what_made_the_run(run: Path) -> None:
    text = (run / "measures.csv").read_text(encoding="utf-8").replace("eft", "tfe", 1)
    (run / "measures.csv").write_text(text, encoding="utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()
    _change(run, lambda manifest: manifest["sha256"].update({"measures.csv": digest}))
    refused(_repeat(run), str(run), "not repeated bit for bit", f"version {__version__}", "numpy", "use the same")


def test_altered_measures_are_refused(run: Path) -> None:
    text = (run / "measures.csv").read_text(encoding="utf-8")
    (run / "measures.csv").write_text(text.replace("eft", "tfe", 1), encoding="utf-8")
    refused(_repeat(run), "measures.csv")


def test_missing_measures_are_refused(run: Path) -> None:
    (run / "measures.csv").unlink()
    refused(_repeat(run), "measures.csv")


def test_an_altered_source_is_refused_and_named(tmp_path: Path) -> None:
    assert hms("generate", "mixed", "-n", "30", "--out", "tasks.csv").code == 0
    assert hms("compare", "tasks.csv", "-s", "eft", "--seeds", "1", "--out", "run").code == 0
    with (tmp_path / "tasks.csv").open("a", encoding="utf-8") as file:
        file.write("999,1,0.5,1,0,,\n")
    refused(_repeat(Path("run")), "tasks.csv is not the file that was compared", "SHA-256 differs", "restore it")


def test_a_missing_source_is_refused_and_named(tmp_path: Path) -> None:
    assert hms("generate", "mixed", "-n", "30", "--out", "tasks.csv").code == 0
    assert hms("compare", "tasks.csv", "-s", "eft", "--seeds", "1", "--out", "run").code == 0
    (tmp_path / "tasks.csv").unlink()
    refused(_repeat(Path("run")), "tasks.csv", "restore it")


def test_another_seed_in_the_manifest_is_no_repetition(run: Path) -> None:
    _change(run, lambda manifest: manifest["comparison"].update({"seeds": [0, 1, 9]}))
    refused(_repeat(run), "not repeated bit for bit")


def test_a_newer_schema_is_refused_with_an_upgrade_as_the_way_out(run: Path) -> None:
    _change(run, lambda manifest: manifest.update({"schema": 2}))
    refused(_repeat(run), "manifest.json", "newer version", "schema 2, known 1", "upgrade")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_torn_manifest_is_refused(share: float, run: Path) -> None:
    content = (run / "manifest.json").read_bytes()
    (run / "manifest.json").write_bytes(content[: int(share * len(content))])
    refused(_repeat(run), "manifest.json", "damaged", "hms compare --out")


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "null",
        "5",
        '"schema"',
        "{}",
        '{"schema": "one"}',
        '{"schema": null}',
        '{"schema": [1]}',
        '{"schema": 1}',
        '{"schema": 1, "comparison": {}}',
        '{"schema": 1, "comparison": []}',
        '{"schema": 0}',
    ],
)
def test_a_manifest_that_is_none_is_refused(text: str, run: Path) -> None:
    (run / "manifest.json").write_text(text, encoding="utf-8")
    refused(_repeat(run), "manifest.json", "hms compare --out")


@pytest.mark.parametrize("part", ["schedulers", "cluster", "seeds", "source", "mode"])
def test_a_manifest_without_a_part_of_the_comparison_is_refused(part: str, run: Path) -> None:
    _change(run, lambda manifest: manifest["comparison"].pop(part))
    refused(_repeat(run), "manifest.json", "hms compare --out")


@pytest.mark.parametrize("part", ["sha256", "comparison"])
def test_a_manifest_without_a_part_of_its_own_is_refused(part: str, run: Path) -> None:
    _change(run, lambda manifest: manifest.pop(part))
    refused(_repeat(run), "manifest.json", "hms compare --out")


def test_a_manifest_with_a_scheduler_that_is_gone_names_it(run: Path) -> None:
    _change(run, lambda manifest: manifest["comparison"].update({"schedulers": ["oracel"]}))
    refused(_repeat(run), "'oracel'", "did you mean 'oracle'?")


def test_a_binary_manifest_is_refused(run: Path) -> None:
    (run / "manifest.json").write_bytes(bytes(range(256)))
    refused(_repeat(run), "manifest.json", "damaged")


def test_a_folder_without_a_manifest_is_no_run(tmp_path: Path) -> None:
    refused(_repeat(tmp_path), "no run directory", "hms compare --out")


def test_a_file_instead_of_a_run_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    refused(_repeat(Path("file")), "file", "hms compare --out")


def test_a_run_that_cannot_be_kept_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = compare(Comparison(Source.of("mixed", 5), ("eft",), seeds=(0,)))

    def fail(path: object) -> str:
        raise RuntimeError("the power fails here")

    monkeypatch.setattr("hybrid_scheduler.studies.results.sha256", fail)
    with pytest.raises(RuntimeError, match="the power fails"):
        save_result(result, tmp_path / "run", ["hms"])
    assert files_in(tmp_path) == {}
