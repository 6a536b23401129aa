"""Compiled policies: one decorator, same results, never stale, and clear words when it cannot be done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid_scheduler import registry
from hybrid_scheduler.core import compiler as module
from hybrid_scheduler.core import simulator
from hybrid_scheduler.core.compiler import cache_directory, compiled, fingerprint, is_compiled, no_inline
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.view import TaskView, View, least_loaded_gpu
from hybrid_scheduler.errors import PolicyError
from hybrid_scheduler.schedulers.eft import EarliestFinish
from hybrid_scheduler.schedulers.scheduler import Scheduler, from_function
from instances import workload


class Threshold(Scheduler):
    """Small tasks stay on the CPU; counts its decisions in an array."""

    name = "threshold"

    def __init__(self, cut: float = 1000.0) -> None:
        self.cut = cut
        self.count = np.zeros(2, np.int64)
        self._hidden = "not part of the compiled self"

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        big = task.size > self.cut
        self.count[int(big)] += 1
        return (1.0, least_loaded_gpu(view)) if big else (0.0, 0)


class _Even(Scheduler):
    """A policy with one field."""

    name = "even"

    def __init__(self) -> None:
        self.gpu = 0

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        return 1.0, 1 + self.gpu


class _Odd(_Even):
    """Another one with the same field."""

    name = "odd"

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        return 1.0, 2 + self.gpu


def test_a_compiled_method_reads_the_objects_numbers_and_changes_its_arrays() -> None:
    tasks = workload("mixed", 300)
    one, other = Threshold(2500.0), Threshold(2500.0)
    fast = VirtualMultiGPU().run(tasks, one)
    slow = VirtualMultiGPU().run(tasks, other, interpreted=True)
    assert np.array_equal(fast.finish, slow.finish)
    assert one.count.tolist() == other.count.tolist() == [(tasks.size <= 2500).sum(), (tasks.size > 2500).sum()]


def test_options_of_a_compiled_policy_take_effect_without_compiling_again() -> None:
    tasks = workload("mixed", 50)
    assert (VirtualMultiGPU().run(tasks, Threshold(0.0)).gpu_fraction == 1.0).all()
    before = len(module._loops)
    assert (VirtualMultiGPU().run(tasks, Threshold(1e9)).gpu_fraction == 0.0).all()
    assert len(module._loops) == before


def test_one_loop_does_not_slow_down_another_whose_scheduler_has_the_same_fields(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Numba knows tuples by their names: of two that are alike in theirs, one asks Python for types at every call."""
    from numba.core.dispatcher import Dispatcher

    tasks, lanes = workload("mixed", 300), [Lane(_Even(), VirtualMultiGPU()), Lane(_Odd(), VirtualMultiGPU())]
    for lane in lanes:
        lane.run(tasks)
    asked = list[Any]()
    ask = Dispatcher.typeof_pyval

    def note(dispatcher: Dispatcher, value: Any) -> Any:
        asked.append(value)
        return ask(dispatcher, value)

    monkeypatch.setattr(Dispatcher, "typeof_pyval", note)
    for lane in lanes:
        lane.run(tasks)
    assert asked == []


def test_a_compiled_policy_may_allocate_arrays() -> None:
    @compiled
    def spread(task: Any, view: Any) -> tuple[float, int]:
        waits = np.zeros(len(view.gpus))
        for k, gpu in enumerate(view.gpus):
            waits[k] = view.free[gpu]
        return 1.0, view.gpus[np.argmin(waits)]

    tasks = workload("mixed", 100)
    scheduler = from_function(spread)
    fast = VirtualMultiGPU().run(tasks, scheduler)
    assert np.array_equal(fast.finish, VirtualMultiGPU().run(tasks, scheduler, interpreted=True).finish)


def test_a_loop_is_interpreted_until_that_has_cost_as_much_as_compiling_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HMS_CACHE_DIR", str(tmp_path))
    for name in ("_loops", "_spent", "_next_look"):
        monkeypatch.setattr(module, name, {})
    tasks, lane = workload("mixed", 300), Lane(EarliestFinish(), VirtualMultiGPU())
    first = lane.run(tasks)
    assert not module._loops
    assert sum(module._spent.values()) > 0
    monkeypatch.setattr(module, "COMPILE_SECONDS", 0.0)
    compiled_run = Lane(EarliestFinish(), VirtualMultiGPU()).run(tasks)
    assert len(module._loops) == 1
    assert np.array_equal(first.finish, compiled_run.finish)


@pytest.mark.parametrize("name", ["min_min", "gcmu", "maxweight", "heteroprio"])
def test_policies_that_look_at_all_that_waits_are_interpreted_as_long_as_few_tasks_wait(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HMS_CACHE_DIR", str(tmp_path))
    for each in ("_loops", "_spent", "_next_look"):
        monkeypatch.setattr(module, each, {})
    tasks, policy, machine = workload("mixed", 60), registry.schedulers.create(name), VirtualMultiGPU()
    plain = machine.run(tasks, policy, interpreted=None)
    assert not module._loops
    assert np.array_equal(plain.finish, machine.run(tasks, policy, interpreted=True).finish)
    monkeypatch.setattr(module, "LARGE_BLOCK", 60 * 5 * 60 // simulator.PAIRS_PER_DECISION - 1)
    assert np.array_equal(plain.finish, machine.run(tasks, policy, interpreted=None).finish)
    assert len(module._loops) == 1


def test_small_blocks_are_interpreted_until_that_has_cost_as_much_as_loading_a_compiled_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HMS_CACHE_DIR", str(tmp_path))
    for name in ("_loops", "_spent", "_next_look"):
        monkeypatch.setattr(module, name, {})
    tasks = workload("mixed", 40)
    VirtualMultiGPU().run(tasks, EarliestFinish())  # compiled, and in the cache from here on
    monkeypatch.setattr(module, "_loops", {})
    first = [Lane(EarliestFinish(), VirtualMultiGPU()).run(tasks.part(0, count)).finish for count in (1, 4)]
    assert not module._loops
    monkeypatch.setattr(module, "LOAD_SECONDS", 0.0)
    assert np.array_equal(Lane(EarliestFinish(), VirtualMultiGPU()).run(tasks.part(0, 1)).finish, first[0])
    assert not module._loops
    assert np.array_equal(Lane(EarliestFinish(), VirtualMultiGPU()).run(tasks.part(0, 4)).finish, first[1])
    assert len(module._loops) == 1


def test_a_loop_that_another_process_only_began_to_compile_is_interpreted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HMS_CACHE_DIR", str(tmp_path))
    for name in ("_loops", "_spent", "_next_look"):
        monkeypatch.setattr(module, name, {})
    tasks = workload("mixed", 40)
    VirtualMultiGPU().run(tasks, EarliestFinish())
    monkeypatch.setattr(module, "_loops", {})
    for compiled_file in (tmp_path / "__pycache__").iterdir():
        compiled_file.unlink()
    assert list(tmp_path.glob("EarliestFinish_*.py")), "the markers are there"
    Lane(EarliestFinish(), VirtualMultiGPU()).run(tasks)
    assert not module._loops


@pytest.mark.parametrize("name", ["eft", "hybrid_ml", "rl_agent"])
def test_small_blocks_are_interpreted_and_large_ones_compiled_to_the_same_bits(name: str) -> None:
    tasks = workload("mixed", 120)
    runs = []
    for sizes in ([5] * 24, [120]):  # the larger of both is above the limit
        machine, scheduler, parts, first = VirtualMultiGPU(), registry.schedulers.create(name, seed=1), [], 0
        scheduler.learn_every = 0
        lane = Lane(scheduler, machine)
        for size in sizes:
            progress = lane.run_on(tasks.part(first, first + size))
            parts += [progress.block, *([progress.earlier] if progress.earlier else [])]
            first += size
        runs.append({int(i): f for p in parts for i, f in zip(p.tasks.task_id, p.finish, strict=True) if f == f})
    shared = runs[0].keys() & runs[1].keys()
    assert len(shared) > 60
    assert [runs[0][each] for each in sorted(shared)] == [runs[1][each] for each in sorted(shared)]


def _doubling(values: Any, out: Any) -> None:
    for at in range(len(values)):
        out[at] = 2.0 * values[at] / values[at]


def test_a_kernel_is_plain_python_for_short_inputs_until_that_has_cost_as_much_as_compiling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine_code: list[object] = []

    def jit(function: Any) -> Any:
        machine_code.append(function)
        return function

    monkeypatch.setattr(module, "jit", jit)
    values, out = np.arange(150.0), np.empty(150)
    late, later = module.jit_late(_doubling), module.jit_later(_doubling)
    later(values, out)  # 0 / 0 without a warning, as machine code does it
    assert np.isnan(out[0])
    assert (out[1:] == 2.0).all()
    assert not machine_code
    monkeypatch.setattr(module, "RENT_SECONDS", 0.0)
    with np.errstate(all="ignore"):
        later(values[:100], out)
        assert not machine_code
        later(values, out)
        assert len(machine_code) == 1
        late(values, out)
        assert len(machine_code) == 2


def test_a_kernel_that_was_compiled_before_is_read_from_the_disk_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[object] = []
    monkeypatch.setattr(module, "LOAD_KERNEL_SECONDS", 1e-9)
    monkeypatch.setattr(module, "_is_kept", lambda function: kept)
    monkeypatch.setattr(module, "jit", lambda _: lambda *_: "machine code")
    later, values, out = module.jit_later(_doubling), np.arange(150.0), np.empty(150)
    assert [later(values, out), later(values, out)] == [None, None]
    kept.append(later)
    answers = [
        later(values, out) for _ in range(1000)
    ]  # it looks when it has spent twice as much as at the last look
    assert "machine code" in answers
    assert answers == sorted(answers, key=str)


@module.kernel
def _half(value: float) -> float:
    return 0.5 * value


@module.jit
def _quarter(value: float) -> float:
    return _half(_half(value))


def test_a_kernel_that_nothing_has_called_yet_may_be_called_from_compiled_code() -> None:
    assert _quarter(1.0) == 0.25


def test_policies_of_others_are_compiled_as_they_ask_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HMS_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(module, "_loops", {})
    Lane(Threshold(), VirtualMultiGPU()).run(workload("mixed", 3))
    assert len(module._loops) == 1


def test_what_cannot_be_compiled_is_explained_in_one_line() -> None:
    class Assigns(Scheduler):
        name = "assigns"

        def __init__(self) -> None:
            self.turn = 0

        @compiled
        def choose(self, task: TaskView, view: View) -> tuple[float, int]:
            self.turn = self.turn + 1
            return 0.0, 0

    with pytest.raises(PolicyError) as error:
        VirtualMultiGPU().run(workload("mixed", 5), Assigns())
    assert "cannot be compiled" in str(error.value)
    assert "remove @compiled" in str(error.value)
    assert "\n" not in str(error.value)


def test_the_fingerprint_follows_the_code_its_constants_and_what_it_calls() -> None:
    def build(number: float) -> Any:
        source = f"def helper(x):\n    return x + {number}\ndef choose(task, view):\n    return helper(task), 0\n"
        names: dict[str, Any] = {}
        exec(source, names)  # noqa: S102  # two versions of one policy
        return names["choose"]

    assert fingerprint(build(1.0)) == fingerprint(build(1.0))
    assert fingerprint(build(1.0)) != fingerprint(build(2.0))


def test_plain_methods_are_not_compiled() -> None:
    assert is_compiled(Threshold.choose)
    assert not is_compiled(Scheduler.choose)


def test_the_cache_directory_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HMS_CACHE_DIR", str(tmp_path / "here"))
    assert cache_directory() == tmp_path / "here"


def test_an_unusable_cache_directory_falls_back_to_a_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("HMS_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert cache_directory().is_dir()


@pytest.mark.parametrize("theirs", ["writable by all", "a link"])
def test_a_temporary_folder_that_others_may_fill_is_not_used(
    theirs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HMS_CACHE_DIR", str(tmp_path / "file" / "cache"))
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spare = cache_directory()
    assert spare.parent == tmp_path
    assert spare.stat().st_mode & 0o077 == 0
    if theirs == "a link":
        spare.rename(tmp_path / "elsewhere")
        spare.symlink_to(tmp_path / "elsewhere")
    else:
        spare.chmod(0o777)
    with pytest.raises(PolicyError, match="no writable folder"):
        cache_directory()


def build_policy(cut: float) -> Scheduler:
    """Return a policy made anew, as another process would: it calls a function that any policy may call."""
    names: dict[str, Any] = {}
    exec("def is_above(size, cut):\n    return size > cut\n", names)  # noqa: S102  # the same lines, another function
    is_above = no_inline(names["is_above"])

    @compiled
    def split(task: Any, view: Any) -> tuple[float, int]:
        return (1.0, least_loaded_gpu(view)) if is_above(task.size, cut) else (0.0, 0)

    return from_function(split)


def test_what_policies_share_is_compiled_once_and_anew_if_its_file_is_torn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HMS_CACHE_DIR", str(tmp_path))
    tasks, written = workload("mixed", 20), []
    for cut in (1000.0, 2500.0, 4000.0):
        run = VirtualMultiGPU().run(tasks, build_policy(cut))
        assert np.array_equal(run.gpu_fraction == 1.0, tasks.size > cut)
        files = list(tmp_path.rglob("is_above_*.nb?"))
        assert len(files) == 2  # the index and the code
        written.append({file: file.stat().st_mtime_ns for file in files})
        if cut == 2500.0:
            for file in files:
                file.write_bytes(b"damaged")
    assert written[1] == written[0]
    assert not any(file.read_bytes() == b"damaged" for file in files)


def test_a_torn_file_in_the_cache_is_compiled_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HMS_CACHE_DIR", str(tmp_path))
    tasks = workload("mixed", 20)
    makespans = []
    for _ in range(2):
        monkeypatch.setattr(module, "_loops", {})
        makespans.append(VirtualMultiGPU().run(tasks, Threshold()).makespan)
        files = list(tmp_path.rglob("*.nbc"))
        assert files
        for file in files:
            file.write_bytes(b"damaged")
    assert makespans[0] == makespans[1]
