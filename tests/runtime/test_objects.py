"""The object store: data stays where it was made, is sent once, freed in time, and never left behind."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
import pytest

from hybrid_scheduler import HybridScheduler, task
from hybrid_scheduler.runtime.backend import LocalBackend
from hybrid_scheduler.runtime.devices import parse_devices
from hybrid_scheduler.runtime.jobs import TaskFuture, load_stored
from hybrid_scheduler.runtime.objects import (
    FREE,
    MIN_BUFFER,
    ObjectLostError,
    SegmentFiles,
    SharedMemoryStore,
    StoredObject,
    Token,
)
from real_programs import start

LENGTH = 200_000  # numbers in an array: 1.6 MB
DEADLINE = 300.0
Array = np.ndarray[Any, np.dtype[np.float64]]


def make(value: float, runs: str = "") -> Array:
    if runs:
        with Path(runs).open("a", encoding="utf-8") as file:
            file.write("x")
    return np.full(LENGTH, value)


def add(one: Array, other: Array) -> Array:
    return one + other


def spoil(array: Array) -> float:
    array[:] = -1.0
    return float(array.sum())


def mean(array: Array) -> float:
    return float(array.mean())


def mean_of_all(arrays: list[Array]) -> float:
    return float(np.mean(arrays))


def die_with_segment(path: str) -> Array:
    """Die after the result was written the first time, before it was reported."""
    if not Path(path).exists():
        Path(path).touch()
        from hybrid_scheduler.runtime import worker

        def die(*_: Any) -> bytes:
            os.kill(os.getpid(), signal.SIGKILL)
            return b""

        worker.ANSWER = type("Deadly", (), {"pack": die})()  # of this process alone
    return np.ones(LENGTH)


@task(size=lambda array: float(len(array)))
def length(array: Array) -> int:
    return len(array)


@pytest.fixture(scope="module")
def scheduler() -> Iterator[HybridScheduler]:
    with HybridScheduler(devices="cpu*2") as scheduler:
        yield scheduler


def store_of(scheduler: HybridScheduler) -> SharedMemoryStore:
    assert isinstance(scheduler.backend.objects, SharedMemoryStore)
    return scheduler.backend.objects


def segments(scheduler: HybridScheduler) -> list[str]:
    return list_segments(store_of(scheduler).folders[0])


def list_segments(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir() if path.name not in ("lock", FREE))


def wait_until_empty(scheduler: HybridScheduler) -> None:
    deadline = time.monotonic() + DEADLINE
    while segments(scheduler):
        gc.collect()
        assert time.monotonic() < deadline, segments(scheduler)
        time.sleep(0.01)


def done(future: Future[Any]) -> TaskFuture:
    assert future.exception(DEADLINE) is None
    assert isinstance(future, TaskFuture)
    return future


def test_a_result_reaches_the_driver_when_it_is_asked_for_and_is_the_same_object_then(
    scheduler: HybridScheduler,
) -> None:
    future = done(scheduler.submit(make, 3.0))
    assert isinstance(future.refer(), StoredObject)
    assert future.result() is future.result()
    assert future.result().mean() == 3.0


def test_futures_as_arguments_are_references_also_inside_containers(scheduler: HybridScheduler) -> None:
    one, other = scheduler.submit(make, 1.0), scheduler.submit(make, 2.0)
    both = scheduler.submit(add, one, other)
    every: list[Any] = [one, other, both]
    assert scheduler.submit(mean_of_all, every).result(DEADLINE) == 2.0
    assert all(isinstance(each, TaskFuture) and each._loaded is None for each in (one, other, both))


def test_what_a_task_does_to_its_argument_is_seen_by_nobody_else(scheduler: HybridScheduler) -> None:
    array, future = np.ones(LENGTH), scheduler.submit(make, 1.0)
    for each in (array, future):
        assert scheduler.submit(spoil, each).result(DEADLINE) == -LENGTH
        assert scheduler.submit(mean, each).result(DEADLINE) == 1.0
    assert array.mean() == 1.0
    future.result()[:] = 7.0
    assert scheduler.submit(mean, future).result(DEADLINE) == 1.0


def test_segments_are_removed_with_the_last_reference(scheduler: HybridScheduler) -> None:
    wait_until_empty(scheduler)
    made = done(scheduler.submit(make, 1.0))
    assert len(segments(scheduler)) == 1
    assert store_of(scheduler).used == 8 * LENGTH
    array = made.result()
    del made
    wait_until_empty(scheduler)
    assert store_of(scheduler).used == 0
    assert array.mean() == 1.0, "what was asked for stays"


def test_a_segment_that_is_being_removed_is_handed_out_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread, whose call has the same array, may look for it in the middle of the removal."""
    store, seen = SharedMemoryStore(), list[Any]()
    store.start()
    try:
        segment = store.put([bytes(MIN_BUFFER)])
        known, remove = ref(segment), store.remove

        def look_and_remove(token: Token) -> None:
            seen.append(known())
            remove(token)

        monkeypatch.setattr(store, "remove", look_and_remove)
        assert store.used == MIN_BUFFER
        del segment
        assert seen == [None]
        assert store.used == 0
        assert not list_segments(store.folders[0])
    finally:
        store.close()


def test_an_array_of_many_calls_is_written_once_and_again_when_it_has_changed(scheduler: HybridScheduler) -> None:
    wait_until_empty(scheduler)
    array = np.ones((2, LENGTH))
    first = [scheduler.submit(mean, array) for _ in range(30)]
    assert [each.result(DEADLINE) for each in first] == [1.0] * 30
    assert len(segments(scheduler)) == 1
    kept = segments(scheduler)
    assert scheduler.submit(mean_of_all, [array, array]).result(DEADLINE) == 1.0
    assert segments(scheduler) == kept
    array[:] = 2.0
    assert scheduler.submit(mean, array).result(DEADLINE) == 2.0
    del array
    wait_until_empty(scheduler)


def test_scattered_data_is_sent_once_and_may_be_small(scheduler: HybridScheduler) -> None:
    wait_until_empty(scheduler)
    large, small = scheduler.scatter(np.ones(LENGTH)), scheduler.scatter([1.0, 3.0])
    assert len(segments(scheduler)) == 1
    assert [scheduler.submit(mean, large).result(DEADLINE) for _ in range(3)] == [1.0] * 3
    assert scheduler.submit(sum, small).result(DEADLINE) == 4.0
    assert small.result() == [1.0, 3.0]


def test_features_are_functions_of_values_not_of_references(scheduler: HybridScheduler) -> None:
    assert scheduler.submit(length, scheduler.submit(make, 1.0)).result(DEADLINE) == LENGTH


@pytest.mark.parametrize("value", [b"x" * (2 * MIN_BUFFER), ["word" * 9] * 50_000, np.asfortranarray(np.eye(300))])
def test_large_values_of_every_kind_go_there_and_back(scheduler: HybridScheduler, value: Any) -> None:
    future = done(scheduler.submit(echo, value))
    assert isinstance(future.refer(), StoredObject)
    assert np.array_equal(future.result(), value)
    assert np.array_equal(scheduler.submit(echo, future).result(DEADLINE), value)


def echo(value: Any) -> Any:
    return value


def test_lost_results_are_made_again_with_what_they_were_made_of(scheduler: HybridScheduler, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    one = scheduler.submit(make, 1.0, str(runs))
    two = scheduler.submit(add, one, one)
    four = done(scheduler.submit(add, two, two))
    del one
    remove_all(scheduler)
    assert scheduler.submit(mean, four).result(DEADLINE) == 4.0
    assert runs.read_text(encoding="utf-8") == "xx"
    remove_all(scheduler)
    assert four.result().mean() == 4.0
    assert two.result().mean() == 2.0


def remove_all(scheduler: HybridScheduler) -> None:
    for name in segments(scheduler):
        (Path(store_of(scheduler).folders[0]) / name).unlink()


def test_lost_data_that_nobody_can_make_again_is_an_error(scheduler: HybridScheduler) -> None:
    scattered = scheduler.scatter(np.ones(LENGTH))
    remove_all(scheduler)
    with pytest.raises(ObjectLostError, match="gone"):
        scheduler.submit(mean, scattered).result(DEADLINE)


def test_what_a_worker_wrote_and_did_not_report_is_removed(scheduler: HybridScheduler, tmp_path: Path) -> None:
    wait_until_empty(scheduler)
    future = done(scheduler.submit(die_with_segment, str(tmp_path / "mark")))
    assert future.result().mean() == 1.0
    assert len(segments(scheduler)) == 1


def test_segments_go_to_disk_above_the_limit() -> None:
    backend = LocalBackend(parse_devices("cpu"), memory_limit=8 * LENGTH)
    with HybridScheduler(backend=backend, devices="cpu") as scheduler:
        futures = [done(scheduler.submit(make, float(number))) for number in range(4)]
        counts = [len(list_segments(folder)) for folder in store_of(scheduler).folders]
        assert counts == [1, 3]
        assert [scheduler.submit(mean, each).result(DEADLINE) for each in futures] == [0.0, 1.0, 2.0, 3.0]
        folders = store_of(scheduler).folders
    assert [each.result()[0] for each in futures] == [0.0, 1.0, 2.0, 3.0], "results outlive the scheduler"
    assert not any(map(os.path.exists, folders))


KEEPS_DATA = """
import numpy as np
with HybridScheduler(devices="cpu*2") as scheduler:
    futures = [scheduler.submit(np.ones, 100_000) for _ in range(8)]
    for each in futures:
        each.exception()
    print(*scheduler.backend.objects.folders, flush=True)
    scheduler.submit(sum, range(10**13)).result()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_in_shared_memory_after_an_interrupt_or_a_kill(number: int) -> None:
    with start(KEEPS_DATA) as program:
        assert program.stdout is not None
        folders = program.stdout.readline().split()
        assert len(list_segments(folders[0])) == 8
        end(program, number)
    deadline = time.monotonic() + DEADLINE
    while any(map(os.path.exists, folders)):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def end(program: subprocess.Popen[str], number: int) -> None:
    """Send a signal until the program ends: the first interrupt waits for what runs."""
    deadline = time.monotonic() + DEADLINE
    while program.poll() is None:
        assert time.monotonic() < deadline
        program.send_signal(number)
        time.sleep(0.2)


def test_stored_values_inside_containers_are_loaded(scheduler: HybridScheduler) -> None:
    stored = done(scheduler.submit(make, 2.0)).refer()
    loaded = load_stored({"a": [stored, 1], "b": (stored,)})
    assert loaded["a"][0].mean() == loaded["b"][0].mean() == 2.0


# --- memory that is used again -------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> SegmentFiles:
    (tmp_path / "memory" / FREE).mkdir(parents=True)
    (tmp_path / "disk").mkdir()
    return SegmentFiles(str(tmp_path / "memory"), str(tmp_path / "disk"), "me", max_free=6_000_000)


def read(files: SegmentFiles, token: Token) -> list[bytes]:
    return [bytes(each) for each in files.open(*token)]


def free_files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "memory" / FREE).iterdir())


def test_the_memory_of_a_removed_segment_is_the_next_one(files: SegmentFiles, tmp_path: Path) -> None:
    first = files.write([b"a" * 2_000_000])
    inode = (tmp_path / "memory" / first[0]).stat().st_ino
    files.remove(first[0])
    assert not files.exists(first[0])
    with pytest.raises(ObjectLostError):
        files.open(*first)
    assert len(free_files(tmp_path)) == 1
    other = files.write([b"b" * 3_000_000])
    assert read(files, other) == [b"b" * 3_000_000], "for one that is larger it does not do"
    second = files.write([b"c" * 100_001, b"d" * 1_700_000])
    assert (tmp_path / "memory" / second[0]).stat().st_ino == inode
    assert read(files, second) == [b"c" * 100_001, b"d" * 1_700_000]
    assert free_files(tmp_path) == []
    small = files.write([b"e" * 500_000])
    files.remove(small[0])
    assert free_files(tmp_path) == [], "small ones are removed"


def test_what_somebody_has_mapped_is_never_written_again(files: SegmentFiles, tmp_path: Path) -> None:
    token = files.write([b"a" * 2_000_000])
    part = files.open(*token)[0][1_000_000:1_000_010]  # keeps all of it mapped
    files.remove(token[0])
    assert free_files(tmp_path) == []
    for letter in (b"b", b"c", b"d"):
        files.write([letter * 2_000_000])
    assert bytes(part) == b"a" * 10


def test_memory_that_waits_to_be_used_again_has_a_limit(files: SegmentFiles, tmp_path: Path) -> None:
    for name, _ in [files.write([b"a" * 1_500_000]) for _ in range(7)]:
        files.remove(name)
    assert len(free_files(tmp_path)) == 4
    files.write([b"a" * 1_500_000])
    assert len(free_files(tmp_path)) == 3


_kept = list[Array]()


def keep_and_check(array: Array, value: float) -> Array:
    """Keep what came before mapped in this worker, see that nobody has changed it, and hand on what was given."""
    assert all(len(np.unique(each)) == 1 for each in _kept)
    _kept[:] = [*_kept[-3:], array]
    assert (array == value).all()
    return array


def test_arrays_keep_their_content_whatever_is_kept_mapped_or_handed_on_while_workers_die(
    scheduler: HybridScheduler,
) -> None:
    held = list[tuple[float, Array]]()
    for turn in range(6):
        values = [float(20 * turn + number) for number in range(20)]
        made = [scheduler.submit(make, value) for value in values]
        same = [scheduler.submit(keep_and_check, each, value) for each, value in zip(made, values, strict=True)]
        both = [scheduler.submit(add, one, other) for one, other in zip(made, same, strict=True)]
        if turn % 2:
            os.kill(scheduler.backend.pids[0], signal.SIGKILL)
        held += [
            (2.0 * value, each.result(DEADLINE)) for value, each in zip(values, both, strict=True) if value % 5 == 0
        ]
        assert [each.result(DEADLINE)[7] for each in both] == [2.0 * value for value in values]
        del made, same, both
        assert all((array == value).all() for value, array in held)


def test_results_are_used_before_more_of_the_stage_before_is_made(tmp_path: Path) -> None:
    with HybridScheduler(devices="cpu", ahead=1) as scheduler:
        order = tmp_path / "order"
        made = [scheduler.submit(make, float(number), str(order)) for number in range(200)]
        used = [scheduler.submit(note_mean, each, str(order)) for each in made]
        assert [each.result(DEADLINE) for each in used] == [float(number) for number in range(200)]
        most, made_so_far = 0, 0
        for letter in order.read_text(encoding="utf-8"):
            made_so_far += 1 if letter == "x" else -1
            most = max(most, made_so_far)
        assert most <= 100, "results that waited at once"  # 200 if a stage is made as a whole


def note_mean(array: Array, runs: str) -> float:
    with Path(runs).open("a", encoding="utf-8") as file:
        file.write("-")
    return float(array.mean())
