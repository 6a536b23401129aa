"""An option that cannot be meant ends in one line that names it, what was given and what is expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers_cli import files_in, hms, refused
from hybrid_scheduler import registry
from hybrid_scheduler.cli import options
from hybrid_scheduler.cli.options import parse_seeds
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads import generator

PRESETS = f"known: {', '.join(sorted(generator.PRESETS))}"
SCHEDULERS = f"known: {', '.join(sorted(registry.schedulers.table))}"
TASKS = "size,compute_intensity,memory_required\n100,0.5,10\n200,0.5,10\n300,0.5,10\n"

REJECTED: dict[str, tuple[str, list[str]]] = {
    "an unknown scheduler": (
        "compare -s ratata",
        ["unknown scheduler 'ratata'", SCHEDULERS, "hms schedulers"],
    ),
    "a mistyped scheduler": ("compare -s oracel", ["'oracel'", "did you mean 'oracle'?", "hms schedulers"]),
    "a mistyped scheduler among good ones": ("compare -s eft,gredy,heft", ["'gredy'", "did you mean 'greedy'?"]),
    "a mistyped scheduler of capacity": ("capacity -s oracel --seeds 1", ["'oracel'", "did you mean 'oracle'?"]),
    "an unknown preset": ("compare zzz", ["unknown preset 'zzz'", PRESETS, "a file that hms import can read"]),
    "a mistyped preset": ("compare mixd", ["'mixd'", "did you mean 'mixed'?", PRESETS]),
    "a mistyped preset of generate": ("generate chol --out tasks.csv", ["'chol'", "'cholesky'?", PRESETS]),
    "a mistyped preset of bound": ("bound layerd", ["'layerd'", "did you mean 'layered'?", PRESETS]),
    "a mistyped preset of capacity": ("capacity layerd", ["'layerd'", "did you mean 'layered'?", PRESETS]),
    "an unknown option of a scheduler": ("compare -s oracle:stp=1", ["'oracle'", "'stp'", "did you mean 'step'?"]),
    "an option of a scheduler without any": ("compare -s eft:x=1", ["'eft'", "x", "option"]),
    "an option without a value": ("compare -s oracle:step", ["'oracle:step'", "'step' is no option", "option=value"]),
    "a value that is too large": ("compare -s oracle:step=2", ["oracle: step is 2", "from 0.0001 to 1"]),
    "a value that is NaN": ("compare -s oracle:step=nan", ["oracle: step is nan", "from 0.0001 to 1"]),
    "a value that is a word": ("compare -s oracle:step=abc", ["oracle: step is 'abc'", "from 0.0001 to 1"]),
    "a window that is a word": ("compare -s min_min:window=abc", ["min_min", "window", "abc"]),
    "a negative seed of a scheduler": ("compare -s random:seed=-1", ["random", "seed", "-1"]),
    "a scheduler named twice": ("compare -s eft,oracle,eft", ["named twice", "eft, oracle, eft", "each once"]),
    "a rate and a load": ("compare --rate 5 --load 0.5", ["--rate and --load", "one of them"]),
    "a rate and a load for generate": ("generate --rate 5 --load 0.5", ["rate", "load", "one of them"]),
    "a load of 0": ("compare --load 0", ["load is 0.0", "above 0"]),
    "a load that is NaN": ("compare --load nan", ["load is nan", "above 0"]),
    "a load of -1": ("compare --load -1", ["load is -1.0", "above 0"]),
    "an infinite load": ("compare --load inf", ["load is inf", "above 0"]),
    "a rate of 0": ("compare --rate 0", ["rate is 0.0", "above 0"]),
    "a rate that is NaN": ("generate --rate nan", ["rate is nan", "above 0"]),
    "a rate of -1": ("bound --rate -1", ["rate is -1.0", "above 0"]),
    "a load of 0 for a file": ("compare tasks.csv --load 0", ["load is 0.0", "above 0"]),
    "0 tasks": ("compare --tasks 0", ["number of tasks is 0", "whole number above 0"]),
    "-3 tasks": ("generate --tasks -3", ["number of tasks is -3", "whole number above 0"]),
    "0 tasks of a graph": ("bound cholesky --tasks 0", ["number of tasks is 0", "whole number above 0"]),
    "0 tasks of a file": ("compare tasks.csv --tasks 0 --seeds 1", ["number of tasks is 0", "whole number above 0"]),
    "-1 tasks of a file": ("compare tasks.csv --tasks -1 --seeds 1", ["number of tasks is -1", "above 0"]),
    "0 tasks of capacity": ("capacity -s eft --tasks 0 --seeds 1", ["number of tasks is 0", "above 0"]),
    "too few tasks for a capacity": ("capacity -s eft --tasks 1 --seeds 1", ["capacity", "tasks"]),
    "a capacity of a file without arrivals": ("capacity tasks.csv -s eft --seeds 1", ["tasks.csv", "arriv"]),
    "0 seeds": ("compare --seeds 0", ["--seeds is '0'", "above 0", "3,7,9"]),
    "-2 seeds": ("compare --seeds -2", ["--seeds is '-2'", "above 0"]),
    "seeds that are a word": ("compare --seeds abc", ["--seeds is 'abc'", "above 0", "3,7,9"]),
    "seeds that are a fraction": ("compare --seeds 1.5", ["--seeds is '1.5'", "above 0"]),
    "the same seed twice": ("compare --seeds 1,1", ["--seeds is '1,1'", "different ones"]),
    "a negative seed in a list": ("compare --seeds 3,-1", ["--seeds is '3,-1'"]),
    "more than 100 seeds that are no range": (
        "compare --seeds 9001",
        ["9,001 seeds", "--seeds 0..9000", "--seeds 9001,"],
    ),
    "a range that runs backwards": ("compare --seeds 5..3", ["--seeds is '5..3'", "0..99"]),
    "a range without an end": ("compare --seeds 5..", ["--seeds is '5..'", "0..99"]),
    "only a comma": ("compare --seeds ,", ["--seeds is ','"]),
    "seeds of capacity that are a word": ("capacity --seeds abc", ["--seeds is 'abc'", "3,7,9"]),
    "a negative seed of generate": ("generate --seed -1", ["seed", "-1", "0 or more"]),
    "a negative seed of bound": ("bound --seed -1", ["seed", "-1", "0 or more"]),
    "-1 GPUs": ("compare --gpus -1", ["--gpus is -1", "0 or more"]),
    "an unknown mode": ("compare --mode foo --seeds 1 -n 5", ["mode is 'foo'", "queued or isolated"]),
    "a figure of an unknown kind": (
        "compare tasks.csv -s eft --seeds 1 --plot figure.xyz",
        ["figure.xyz", "xyz", "png"],
    ),
    "a run of an empty folder": ("repeat .", ["no run directory", "manifest.json", "hms compare --out"]),
    "a run of a missing folder": ("repeat nowhere", ["nowhere", "no run directory", "hms compare --out"]),
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks.csv").write_text(TASKS, encoding="utf-8")


@pytest.mark.parametrize("name", REJECTED)
def test_a_bad_option_is_refused_in_one_line_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    words, says = REJECTED[name]
    before = files_in(tmp_path)
    refused(hms(*words.split(" ")), *says)
    assert files_in(tmp_path) == before


def test_seeds_are_a_number_a_range_or_a_list() -> None:
    assert parse_seeds("3") == (0, 1, 2)
    assert parse_seeds("5..7") == (5, 6, 7)
    assert parse_seeds("9001,") == (9001,)
    assert parse_seeds("0..100") == tuple(range(101))


@pytest.mark.parametrize("text", ["", " "])
def test_seeds_without_a_number_are_refused(text: str) -> None:
    refused(hms("compare", "--seeds", text), f"--seeds is '{text}'", "3,7,9")


@pytest.mark.parametrize("window", ["0", "-5"])
def test_a_window_without_room_for_a_task_is_refused(window: str) -> None:
    finished = hms("compare", "tasks.csv", "-s", f"min_min:window={window}", "--seeds", "1")
    refused(finished, "window", window, "from 1")


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("compare -n abc", "'--tasks'"),
        ("compare --load much", "'--load'"),
        ("compare --nosuch", "--nosuch"),
        ("nosuch", "'nosuch'"),
    ],
)
def test_words_that_the_parser_cannot_read_end_with_code_2_and_no_traceback(words: str, names: str) -> None:
    finished = hms(*words.split(" "))
    assert finished.code == 2
    assert finished.out == ""
    assert "Traceback" not in finished.err
    assert names in finished.err


def test_an_unknown_scheduler_is_found_before_any_task_is_simulated() -> None:
    # 10 million tasks would take minutes; a name is checked first.
    refused(hms("compare", "-n", "10000000", "-s", "eft,oracel"), "did you mean 'oracle'?")


@pytest.mark.parametrize("words", ["compare --load 0", "capacity bad.csv", "run --rate 0 --scheduler rl_agent"])
def test_bad_tasks_are_refused_before_an_agent_is_trained(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.csv").write_text(TASKS.replace("300", "much"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HMS_CACHE_DIR", str(tmp_path / "cache"))
    refused(hms(*words.split()))
    assert not (tmp_path / "cache" / "models").exists()


def test_zero_gpus_are_no_error() -> None:
    finished = hms("bound", "-n", "5", "--gpus", "0")
    assert finished.code == 0
    assert finished.out.startswith("5 tasks on 1 node: 1 cpu\n")


def test_asking_for_a_graph_in_part_says_why_not(tmp_path: Path) -> None:
    (tmp_path / "graph.csv").write_text(
        "task_id,size,compute_intensity,memory_required,dependencies\n0,5,0.5,1,\n1,5,0.5,1,0\n", encoding="utf-8"
    )
    refused(hms("bound", "graph.csv", "-n", "1"), "dependencies cannot be cut", "whole")


def test_the_gpus_of_the_folders_config_are_the_default_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(options.build_cluster(None, None).gpus) == 4
    Path("config.yaml").write_text("num_gpus: 7\n", encoding="utf-8")
    assert len(options.build_cluster(None, None).gpus) == 7
    assert capsys.readouterr().err == "config.yaml of this folder: 7 GPUs (--gpus takes others)\n"
    assert len(options.build_cluster(None, 2).gpus) == 2
    Path("config.yaml").write_text("pipeline: {gpus: 3}\n", encoding="utf-8")
    assert len(options.build_cluster(None, None).gpus) == 3
    Path("config.yaml").write_text("num_gpus: many\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"num_gpus is 'many', expected a whole number"):
        options.build_cluster(None, None)


def test_options_behind_a_comma_belong_to_the_policy_before_them() -> None:
    specs = options.parse_schedulers("hierarchical:global=eft,local=spt, eft")
    assert specs == ("hierarchical:global=eft:local=spt", "eft")
    policy = registry.schedulers.create("hierarchical:global=eft,local=spt")
    assert [each.name for each in policy._levels] == ["eft", "spt"]


def test_the_schedulers_of_the_folders_config_are_the_default_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    featured = options.parse_schedulers("")
    for text in ("schedulers: [eft, greedy]\n", "schedulers: eft, greedy\n"):
        Path("config.yaml").write_text(text, encoding="utf-8")
        capsys.readouterr()
        assert options.parse_schedulers("") == ("eft", "greedy")
        assert capsys.readouterr().err == "config.yaml of this folder: eft, greedy (--schedulers takes others)\n"
        assert options.parse_schedulers("price") == ("price",)
        assert capsys.readouterr().err == ""
    Path("config.yaml").write_text("pipeline: {evaluation: {schedulers: [eft]}}\n", encoding="utf-8")
    assert options.parse_schedulers("") == featured
    Path("config.yaml").write_text("schedulers: 3\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"schedulers is 3, expected names"):
        options.parse_schedulers("")


def test_the_preset_of_the_folders_config_is_the_default_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert options.choose_workload("") == "mixed"
    Path("config.yaml").write_text("preset: bursty\n", encoding="utf-8")
    assert options.choose_workload("heavy") == "heavy"
    assert capsys.readouterr().err == ""
    assert options.choose_workload("") == "bursty"
    assert capsys.readouterr().err == "config.yaml of this folder: bursty (name another workload to take that)\n"
    Path("config.yaml").write_text("preset: 'upload:lab.csv'\n", encoding="utf-8")
    assert options.choose_workload("") == "mixed"
    assert "upload:lab.csv is for the service, mixed is taken here" in capsys.readouterr().err
    Path("config.yaml").write_text("preset: 3\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"preset is 3, expected a name"):
        options.choose_workload("")


def test_the_load_of_the_folders_config_is_the_default_for_presets_whose_tasks_arrive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert options.choose_load("mixed", None, None) is None
    Path("config.yaml").write_text("load: 0.5\n", encoding="utf-8")
    assert options.choose_load("mixed", 0.7, None) == 0.7
    for workload, rate in (("mixed", 3.0), ("cholesky", None), ("lab.csv", None)):
        assert options.choose_load(workload, None, rate) is None
    assert capsys.readouterr().err == ""
    assert options.choose_load("mixed", None, None) == 0.5
    assert capsys.readouterr().err == "config.yaml of this folder: load 0.5 (--load and --rate take others)\n"
    for wrong in ("load: many\n", "load: 0\n", "load: .nan\n"):
        Path("config.yaml").write_text(wrong, encoding="utf-8")
        with pytest.raises(InputError, match=r"load is .*, expected a number above 0"):
            options.choose_load("mixed", None, None)


def test_commands_take_preset_and_load_of_the_folders_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text("preset: long_tail\nload: 0.5\nnum_gpus: 2\n", encoding="utf-8")
    by_config = hms("generate", "-n", "20", "-o", "config.csv")
    assert "config.yaml of this folder: long_tail" in by_config.err
    Path("config.yaml").unlink()
    hms("generate", "long_tail", "-n", "20", "--load", "0.5", "--gpus", "2", "-o", "options.csv")
    assert Path("config.csv").read_bytes() == Path("options.csv").read_bytes()
