"""A report is complete, the same run gives the same bytes, and no existing file is replaced."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers_cli import files_in, hms, refused
from hybrid_scheduler.core import Cluster
from hybrid_scheduler.core.formatting import format_interval
from hybrid_scheduler.files import new_directory
from hybrid_scheduler.reports.data import RunData
from hybrid_scheduler.reports.html import to_html
from hybrid_scheduler.reports.pdf import to_pdf
from hybrid_scheduler.reports.reporting import build_document
from hybrid_scheduler.reports.style import label
from hybrid_scheduler.studies import results
from reports.sample_runs import (
    EXPERIMENTS,
    SPECS,
    build_experiment_data,
    build_run_data,
    build_run_document,
    run_comparison,
)
from reports.test_pdf import read_pages


def test_every_scheduler_interval_and_the_command_are_in_the_report() -> None:
    page = to_html(build_run_document())
    for spec in SPECS:
        assert label(spec) in page
        each = run_comparison().interval(spec, "makespan_over_bound")
        assert format_interval(each, "×") in page
    assert "hms compare mixed -n 120\nhms repeat RUN" in page
    assert "Threats to validity" in page
    assert "How short turnaround can be" in page
    assert "bit-identical to the kept ones" in page


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.usefixtures("blank_pictures")
def test_an_experiment_has_a_report(name: str) -> None:
    document = build_document(build_experiment_data(name))
    texts = read_pages(to_pdf(document))
    assert f"Experiment: {name}" in texts[0]
    assert "hybrid_ml" in texts[0]
    assert f"hms experiment {name}" in "".join(texts)
    assert all(name in to_html(document) for name in ("hybrid_ml", "eft", "static forest"))


@pytest.mark.usefixtures("blank_pictures")
def test_one_scheduler_on_one_seed_has_a_report() -> None:
    texts = read_pages(to_pdf(build_document(build_run_data(seeds=1, specs=("eft",)))))
    assert "eft ran alone" in texts[0]
    assert "One seed: no interval" in "".join(texts)


def test_the_same_run_gives_the_same_bytes() -> None:
    one, shown = build_run_document(), build_run_data()
    other = build_document(RunData(shown.result, shown.manifest))  # seeds run and forests fitted anew
    assert to_html(one) == to_html(other)
    assert to_pdf(one) == to_pdf(other)


@pytest.mark.usefixtures("blank_pictures", "run")
def test_a_kept_run_is_reported_and_repeated() -> None:
    assert hms("report", "run").out == "wrote run/report.html\nwrote run/report.pdf\n"
    assert hms("repeat", "run").code == 0


@pytest.mark.usefixtures("blank_pictures")
def test_a_report_lies_in_its_run_unless_told_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["hms", "experiment", "shift"]
    with new_directory(tmp_path / "kept") as folder:
        results.save_experiment(
            build_experiment_data("shift").experiment, folder, Cluster.default(), range(3), command
        )
    assert hms("report", "kept").out == "wrote kept/report.html\nwrote kept/report.pdf\n"
    assert hms("report", "kept", "-o", "mine.pdf").out == "wrote mine.pdf\n"
    assert hms("report", "kept", "-o", "page", "--format", "html").out == "wrote page.html\n"
    assert hms("report", "kept", "-o", "a.html", "--format", "both").out == "wrote a.html\nwrote a.pdf\n"
    Path("folder").mkdir()
    assert hms("report", "kept", "-o", "folder", "--format", "html").out == "wrote folder/report.html\n"


@pytest.mark.parametrize("kind", ["html", "pdf"])
@pytest.mark.usefixtures("run")
def test_an_existing_report_is_never_replaced(kind: str) -> None:
    Path(f"r.{kind}").write_text("precious", encoding="utf-8")
    before = files_in(Path())
    refused(hms("report", "run", "-o", "r"), f"r.{kind} exists", "choose another path")
    assert files_in(Path()) == before


@pytest.mark.usefixtures("run")
def test_an_unwritable_place_is_refused_and_nothing_is_left() -> None:
    Path("file").write_text("x", encoding="utf-8")
    before = files_in(Path())
    refused(hms("report", "run", "-o", "file/r.html"), "cannot write", "choose another path")
    refused(hms("plot", "run", "-f", "makespan", "-o", "file/m.png"), "cannot write", "choose another path")
    assert files_in(Path()) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("report nowhere", "no run directory"),
        ("report run --format doc", "unknown format 'doc'"),
        ("report run -o r.pdf --format html", "let them say the same"),
    ],
)
@pytest.mark.usefixtures("run")
def test_contradictory_options_are_refused(arguments: str, message: str) -> None:
    before = files_in(Path())
    refused(hms(*arguments.split(" ")), message)
    assert files_in(Path()) == before


@pytest.mark.usefixtures("blank_pictures")
def test_experiments_and_capacities_are_kept_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert hms("capacity", "-s", "eft,greedy", "-n", "400", "--seeds", "2", "-o", "cap").code == 0
    assert set(files_in(tmp_path / "cap")) == {"capacity.csv", "manifest.json"}
    assert hms("report", "cap").code == 0
    assert hms("plot", "cap", "-f", "capacity", "-o", "c.png").code == 0
    refused(hms("repeat", "cap"), "holds an experiment")
    manifest = json.loads(Path("cap/manifest.json").read_text(encoding="utf-8"))
    assert manifest["command"][:2] == ["hms", "capacity"]
    with Path("cap/capacity.csv").open("a", encoding="utf-8") as file:
        file.write("eft,mixed,9,1.0,1.0\n")
    refused(hms("plot", "cap", "-f", "capacity", "-o", "d.png"), "capacity.csv", "SHA-256 differs")
    refused(hms("capacity", "-s", "eft", "-o", "cap"), "not empty")
