"""The dispatcher: decides in blocks, decides again when a device runs dry, and learns from measured times."""

from __future__ import annotations

from statistics import median

import real_tasks
from benchmarks.learnt_throughput import run_batches
from hybrid_scheduler.registry import schedulers
from hybrid_scheduler.runtime.dispatcher import DECISION_BLOCK, LOOKAHEAD, Dispatcher
from hybrid_scheduler.runtime.jobs import TaskFunction
from scripted_backend import ScriptedBackend


def test_a_burst_of_small_jobs_is_decided_on_in_blocks_and_every_future_gets_its_result() -> None:
    backend = ScriptedBackend("cpu,cpu")
    dispatcher = Dispatcher(schedulers.create("eft"), backend)
    blocks = list[int]()
    decide = dispatcher.decider.decide
    dispatcher.decider.decide = lambda jobs, *rest: blocks.append(len(jobs)) or decide(jobs, *rest)  # type: ignore[func-returns-value,method-assign]  # counts
    dispatcher.start()
    function = TaskFunction(real_tasks.double)
    jobs = [function.create_job(number, (number,), {}, 0.0) for number in range(400)]
    for job in jobs[:20]:
        dispatcher.submit(job)
        backend.answer_all()
    blocks.clear()
    for job in jobs[20:]:
        dispatcher.submit(job)
    held = sum(len(queue.in_flight) + len(queue.waiting) for queue in backend.queues)
    assert held > 2 * LOOKAHEAD, "small ones are decided on further ahead"
    assert len(blocks) <= 4 + 380 / DECISION_BLOCK
    backend.answer_all()
    assert all(job.future.result(timeout=0) == 1 for job in jobs)
    assert dispatcher.wait(timeout=0)


def test_when_a_device_runs_dry_the_policy_decides_again_on_calls_that_no_worker_holds() -> None:
    backend = ScriptedBackend("cpu,gpu=emulated:slowdown=1")
    dispatcher = Dispatcher(schedulers.create("eft"), backend)
    times, function = dispatcher.times, TaskFunction(real_tasks.double)
    for spec, seconds in zip(backend.devices, (9.0, 1.0), strict=True):
        for _ in range(9):
            times.observe(function.name, spec.signature, spec.name, 1.0, seconds)
    dispatcher.start()
    jobs = [function.create_job(number, (number,), {}, 0.0) for number in range(8)]
    for job in jobs:
        dispatcher.submit(job)
    waiting = [[call.tag[0].number for call in queue.waiting] for queue in backend.queues]
    assert waiting == [[], [2, 3, 4, 5, 6, 7]]
    for _ in range(80):
        times.observe(function.name, backend.devices[0].signature, "cpu", 1.0, 0.5)  # the CPU has become fast
    first = backend.queues[1].in_flight[0]
    backend.answer(first.number, device=1)
    moved = [call.tag[0].number for call in (*backend.queues[0].in_flight, *backend.queues[0].waiting)]
    assert len(moved) >= 3
    assert all(job.number not in moved for job in jobs[:2]), "calls that a worker holds stay there"
    backend.answer_all()
    assert all(job.future.result(timeout=0) == 1 for job in jobs)
    assert sum(map(len, backend.batches)) == len(jobs), "every job was sent once"
    assert dispatcher.wait(timeout=0)


def test_once_times_are_learnt_devices_are_given_work_as_in_the_best_assignment() -> None:
    """By the seconds that the tasks ask for; by the clock, which is speed, it is a benchmark."""
    efficiency = [each.assigned for each in run_batches("sufferage", 100, 5)]
    assert median(efficiency[2:]) >= 0.95, efficiency
