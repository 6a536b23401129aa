"""A registry knows names without importing what they stand for, and builds objects from specs and files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from helpers_cli import hms, python, refused
from hybrid_scheduler import Scheduler, VirtualMultiGPU, WorkloadGenerator
from hybrid_scheduler.errors import InputError, SchedulerError, UnknownNameError
from hybrid_scheduler.registry import PLUGIN_STYLES, Registry, describe, schedulers
from hybrid_scheduler.schedulers.oracle import Oracle
from hybrid_scheduler.schedulers.random import Random

HEAD = "from hybrid_scheduler import Scheduler, compiled\n"
LAST_GPU = HEAD + (
    "class LastGpu(Scheduler):\n"
    "    name = 'last_gpu'\n"
    "    def __init__(self, back: int = 1, seed: int = 99) -> None:\n"
    "        self.back, self.seed = back, seed\n"
    "    def choose(self, task, view):\n"
    "        return 1.0, view.gpus[len(view.gpus) - self.back]\n"
)
FUNCTION = "def first_gpu(task, view):\n    '''Always the same.'''\n    return 1.0, 1\n"


def _write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def _gpus(scheduler: Scheduler) -> set[int]:
    tasks = WorkloadGenerator(1).generate_preset("gpu_friendly", 12)
    return set(VirtualMultiGPU().run(tasks, scheduler).gpu.tolist())


# --- lazy ----------------------------------------------------------------------------------------------------


def test_importing_the_registry_imports_nothing_heavy_and_no_policy() -> None:
    heavy = ["matplotlib", "numba", "numpy", "pandas", "scipy", "yaml"]
    printed = python(
        "import sys\n"
        "from hybrid_scheduler.registry import schedulers\n"
        "assert 'oracle' in schedulers and len(list(schedulers)) >= 11\n"
        f"print([name for name in {heavy!r} if name in sys.modules])\n"
        "print([name for name in sys.modules if name.startswith('hybrid_scheduler.schedulers')])"
    )
    assert printed.splitlines() == ["[]", "[]"]


def test_importing_the_package_imports_nothing_heavy_until_a_name_is_used() -> None:
    printed = python(
        "import sys, hybrid_scheduler\n"
        "print('numpy' in sys.modules, 'numba' in sys.modules)\n"
        "hybrid_scheduler.Task\n"
        "print('numpy' in sys.modules, 'pandas' in sys.modules)"
    )
    assert printed.splitlines() == ["False False", "True False"]


def test_comparing_rules_loads_no_library_that_learns() -> None:
    printed = python(
        "import sys\n"
        "import hybrid_scheduler.studies.results, hybrid_scheduler.reports.comparison_report\n"
        "from hybrid_scheduler.studies.compare import Comparison, compare\n"
        "from hybrid_scheduler.workloads.source import Source\n"
        "print('numba' in sys.modules)\n"
        "compare(Comparison(Source.of('mixed', 20), ('eft',), seeds=(0,)))\n"
        "print([name for name in ('torch', 'sklearn', 'scipy.optimize') if name in sys.modules])"
    )
    assert printed.splitlines() == ["False", "[]"]


def test_every_built_in_policy_can_be_built_and_is_named_like_its_entry() -> None:
    for entry in schedulers:
        built = schedulers.create(entry.name)
        assert isinstance(built, Scheduler)
        assert built.name == entry.name
        assert entry.summary
        assert entry.clairvoyant == ("yes" if built.clairvoyant else "no")


# --- labels and styles ---------------------------------------------------------------------------------------


def _contrast_on_white(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.03928 else ((each + 0.055) / 1.055) ** 2.4 for each in channels]
    return 1.05 / (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)


def test_every_built_in_scheduler_has_its_own_label_colours_and_dash_and_the_featured_ones_markers() -> None:
    found = describe(each.name for each in schedulers.entries)
    markers = [found[name].style.marker for name in schedulers.featured]
    assert len(set(markers)) == len(markers)
    for trait in ("label", "short"):
        assert len({getattr(each, trait) for each in found.values()}) == len(found), trait
    for trait in ("light", "dark", "dash"):
        assert len({getattr(each.style, trait) for each in found.values()}) == len(found), trait


def test_no_plug_in_has_the_colours_or_the_dash_of_a_built_in_scheduler() -> None:
    styles = [*PLUGIN_STYLES, *(each.style for each in schedulers.entries if each.style)]
    for trait in ("light", "dark", "dash"):
        assert len({getattr(each, trait) for each in styles}) == len(styles), trait


def test_the_kind_of_a_built_in_scheduler_says_whether_it_knows_the_times() -> None:
    found = describe(each.name for each in schedulers.entries)
    clairvoyant = {"clairvoyant rule", "clairvoyant search", "reference"}
    assert all((found[each.name].kind in clairvoyant) == (each.clairvoyant == "yes") for each in schedulers.entries)
    assert [name for name, each in found.items() if each.kind == "reference"] == ["oracle"]
    assert "plug-in" not in {each.kind for each in found.values()}


def test_every_colour_can_be_read_on_white() -> None:
    styles = [*PLUGIN_STYLES, *(each.style for each in schedulers.entries if each.style)]
    assert min(_contrast_on_white(each.light) for each in styles) >= 4.5


def test_options_keep_name_kind_and_colour_of_their_scheduler_and_change_marker_and_dash() -> None:
    specs = ["hybrid_ml", "hybrid_ml:retrain_interval=10", "hybrid_ml:model=runs/7/forest.model:seed=1"]
    base, first, second = describe(specs).values()
    assert [first.label, second.label] == ["Hybrid ML (retrain_interval=10)", "Hybrid ML (model=forest, seed=1)"]
    assert {each.kind for each in (base, first, second)} == {"learner"}
    assert {(each.style.light, each.style.dark) for each in (base, first, second)} == {("#0b7a96", "#0fd7ff")}
    assert len({each.style.marker for each in (base, first, second)}) == 3
    assert len({each.style.dash for each in (base, first, second)}) == 3


def test_plug_ins_and_files_get_the_next_free_styles_in_the_order_in_which_they_come() -> None:
    specs = ["eft", "some/folder/mine.py:LastGpu:back=2", "shortest_queue", "some/folder/my_policy.py"]
    found = describe(specs)
    assert [each.label for each in found.values()] == ["EFT", "LastGpu (back=2)", "Shortest queue", "My policy"]
    assert {each.kind for each in list(found.values())[1:]} == {"plug-in"}
    assert len({each.style.light for each in found.values()}) == len(specs)
    assert describe(specs) == found


def test_every_name_of_the_package_can_be_imported_and_others_cannot() -> None:
    import hybrid_scheduler

    for name in hybrid_scheduler.__all__:
        assert getattr(hybrid_scheduler, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Clutser'"):
        _ = hybrid_scheduler.Clutser


# --- names and options ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("oracel", "oracle"),
        ("roundrobin", "round_robin"),
        ("min-min", "min_min"),
        ("hef", "heft"),
        ("ORACLE", "oracle"),
    ],
)
def test_a_mistyped_name_is_met_with_the_nearest_one(name: str, meant: str) -> None:
    known = ", ".join(sorted(schedulers.table))
    with pytest.raises(
        UnknownNameError, match=rf"unknown scheduler '{name}': did you mean '{meant}'\? known: {known}"
    ):
        schedulers.create(name)


def test_a_name_that_resembles_nothing_is_met_with_the_list_and_where_to_read_more() -> None:
    with pytest.raises(UnknownNameError) as caught:
        schedulers.create("qqqqqq")
    assert "did you mean" not in str(caught.value)
    assert str(caught.value).endswith(f"{max(schedulers.table)} (hms schedulers shows the table)")


def test_an_unknown_name_is_an_error_for_the_user_and_a_lookup_error() -> None:
    assert issubclass(UnknownNameError, SchedulerError)
    assert issubclass(UnknownNameError, LookupError)


@pytest.mark.parametrize(("text", "shares"), [("0.5", 3), ("0.25", 5), ("1", 2), ("5e-1", 3)])
def test_an_option_in_a_spec_reaches_the_policy(text: str, shares: int) -> None:
    built = schedulers.create(f"oracle:step={text}")
    assert isinstance(built, Oracle)
    assert len(built.shares) == shares


def test_an_option_in_a_spec_wins_over_the_default_of_the_caller() -> None:
    tasks = WorkloadGenerator(1).generate_preset("mixed", 20)
    lots = {}
    for spec, seed in (("random", 3), ("random:seed=3", 7), ("random", 7)):
        built = schedulers.create(spec, seed=seed)
        assert isinstance(built, Random)
        lots[spec, seed] = VirtualMultiGPU().run(tasks, built).gpu_fraction
    assert np.array_equal(lots["random", 3], lots["random:seed=3", 7])
    assert not np.array_equal(lots["random", 3], lots["random", 7])


def test_a_default_that_a_policy_does_not_take_is_not_handed_over() -> None:
    assert schedulers.create("eft", seed=3).name == "eft"


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("oracle:stepp=1", "unknown option of scheduler 'oracle': 'stepp': did you mean 'step'"),
        ("oracle:step", "'step' is no option, write name:option=value"),
        ("oracle:", "'' is no option, write name:option=value"),
        ("oracle:step=", "oracle"),
        ("oracle:step=0", "step is 0, expected a number from 0.0001 to 1"),
        ("oracle:step=x", "step is .x., expected a number"),
        ("", "unknown scheduler ''"),
    ],
)
def test_a_spec_that_makes_no_sense_is_an_error_for_the_user(spec: str, says: str) -> None:
    with pytest.raises(SchedulerError, match=says):
        schedulers.create(spec)


def test_words_numbers_and_truth_values_of_options_are_told_apart(tmp_path: Path) -> None:
    text = HEAD + "class Mine(Scheduler):\n    def __init__(self, **given):\n        self.given = given\n"
    text = text.replace("**given", "a, b, c, d, e, f").replace("= given", "= [a, b, c, d, e, f]")
    built = schedulers.create(f"{_write(tmp_path / 'mine.py', text)}:Mine:a=3:b=0.5:c=true:d=None:e=word:f=1e3")
    assert built.given == [3, 0.5, True, None, "word", 1000.0]
    assert [type(value) for value in built.given] == [int, float, bool, type(None), str, float]


def test_a_name_can_be_added_for_this_process() -> None:
    registry = Registry("scheduler", "no.such.group", ())
    assert list(registry) == []
    registry.add("mine", "hybrid_scheduler.schedulers.oracle:Oracle", "as an example")
    assert registry.create("mine:step=0.5").shares.tolist() == [0.0, 0.5, 1.0]
    assert [entry.summary for entry in registry] == ["as an example"]


def test_the_featured_ones_are_some_of_all() -> None:
    assert {"round_robin", "random", "greedy", "oracle"} <= set(schedulers.featured) < set(schedulers.table)


# --- files ---------------------------------------------------------------------------------------------------


def test_a_class_in_a_file_is_a_policy_with_options_and_the_seed_of_the_race(tmp_path: Path) -> None:
    path = _write(tmp_path / "mine.py", LAST_GPU)
    assert _gpus(schedulers.create(path)) == {4}
    assert _gpus(schedulers.create(f"{path}:LastGpu:back=2")) == {3}
    assert _gpus(schedulers.create(f"{path}:back=3")) == {2}
    assert schedulers.create(path, seed=5).seed == 5
    assert schedulers.create(f"{path}:seed=6", seed=5).seed == 6


def test_a_function_in_a_file_is_a_policy_named_after_it(tmp_path: Path) -> None:
    path = _write(tmp_path / "mine.py", FUNCTION)
    built = schedulers.create(f"{path}:first_gpu")
    assert built.name == "first_gpu"
    assert _gpus(built) == {1}


def test_a_compiled_function_in_a_file_decides_as_it_does_interpreted(tmp_path: Path) -> None:
    body = FUNCTION.replace("return 1.0, 1", "return task.compute_intensity, 1 + task.row % 2")
    path = _write(tmp_path / "mine.py", f"{HEAD}@compiled\n{body}")
    built = schedulers.create(path)
    tasks = WorkloadGenerator(1).generate_preset("mixed", 30)
    fast = VirtualMultiGPU().run(tasks, built)
    slow = VirtualMultiGPU().run(tasks, built, interpreted=True)
    assert set(fast.gpu.tolist()) == {1, 2}
    assert np.array_equal(fast.gpu_fraction, tasks.compute_intensity)
    assert np.array_equal(fast.finish, slow.finish)


def test_a_compiled_class_in_a_file_keeps_state_in_arrays(tmp_path: Path) -> None:
    path = _write(
        tmp_path / "mine.py",
        HEAD
        + (
            "import numpy as np\n"
            "class Turns(Scheduler):\n"
            "    name = 'turns'\n"
            "    def __init__(self, gpus: int = 2):\n"
            "        self.turn, self.number = np.zeros(1, np.int64), gpus\n"
            "    @compiled\n"
            "    def choose(self, task, view):\n"
            "        self.turn[0] += 1\n"
            "        return 1.0, 1 + self.turn[0] % self.number\n"
        ),
    )
    assert _gpus(schedulers.create(path)) == {1, 2}
    assert _gpus(schedulers.create(f"{path}:Turns:gpus=3")) == {1, 2, 3}


def test_helpers_that_begin_with_an_underscore_or_are_imported_are_no_policies(tmp_path: Path) -> None:
    text = "from math import sqrt\n" + FUNCTION + "def _helper(x):\n    return x\n"
    assert _gpus(schedulers.create(_write(tmp_path / "mine.py", text))) == {1}


def test_a_dataclass_in_a_file_is_a_policy_too(tmp_path: Path) -> None:
    text = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom typing import ClassVar\n"
        "from hybrid_scheduler import Scheduler\n"
        "@dataclass\nclass Fixed(Scheduler):\n"
        "    name: ClassVar[str] = 'fixed'\n"
        "    device: int = 2\n"
        "    def choose(self, task, view):\n        return 1.0, self.device\n"
    )
    path = _write(tmp_path / "mine.py", text)
    assert _gpus(schedulers.create(path)) == {2}
    assert _gpus(schedulers.create(f"{path}:Fixed:device=3")) == {3}


def test_two_files_of_one_name_are_two_policies(tmp_path: Path) -> None:
    specs = []
    for gpu in (1, 2):
        (tmp_path / str(gpu)).mkdir()
        specs.append(_write(tmp_path / str(gpu) / "mine.py", FUNCTION.replace("1.0, 1", f"1.0, {gpu}")))
    assert [_gpus(schedulers.create(spec)) for spec in specs] == [{1}, {2}]


def test_an_edited_file_is_read_again_even_within_the_second_and_with_the_same_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "mine.py"
    found = []
    for gpu in (1, 3):
        _write(path, FUNCTION.replace("1.0, 1", f"1.0, {gpu}"))
        os.utime(path, (1_700_000_000, 1_700_000_000))
        found.append(_gpus(schedulers.create(str(path))))
    assert found == [{1}, {3}]


@pytest.mark.parametrize(
    ("text", "suffix", "says"),
    [
        (LAST_GPU, ":LastCpu", "unknown policy in .*mine.py: 'LastCpu': did you mean 'LastGpu'"),
        (LAST_GPU + FUNCTION, "", "LastGpu, first_gpu .*write .*mine.py:Name"),
        (LAST_GPU, ":LastGpu:forward=1", "'forward': .*known: back, seed"),
        (FUNCTION, ":first_gpu:back=1", "'first_gpu' takes no options, got back"),
        ("def broken(:\n", "", "mine.py cannot be imported .SyntaxError: .*line 1"),
    ],
)
def test_a_file_without_the_policy_that_was_meant_says_so(text: str, suffix: str, says: str, tmp_path: Path) -> None:
    path = _write(tmp_path / "mine.py", text)
    with pytest.raises(SchedulerError, match=says):
        schedulers.create(path + suffix)


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir()], ids=["missing", "a folder"])
def test_a_policy_file_that_is_no_file_is_refused(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "mine.py")
    with pytest.raises(InputError, match=r"policy file .*mine\.py"):
        schedulers.create(str(tmp_path / "mine.py"))


# --- plug-ins ------------------------------------------------------------------------------------------------

PLUGIN = (
    "from hybrid_scheduler import Scheduler\n"
    "class Second(Scheduler):\n"
    "    name = 'second'\n"
    "    def choose(self, task, view):\n"
    "        return 1.0, 2\n"
    "def third(task, view):\n"
    "    return 1.0, 3\n"
    "no_policy = 5\n"
)


@pytest.fixture
def _plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a package that brings policies, as far as this interpreter can tell."""
    site = tmp_path / "site"
    info = site / "hms_second-1.0.dist-info"
    info.mkdir(parents=True)
    _write(site / "hms_second.py", PLUGIN)
    _write(info / "METADATA", "Metadata-Version: 2.1\nName: hms-second\nVersion: 1.0\n")
    _write(
        info / "entry_points.txt",
        "[hybrid_scheduler.schedulers]\nsecond = hms_second:Second\nthird = hms_second:third\n"
        "eft = hms_second:Second\nlost = hms_lost:Lost\nabsent = hms_second:Absent\nnumber = hms_second:no_policy\n",
    )
    assert "eft" in schedulers.table  # so that what is installed without the package comes back afterwards
    monkeypatch.delitem(vars(schedulers), "_installed")
    monkeypatch.syspath_prepend(site)
    yield
    sys.modules.pop("hms_second", None)


@pytest.mark.usefixtures("_plugin")
def test_a_plug_in_is_listed_raced_and_cannot_take_a_built_in_name() -> None:
    rows = json.loads(hms("schedulers", "--json").out)["schedulers"]
    assert rows["second"]["module"] == "hms_second:Second"
    assert "hms_second" in rows["second"]["summary"]
    assert rows["eft"]["module"] == "hybrid_scheduler.schedulers.eft:EarliestFinish"
    table = hms("schedulers")
    assert "second" in table.out
    assert "third" in table.out
    raced = hms("compare", "-n", "30", "--seeds", "1", "-s", "second,third,eft", "--json")
    assert raced.code == 0, raced.err
    figures = json.loads(raced.out)["schedulers"]
    assert list(figures) == ["second", "third", "eft"]
    # Either plug-in keeps to one of four equal GPUs, so both end alike and behind who uses all.
    assert figures["second"]["makespan"] == figures["third"]["makespan"] > figures["eft"]["makespan"]


@pytest.mark.usefixtures("_plugin")
@pytest.mark.parametrize(
    ("name", "says"),
    [("lost", ["lost", "hms_lost"]), ("absent", ["absent", "Absent"]), ("number", ["number"])],
)
def test_a_broken_plug_in_is_named_in_one_line(name: str, says: list[str]) -> None:
    refused(hms("compare", "-n", "5", "--seeds", "1", "-s", name), *says)


def test_options_carry_type_default_and_help() -> None:
    gamma = schedulers.options("rl_agent")[0]
    assert (gamma.name, gamma.kind, gamma.default) == ("gamma", "float", 0.9)
    assert "discount" in gamma.help
    assert schedulers.options("eft") == []


@pytest.mark.parametrize("name", sorted(schedulers.table))
def test_every_option_of_every_scheduler_is_explained(name: str) -> None:
    assert [each.name for each in schedulers.options(name) if not each.help and each.name != "seed"] == []


def test_an_agent_from_nothing_waits_for_no_lessons() -> None:
    assert schedulers.create("rl_agent:model=none").model == "none"
    assert schedulers.create("rl_agent").model == "auto"
