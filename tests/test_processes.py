"""Jobs are done by worker processes, each once, and none can hold up the others."""

import os
import signal
import time
from multiprocessing import Pipe

import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workers import THREADS, _serve, carried_out


def work(job: tuple[str, float]) -> str:
    """Do what the job says; a function of a module, so that a process finds it."""
    word, seconds = job
    time.sleep(seconds)
    if word == "refuse":
        raise InputError("this job cannot be done")
    if word == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return word.upper()


def test_every_job_has_one_outcome_whatever_becomes_of_its_worker() -> None:
    jobs = [("one", 0.0), ("refuse", 0.0), ("die", 0.0), ("sleep", 60.0), ("two", 0.0), ("three", 0.0)]
    outcomes = sorted(carried_out(work, jobs, processes=2, time_limit=4.0), key=lambda each: each.number)
    assert [each.number for each in outcomes] == list(range(len(jobs)))
    assert [each.value for each in outcomes] == ["ONE", None, None, None, "TWO", "THREE"]
    assert [each.problem for each in outcomes] == [
        "", "this job cannot be done", "its process died", "not done after 4 s", "", ""
    ]  # fmt: skip


def threads(_: int) -> list[str | None]:
    """Return what numeric libraries are told in this process."""
    return [os.environ.get(name) for name in THREADS]


def test_a_process_uses_one_thread_unless_the_user_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in THREADS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert [each.value for each in carried_out(threads, [0], processes=1, time_limit=60.0)] == [["3", "1", "1"]]
    assert [os.environ.get(name) for name in THREADS] == ["3", None, None], "this process is as it was"


def test_a_worker_whose_master_is_gone_ends_without_a_word() -> None:
    master, pipe = Pipe()
    master.send((0, "a job"))
    _serve(pipe, lambda job: master.close())
    assert master.closed
