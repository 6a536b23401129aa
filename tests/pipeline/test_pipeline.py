"""An interrupted pipeline goes on where it was; a changed option redoes what depends on it; nothing old is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers_cli import files_in
from hybrid_scheduler.errors import InputError, UnknownNameError
from hybrid_scheduler.pipeline.phases import Phase
from hybrid_scheduler.pipeline.pipeline import Plan, SilentObserver, Workspace, run
from small_pipeline import Counted, options

NAMES = ("profiling", "workload", "training", "scheduling", "evaluation")


class Recording(SilentObserver):
    """An observer that remembers why phases were run again, and what was moved."""

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}
        self.lines: list[str] = []

    def begin(self, number: int, phase: Phase, reason: str) -> None:
        self.reasons[phase.name] = reason

    def note_moved(self, lines: list[str]) -> None:
        self.lines += lines


@pytest.fixture
def counted() -> Counted:
    return Counted()


def test_finished_phases_are_not_done_again(tmp_path: Path, counted: Counted) -> None:
    first = run(Plan(options(), tmp_path), phases=counted.phases)
    files = files_in(tmp_path)
    second = run(Plan(options(), tmp_path), phases=counted.phases)
    assert dict(counted.done) == dict.fromkeys(NAMES, 1)
    assert second == first
    assert files_in(tmp_path) == files


@pytest.mark.parametrize("failing", NAMES)
def test_an_interruption_inside_a_phase_costs_that_phase_only(tmp_path: Path, counted: Counted, failing: str) -> None:
    counted.failing = failing
    with pytest.raises(KeyboardInterrupt):
        run(Plan(options(), tmp_path), phases=counted.phases)
    assert not (tmp_path / f"data/{failing}.txt").exists()
    assert not (tmp_path / f"data/pipeline/{failing}.json").exists()
    counted.failing = ""
    run(Plan(options(), tmp_path), phases=counted.phases)
    assert counted.done == {name: 1 + (name == failing) for name in NAMES}
    assert not (tmp_path / "data/earlier").exists()


def test_a_full_disk_is_told_in_one_line_and_costs_that_phase_only(tmp_path: Path, counted: Counted) -> None:
    counted.failing, counted.failure = "training", OSError(28, "No space left on device", "x.csv")
    with pytest.raises(InputError, match=r"phase 'training' cannot .* x.csv \(No space left on device\)"):
        run(Plan(options(), tmp_path), phases=counted.phases)
    assert (tmp_path / "data/workload.txt").exists()
    assert not (tmp_path / "data/training.txt").exists()


def test_what_a_killed_phase_left_behind_is_thrown_away(tmp_path: Path, counted: Counted) -> None:
    left = tmp_path / "data/pipeline/.training/data"
    left.mkdir(parents=True)
    (left / "stale.txt").write_text("half")
    run(Plan(options(), tmp_path), phases=counted.phases)
    assert not (tmp_path / "data/pipeline/.training").exists()
    assert not list(tmp_path.rglob("stale.txt"))


def test_a_phase_killed_while_its_results_move_into_place_is_done_again(tmp_path: Path, counted: Counted) -> None:
    run(Plan(options(), tmp_path), phases=counted.phases)
    (tmp_path / "data/pipeline/training.json").unlink()  # the record is the last thing that is written
    observer = Recording()
    run(Plan(options(), tmp_path), observer, counted.phases)
    assert counted.done == {name: 1 + (name == "training") for name in NAMES}
    assert observer.lines == []  # the same bytes: nothing is lost, nothing is kept twice


def test_a_changed_option_redoes_its_phase_and_those_that_depend_on_it(tmp_path: Path, counted: Counted) -> None:
    run(Plan(options(), tmp_path), phases=counted.phases)
    counted.words["training"] = "other trees"
    observer = Recording()
    run(Plan(options(training={"n_estimators": 7}), tmp_path), observer, counted.phases)
    assert observer.reasons == {
        "training": "training.n_estimators is 7, was 100",
        "scheduling": "data/training.txt is another one",
    }  # scheduling wrote the same bytes as before, so evaluation stands
    assert observer.lines == ["data/training.txt of before is now data/earlier/1/data/training.txt"]
    assert (tmp_path / "data/earlier/1/data/training.txt").read_text() == "training"


def test_from_does_a_phase_and_all_after_it_again(tmp_path: Path, counted: Counted) -> None:
    run(Plan(options(), tmp_path), phases=counted.phases)
    run(Plan(options(), tmp_path, start="4"), phases=counted.phases)
    run(Plan(options(), tmp_path, start="evaluation"), phases=counted.phases)
    assert dict(counted.done) == dict(zip(NAMES, (1, 1, 1, 2, 3), strict=True))


def test_an_unknown_phase_is_told_with_the_nearest_one(tmp_path: Path, counted: Counted) -> None:
    for start, words in (("trainng", "did you mean 'training'"), ("6", "1 to 5"), ("0", "1 to 5")):
        with pytest.raises(UnknownNameError, match=words):
            run(Plan(options(), tmp_path, start=start), phases=counted.phases)
    assert not counted.done
    assert not list(tmp_path.iterdir())


def test_results_that_somebody_else_put_there_are_kept_and_named(tmp_path: Path, counted: Counted) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/workload.txt").write_text("mine")
    observer = Recording()
    run(Plan(options(), tmp_path), observer, counted.phases)
    assert observer.lines == ["data/workload.txt of before is now data/earlier/1/data/workload.txt"]
    assert (tmp_path / "data/earlier/1/data/workload.txt").read_text() == "mine"


def test_a_folder_of_an_earlier_run_is_kept_whole_and_earlier_runs_are_numbered(
    tmp_path: Path, counted: Counted
) -> None:
    for word in ("one", "two"):
        (tmp_path / "data/evaluation").mkdir(parents=True, exist_ok=True)
        (tmp_path / "data/evaluation/figure.png").write_text(word)
        run(Plan(options(), tmp_path, start="evaluation"), phases=counted.phases)
    for number, word in enumerate(("one", "two"), start=1):
        assert (tmp_path / f"data/earlier/{number}/data/evaluation/figure.png").read_text() == word


def test_force_replaces(tmp_path: Path, counted: Counted) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/workload.txt").write_text("mine")
    observer = Recording()
    run(Plan(options(), tmp_path, force=True), observer, counted.phases)
    assert observer.lines == []
    assert (tmp_path / "data/workload.txt").read_text() == "workload"
    assert not (tmp_path / "data/earlier").exists()


def test_a_missing_result_is_made_again(tmp_path: Path, counted: Counted) -> None:
    run(Plan(options(), tmp_path), phases=counted.phases)
    (tmp_path / "data/workload.txt").unlink()
    observer = Recording()
    run(Plan(options(), tmp_path), observer, counted.phases)
    assert observer.reasons == {"workload": "data/workload.txt is missing"}


def test_a_result_that_was_changed_is_an_error_until_its_phase_is_asked_for(tmp_path: Path, counted: Counted) -> None:
    run(Plan(options(), tmp_path), phases=counted.phases)
    (tmp_path / "data/workload.txt").write_text("damaged")
    before = files_in(tmp_path)
    with pytest.raises(InputError, match=r"workload.txt is damaged or not the file.*--from workload"):
        run(Plan(options(), tmp_path), phases=counted.phases)
    assert files_in(tmp_path) == before
    run(Plan(options(), tmp_path, start="workload"), phases=counted.phases)
    assert (tmp_path / "data/earlier/1/data/workload.txt").read_text() == "damaged"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "damaged"),
        ("[]", "damaged"),
        ('{"kind": "pipeline_phase", "schema": 1}', "damaged"),
        ('{"kind": "pipeline_phase", "schema": 99}', "newer version .schema 99, known 1"),
        ('{"kind": "other", "schema": 1}', "damaged"),
        ('{"kind": "pipeline_phase", "schema": 1, "phase": "training", "inputs": [], "outputs": {}}', "damaged"),
    ],
)
def test_a_record_that_cannot_be_trusted_stops_the_run_before_any_work(
    tmp_path: Path, counted: Counted, text: str, words: str
) -> None:
    (tmp_path / "data/pipeline").mkdir(parents=True)
    (tmp_path / "data/pipeline/training.json").write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        run(Plan(options(), tmp_path), phases=counted.phases)
    assert "\n" not in str(caught.value)
    assert not counted.done
    assert (tmp_path / "data/pipeline/training.json").read_text() == text


def test_another_version_does_everything_again(tmp_path: Path, counted: Counted) -> None:
    run(Plan(options(), tmp_path), phases=counted.phases)
    for path in (tmp_path / "data/pipeline").glob("*.json"):
        document = json.loads(path.read_text())
        document["inputs"]["version"] = "0.0.1"
        path.write_text(json.dumps(document))
    observer = Recording()
    run(Plan(options(), tmp_path), observer, counted.phases)
    assert set(observer.reasons) == set(NAMES)
    assert observer.reasons["profiling"].startswith("version 0.0.1 made it")


def test_a_second_pipeline_in_the_folder_is_kept_out(tmp_path: Path, counted: Counted) -> None:
    with (
        Workspace(tmp_path).lock(),
        pytest.raises(InputError, match="another pipeline is at work"),
    ):
        run(Plan(options(), tmp_path), phases=counted.phases)
    run(Plan(options(), tmp_path), phases=counted.phases)


def test_an_unwritable_folder_is_told(tmp_path: Path, counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *_args: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)  # root, as in containers, may write everywhere
    with pytest.raises(InputError, match="cannot write"):
        run(Plan(options(), tmp_path), phases=counted.phases)


def test_a_file_in_the_place_of_the_folder_is_told(tmp_path: Path, counted: Counted) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(InputError, match="cannot write"):
        run(Plan(options(), tmp_path), phases=counted.phases)
    assert (tmp_path / "data").read_text() == "a file"
