"""A child runs a function of ours, messages arrive whole, and a pool gives every job one outcome."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.processes import CHUNK, LENGTH, THREAD_VARIABLES, Channel, ChildProcess, run_jobs, select_job

DEADLINE = 300.0


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    near, far = socket.socketpair()
    yield near, far
    near.close()
    far.close()


def test_messages_arrive_whole_however_they_were_cut(ends: tuple[socket.socket, socket.socket]) -> None:
    near, channel = ends[0], Channel(ends[1])
    sent, received = [b"", b"one", b"x" * 100], list[bytes]()
    for byte in b"".join(LENGTH.pack(len(each)) + each for each in sent):
        near.send(bytes([byte]))
        received += channel.receive()
    near.send(LENGTH.pack(5) + b"ha")
    assert channel.receive() == []
    near.send(b"lve" + LENGTH.pack(1))
    assert (received, channel.receive()) == (sent, [b"halve"])
    near.close()
    with pytest.raises(EOFError, match="closed"):
        channel.receive()


@pytest.mark.parametrize("kept", [0, 3, 8, 9, 20])
def test_a_message_that_was_cut_short_is_the_end(ends: tuple[socket.socket, socket.socket], kept: int) -> None:
    whole = LENGTH.pack(23) + b"a message of some size."
    ends[0].sendall(LENGTH.pack(1) + b"m" + whole[:kept])
    ends[0].close()
    assert list(Channel(ends[1]).messages()) == [b"m"]


def test_small_and_large_messages_keep_their_order(ends: tuple[socket.socket, socket.socket]) -> None:
    ends[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * CHUNK)
    sent = [b"a", b"b" * 70_000, b"c", b"d"]
    Channel(ends[0]).send(sent)
    ends[0].close()
    assert list(Channel(ends[1]).messages()) == sent


def test_messages_that_came_together_are_taken_one_by_one(ends: tuple[socket.socket, socket.socket]) -> None:
    channel = Channel(ends[1])
    Channel(ends[0]).send([b"one", b"two", b"three"])
    assert [channel.receive_one() for _ in range(3)] == [b"one", b"two", b"three"]


def report(channel: Channel, *values: object) -> None:
    """Print, then send back what arrived, the niceness and what standard input holds, and wait."""
    print("printed by a library")  # noqa: T201  # what this is about
    channel.send([pickle.dumps((values, os.nice(0), sys.stdin.read()))])
    channel.receive_one()


def test_a_child_gets_its_arguments_and_prints_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    child = ChildProcess(report, 1, "two", nice=3)
    message = child.channel.receive_one()
    assert pickle.loads(message) == ((1, "two"), os.nice(0) + 3, "")  # noqa: S301  # our own child wrote it
    child.channel.send([b"end"])
    assert child.wait() == 0
    child.close()
    assert capfd.readouterr() == ("", "printed by a library\n")


def test_the_death_of_a_child_is_the_end_of_its_channel() -> None:
    child = ChildProcess(report)
    child.channel.receive_one()
    os.kill(child.pid, signal.SIGKILL)
    assert list(child.channel.messages()) == []
    assert child.wait() == -signal.SIGKILL
    child.close()
    child.close()


def count_for_long(channel: Channel) -> None:
    """Do something that keeps the interpreter: no other thread of the child ever runs."""
    channel.send([b"begun"])
    sum(range(10**13))


def test_a_child_in_the_middle_of_its_work_ends_with_its_parent() -> None:
    code = (
        "import os, test_processes as here\n"
        "child = here.ChildProcess(here.count_for_long)\n"
        "child.channel.receive_one()\n"
        "print(child.pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == -9, done.stderr
    deadline = time.monotonic() + DEADLINE
    while is_running(int(done.stdout)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(int(done.stdout))


def is_running(pid: int) -> bool:
    """Whether a process exists and is no zombie, which it stays where no init process collects orphans."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def work(job: tuple[str, float]) -> str:
    """Do what the job says; a function of a module, so that a process finds it."""
    word, seconds = job
    time.sleep(seconds)
    if word == "refuse":
        raise InputError("this job cannot be done")
    if word == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return word.upper()


def test_every_job_has_one_outcome_even_if_its_process_dies() -> None:
    jobs = [("one", 0.0), ("refuse", 0.0), ("die", 0.0), ("two", 0.0), ("three", 0.0)]
    outcomes = sorted(run_jobs(work, jobs, processes=2, time_limit=DEADLINE), key=lambda each: each.number)
    assert [each.number for each in outcomes] == list(range(len(jobs)))
    assert [each.value for each in outcomes] == ["ONE", None, None, "TWO", "THREE"]
    assert [each.problem for each in outcomes] == ["", "this job cannot be done", "its process died", "", ""]


@dataclass
class Busy:
    """What choosing a job looks at of a process."""

    kind: str | None = None
    job: int = -1


def test_a_process_goes_on_with_the_kind_of_job_that_it_has_run() -> None:
    one, other, waiting = Busy(), Busy(), dict(enumerate("aaabbb"))
    assert select_job(one, [one, other], waiting) == 0
    del waiting[0]
    one.kind, one.job = "a", 0
    assert select_job(other, [one, other], waiting) == 3, "fewer are at it"
    del waiting[3]
    one.job, other.kind, other.job = -1, "b", 3
    assert select_job(one, [one, other], waiting) == 1
    one.job, other.job = 1, -1
    assert select_job(other, [one, other], {2: "a"}) is None, "the other one is through with it sooner"
    assert select_job(other, [one, other], {2: "a", 6: "a"}) == 2
    assert select_job(other, [one, other], {}) is None


def test_jobs_of_several_kinds_have_one_outcome_each() -> None:
    jobs = [("one", 0.0), ("die", 0.0), ("two", 0.0), ("refuse", 0.0), ("three", 0.0)]
    outcomes = run_jobs(work, jobs, processes=2, time_limit=DEADLINE, kinds="aabbb")
    assert {each.number: each.value for each in outcomes} == {0: "ONE", 1: None, 2: "TWO", 3: None, 4: "THREE"}


def test_a_job_that_exceeds_the_time_limit_is_stopped() -> None:
    outcomes = list(run_jobs(work, [("sleep", 10 * DEADLINE)], processes=2, time_limit=0.5))
    assert [(each.value, each.problem) for each in outcomes] == [(None, "not done after 0.5 s")]


def read_thread_variables(_: int) -> list[str | None]:
    return [os.environ.get(name) for name in THREAD_VARIABLES]


def test_a_process_of_the_pool_uses_one_thread_unless_the_user_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    outcomes = list(run_jobs(read_thread_variables, [0], processes=1, time_limit=DEADLINE))
    assert [each.value for each in outcomes] == [["3", "1", "1", "1"]]
    assert read_thread_variables(0) == ["3", None, None, None], "this process is as it was"
