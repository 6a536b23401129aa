"""config.yaml: every option is in it with its default and its help, and what cannot be meant is told in one line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from hybrid_scheduler.errors import InputError, SchedulerError, UnknownNameError
from hybrid_scheduler.pipeline.config import Options, Section, flatten, read_options, render_config, shrink
from hybrid_scheduler.settings import AppSettings, load_settings

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "config.yaml"


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in AppSettings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


def given(text: str) -> Options:
    Path("config.yaml").write_text(text, encoding="utf-8")
    return read_options()


def names(data: dict[str, Any], prefix: str = "") -> set[str]:
    found: set[str] = set()
    for key, value in data.items():
        found |= names(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}"}
    return found


def test_the_committed_file_is_the_one_that_the_code_writes() -> None:
    assert COMMITTED.read_text(encoding="utf-8") == render_config(), "run make docs"


def test_every_option_of_the_pipeline_is_in_the_file_and_every_one_in_the_file_exists() -> None:
    data = yaml.safe_load(COMMITTED.read_text(encoding="utf-8"))
    assert set(data) == {"pipeline"}
    assert names(data["pipeline"]) == {name for name, _ in flatten(Options())}
    assert read_options(COMMITTED) == Options()


def test_every_option_has_its_help_in_the_file() -> None:
    lines = COMMITTED.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        if re.match(r"\s*(# )?[a-z_]+:( |$)", line) and line != "pipeline:":
            assert line.count("#") > line.startswith("#") or lines[number - 1].lstrip().startswith("# "), line


def test_every_setting_of_the_service_is_in_the_file_commented_out_with_its_default(tmp_path: Path) -> None:
    text = COMMITTED.read_text(encoding="utf-8")
    written = re.findall(r"^# (([a-z_]+): .*)$", text, flags=re.MULTILINE)
    assert [name for _, name in written] == list(AppSettings.model_fields)
    before = load_settings()
    Path("config.yaml").write_text("\n".join(line for line, _ in written), encoding="utf-8")
    assert load_settings() == before


def test_the_service_does_not_mind_the_committed_file() -> None:
    before = load_settings()
    Path("config.yaml").write_text(COMMITTED.read_text(encoding="utf-8"), encoding="utf-8")
    assert load_settings() == before


def test_one_file_serves_both() -> None:
    options = given("num_gpus: 2\nport: 9000\npipeline: {seed: 7, workload: {num_tasks: 500}}\n")
    assert (options.seed, options.gpus, options.workload.num_tasks) == (7, 2, 500)
    assert load_settings().port == 9000
    assert given("num_gpus: 2\npipeline: {gpus: 3}\n").gpus == 3


def test_without_a_file_there_are_defaults() -> None:
    assert read_options() == Options()
    assert given("") == Options()
    assert given("pipeline:\n  workload:\n") == Options()
    assert read_options(seed=9).seed == 9


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pipelin: {}", r"config.yaml.*'pipelin'.*did you mean 'pipeline'"),
        ("pipeline: {sed: 1}", r"pipeline:.*'sed'.*did you mean 'seed'"),
        ("pipeline: {workload: {num_task: 1}}", r"pipeline.workload.*did you mean 'num_tasks'"),
        ("pipeline: {workload: {preset: mixd}}", "did you mean 'mixed'"),
        ("pipeline: {evaluation: {schedulers: [greedi]}}", "did you mean 'greedy'"),
        ("pipeline: {evaluation: {schedulers: [offline]}}", "did you mean 'offline_forest'"),
        ("pipeline: {evaluation: {schedulers: ['oracle:stp=1']}}", "did you mean 'step'"),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest_one(text: str, words: str) -> None:
    with pytest.raises(UnknownNameError, match=words):
        given(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pipeline: 3", "pipeline is 3, expected options"),
        ("pipeline: {workload: 3}", "pipeline.workload is 3"),
        ("pipeline: {seed: -1}", "pipeline.seed is -1"),
        ("pipeline: {seed: true}", "pipeline.seed is True"),
        ("pipeline: {seed: 1.5}", "pipeline.seed is 1.5"),
        ("pipeline: {mode: fast}", "'queued' or 'isolated'"),
        ("pipeline: {workload: {load: 0}}", "pipeline.workload.load is 0"),
        ("pipeline: {workload: {load: .nan}}", "pipeline.workload.load"),
        ("pipeline: {workload: {num_tasks: many}}", "pipeline.workload.num_tasks is 'many'"),
        ("pipeline: {workload: {preset: cholesky}}", "is a graph"),
        ("pipeline: {evaluation: {schedulers: []}}", "pipeline.evaluation.schedulers"),
        ("pipeline: {evaluation: {seeds: null}}", "pipeline.evaluation.seeds"),
        ("pipeline: [", "not valid YAML"),
        ("- 1", "holds no settings"),
    ],
)
def test_what_cannot_be_meant_is_told_in_one_line(text: str, words: str) -> None:
    with pytest.raises(SchedulerError, match=words) as caught:
        given(text)
    assert "\n" not in str(caught.value)


def test_a_file_that_was_asked_for_and_is_not_there_is_told() -> None:
    with pytest.raises(InputError, match=r"other.yaml does not exist"):
        read_options(Path("other.yaml"))


def test_quick_takes_the_smaller_number_and_leaves_what_was_asked_for() -> None:
    quick = shrink(Options())
    assert (quick.workload.num_tasks, quick.evaluation.figures, quick.evaluation.report) == (2000, False, "html")
    asked = Options.model_validate(
        {"workload": {"num_tasks": 300}, "profiling": {"sizes": [64]}, "evaluation": {"report": "pdf"}}
    )
    quick = shrink(asked)
    assert (quick.workload.num_tasks, quick.profiling.sizes, quick.evaluation.report) == (300, (64,), "pdf")


def test_every_quick_value_is_a_value_that_the_option_takes() -> None:
    def check(section: Section) -> None:
        type(section).model_validate(section.model_dump())
        for name in type(section).model_fields:
            if isinstance(inner := getattr(section, name), Section):
                check(inner)

    check(shrink(Options()))
