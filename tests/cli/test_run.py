"""`hms run`: real work from the command line, marked as measured."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from helpers_cli import hms, refused
from hybrid_scheduler import registry
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.reports import gallery
from hybrid_scheduler.reports.data import RunData, load_report_data


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("real") / "run"
    words = ("-n", "40", "--devices", "emulated", "--at-once", "--scale", "0.02", "-s", "round_robin,eft")
    done = hms("run", "mixed", *words, "-o", str(folder))
    assert done.code == 0, done.err
    return folder, done.out


def test_the_table_says_what_was_measured_and_what_was_emulated(kept: tuple[Path, str]) -> None:
    text = kept[1]
    assert "cpu (emulated), gpu0 (emulated)" in text
    assert "measured" in text
    assert "round_robin" in text
    assert "3 repeats" in text
    assert "load " in text
    assert "3 runs each" in text
    assert max(map(len, text.splitlines())) <= 120


def test_the_run_directory_says_that_nothing_was_simulated(kept: tuple[Path, str]) -> None:
    folder = kept[0]
    document = json.loads((folder / "result.json").read_text())
    assert document["simulated"] is False
    assert document["schedulers"]["eft"]["rejected"] == 0
    with (folder / "placements.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 80
    assert {(row["scheduler"], row["status"]) for row in rows} == {("round_robin", "0"), ("eft", "0")}
    assert all(float(row["finish"]) > float(row["arrival"]) for row in rows)


def test_what_was_measured_is_not_repeated_as_a_simulation(kept: tuple[Path, str]) -> None:
    refused(hms("repeat", str(kept[0])), "run it again with hms run")


@pytest.mark.usefixtures("blank_pictures")
def test_figures_and_reports_say_measured_and_on_what(kept: tuple[Path, str], tmp_path: Path) -> None:
    folder = kept[0]
    assert "(emulated)" in (folder / "devices.txt").read_text()
    written = hms("report", str(folder), "-o", str(tmp_path / "report.html"))
    assert written.code == 0, written.err
    page = (tmp_path / "report.html").read_text()
    assert "Measured on cpu (emulated), gpu0 (emulated)" in page
    assert "Everything here is simulated" not in page
    assert "certified" not in page
    material = load_report_data(folder)
    assert isinstance(material, RunData)
    one = material.replay  # read, not run again
    assert {spec: each.makespan for spec, each in one.placements.items()} == {
        spec: pytest.approx(material.result.outcomes[0].measures[spec]["makespan"]) for spec in one.placements
    }
    for name in ("gantt", "makespan_over_bound", "pareto", "latency_cdf"):
        axis = gallery.draw(name, material).get_xlabel()
        assert "measured" in axis
        assert "simulated" not in axis
    with pytest.raises(InputError, match="figure 'model_accuracy' needs"):
        gallery.draw("model_accuracy", material)


def test_one_document_of_json_and_nothing_else() -> None:
    done = hms("run", "-n", "10", "--devices", "cpu", "--at-once", "--scale", "0.01", "-s", "round_robin", "--json")
    assert json.loads(done.out)["simulated"] is False


def test_a_machine_without_a_gpu_is_told_what_to_do() -> None:
    done = hms("run", "-n", "10", "--devices", "cpu", "--at-once", "--scale", "0.01", "-s", "round_robin")
    assert "--devices emulated" in done.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--backend", "locale"), "did you mean 'local'"),
        (("--backend", "local", "--address", "127.0.0.1:1"), "takes no address"),
        (("--devices", "tpu"), "unknown device 'tpu'"),
        (("--pace", "0"), "--pace is 0"),
        (("--scale", "-1"), "--scale is -1"),
        (("-s", "eftt"), "did you mean 'eft'"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(words: tuple[str, ...], says: str) -> None:
    refused(hms("run", "-n", "10", "--devices", "cpu", "-s", "eft", *words), says)


@pytest.mark.parametrize("command", ["run", "validate", "serve"])
def test_the_help_names_every_backend(command: str) -> None:
    text = " ".join(hms(command, "--help").out.split())
    assert all(f"{each.name} ({each.summary})" in text for each in registry.backends.entries)
