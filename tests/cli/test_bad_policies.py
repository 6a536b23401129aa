"""One's own policy that cannot be used ends in one line that names it, the task and what is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers_cli import files_in, hms, refused

HEAD = "from hybrid_scheduler import Scheduler, compiled\n"
CLASS = HEAD + "class Mine(Scheduler):\n    name = 'mine'\n    def choose(self, task, view):\n        return {}\n"
COMPILED = CLASS.replace("    def choose", "    @compiled\n    def choose")
FUNCTION = "def mine(task, view):\n    return {}\n"
COMPILED_ANSWER = (
    HEAD + "class Mine(Scheduler):\n    name = 'mine'\n    def __init__(self, share: float, device: int) -> None:\n"
    "        self.share, self.device = share, device\n"
    "    @compiled\n    def choose(self, task, view):\n        return self.share, self.device\n"
)
COMPILED_FUNCTION = HEAD + "@compiled\n" + FUNCTION

ANSWERS: dict[str, tuple[str, list[str]]] = {
    "a share of 2": ("(2.0, 1)", ["'mine'", "gpu_fraction 2", "task 0", "row 0", "from 0 to 1"]),
    "a share of -0.1": ("(-0.1, 1)", ["'mine'", "gpu_fraction -0.1", "from 0 to 1"]),
    "a share that is NaN": ("(float('nan'), 1)", ["'mine'", "gpu_fraction nan", "from 0 to 1"]),
    "GPU 9": ("(1.0, 9)", ["'mine'", "device 9", "task 0", "devices are 0 to 4"]),
    "device -1": ("(1.0, -1)", ["'mine'", "device -1", "devices are 0 to 4"]),
    "a GPU share for the CPU": ("(0.5, 0)", ["'mine'", "device 0", "is a CPU", "GPUs are 1, 2, 3, 4"]),
    "None": ("None", ["'mine'", "None", "row 0", "(gpu_fraction, device)"]),
    "a string": ("'gpu'", ["'mine'", "'gpu'", "row 0", "(gpu_fraction, device)"]),
    "a string of two letters": ("'12'", ["'mine'", "'12'", "(gpu_fraction, device)"]),
    "one number": ("1.0", ["'mine'", "1.0", "(gpu_fraction, device)"]),
    "three numbers": ("(1.0, 1, 2)", ["'mine'", "(1.0, 1, 2)", "(gpu_fraction, device)"]),
    "a device that is a fraction": ("(1.0, 1.5)", ["'mine'", "(1.0, 1.5)", "(gpu_fraction, device)"]),
    "a device of 400 digits": ("(1.0, 10**400)", ["'mine'", "device", "0 to 4"]),
}

FILES: dict[str, tuple[str, str, list[str]]] = {
    "a syntax error": ("def mine(task, view)\n    return 1\n", "", ["SyntaxError", "line 1"]),
    "no policy": ("x = 1\n", "", ["policy"]),
    "nothing": ("", "", ["policy"]),
    "another name": (CLASS, ":Main", ["'Main'", "did you mean 'Mine'?", "policy.py:Name"]),
    "two policies and no name": (CLASS + CLASS.replace("Mine", "Yours"), "", ["Mine, Yours", "policy.py:Name"]),
    "an import that fails": ("import nowhere_to_be_found\n", "", ["ModuleNotFoundError", "nowhere_to_be_found"]),
    "an error when imported": ("1 / 0\n", "", ["ZeroDivisionError", "division by zero"]),
    "an error of two lines": ("raise ValueError('one\\ntwo')\n", "", ["ValueError", "one", "two"]),
    "an exit when imported": ("import sys\nsys.exit(7)\n", "", ["cannot be imported", "SystemExit"]),
    "a class that is no scheduler": ("class Mine:\n    pass\n", "", ["policy.py", "choose"]),
    "a scheduler without choose": (HEAD + "class Mine(Scheduler):\n    name = 'mine'\n", "", ["'mine'", "choose"]),
    "a function of one argument": ("def mine(task):\n    return 1.0, 1\n", "", ["mine", "task", "view"]),
    "a constructor that needs more": (
        HEAD + "class Mine(Scheduler):\n    def __init__(self, x):\n        self.x = x\n",
        "",
        ["Mine", "'x'", "check its options"],
    ),
    "an unknown option": (CLASS, ":Mine:x=1", ["x", "option"]),
    "an option of a function": (FUNCTION.format("(1.0, 1)"), ":mine:x=1", ["'mine'", "takes no options", "x"]),
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module", autouse=True)
def _oracle_is_compiled() -> None:
    # Every race runs the oracle beside the policy; its loop is kept on disk from here on.
    assert hms("compare", "-n", "5", "--seeds", "1", "-s", "oracle").code == 0


def _compare(spec: str) -> list[str]:
    return ["compare", "-n", "5", "--seeds", "1", "-s", spec, "--out", "run", "--plot", "figure.png"]


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("source", [CLASS, FUNCTION], ids=["a class", "a function"])
def test_an_impossible_answer_names_the_policy_the_task_and_what_is_allowed(
    source: str, name: str, tmp_path: Path
) -> None:
    answer, says = ANSWERS[name]
    (tmp_path / "policy.py").write_text(source.format(answer), encoding="utf-8")
    before = files_in(tmp_path)
    refused(hms(*_compare("policy.py")), "scheduler", *says)
    assert files_in(tmp_path) == before


@pytest.fixture(scope="module")
def nothing_kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    # Compiled anew in every run of the tests, so that what is said on the way is the same in every run.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HMS_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("name", ["a share of 2", "a share that is NaN", "GPU 9", "a GPU share for the CPU"])
def test_a_compiled_policy_is_checked_like_an_interpreted_one(name: str, tmp_path: Path) -> None:
    """The answer is an option, so that all of them share one compiled loop."""
    answer, says = ANSWERS[name]
    (tmp_path / "policy.py").write_text(COMPILED_ANSWER, encoding="utf-8")
    share, device = answer.replace("float('nan')", "nan").strip("()").split(", ")
    refused(hms(*_compare(f"policy.py:Mine:share={share}:device={device}")), *says)


@pytest.mark.usefixtures("nothing_kept")
def test_a_compiled_policy_function_is_checked_like_an_interpreted_one(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(COMPILED_FUNCTION.format("(1.0, 9)"), encoding="utf-8")
    refused(hms(*_compare("policy.py:mine")), "'mine'", "device 9", "devices are 0 to 4")


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("answer", ["None", "'gpu'"])
def test_a_compiled_policy_without_a_pair_of_numbers_says_that_it_cannot_be_compiled(
    answer: str, tmp_path: Path
) -> None:
    (tmp_path / "policy.py").write_text(COMPILED.format(answer), encoding="utf-8")
    refused(hms(*_compare("policy.py")), "Mine.choose cannot be compiled", "remove @compiled")


def test_the_task_that_got_an_impossible_answer_is_named_by_its_id(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(FUNCTION.format("(1.0 + (task.row == 2), 1)"), encoding="utf-8")
    (tmp_path / "tasks.csv").write_text(
        "task_id,size,compute_intensity,memory_required\n70,9,0.5,1\n80,9,0.5,1\n90,9,0.5,1\n", encoding="utf-8"
    )
    refused(hms("compare", "tasks.csv", "-s", "policy.py", "--seeds", "1"), "task 90 (row 2)", "gpu_fraction 2")


@pytest.mark.parametrize("name", FILES)
def test_a_policy_file_that_cannot_be_used_is_named_with_the_reason(name: str, tmp_path: Path) -> None:
    text, suffix, says = FILES[name]
    (tmp_path / "policy.py").write_text(text, encoding="utf-8")
    before = files_in(tmp_path)
    refused(hms(*_compare(f"policy.py{suffix}")), *says)
    assert files_in(tmp_path) == before


@pytest.mark.parametrize("spec", ["nowhere.py", "nowhere.py:Mine", "folder.py:Mine"])
def test_a_missing_policy_file_is_named(spec: str, tmp_path: Path) -> None:
    (tmp_path / "folder.py").mkdir()
    refused(hms(*_compare(spec)), f"policy file {spec.split(':')[0]}", "check the path")


def test_a_binary_policy_file_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_bytes(bytes(range(256)))
    refused(hms(*_compare("policy.py")), "policy.py", "cannot be imported")
