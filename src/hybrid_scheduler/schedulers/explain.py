"""Why this device: what a policy expects of every candidate, and which one it takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid_scheduler import registry
from hybrid_scheduler.core.cluster import GPU
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.loop import Batch
from hybrid_scheduler.core.physics import expected_times
from hybrid_scheduler.core.placements import RAN
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.core.view import TaskView, View, cpu_beside, start_on
from hybrid_scheduler.schedulers.scheduler import Scheduler


@dataclass(frozen=True)
class Candidate:
    """One device as the policy sees it; NaN is what it does not know."""

    device: int
    seconds: float  # of the whole task
    transfer: float  # seconds of moving its memory there
    wait: float
    finish: float
    energy: float
    cost: float
    score: float | None  # the policy's own judgement, larger is better; None if it has none
    chosen: bool


@dataclass(frozen=True)
class Explanation:
    """A decision, the rule behind it, what every candidate looked like, and which features mattered."""

    gpu_fraction: float
    device: int
    rule: str
    candidates: tuple[Candidate, ...]
    contributions: dict[str, float]
    expected_time: float = float("nan")  # execution of this decision, s; NaN: the policy predicts no times
    expected_finish: float = float("nan")


def explain(scheduler: Scheduler, task: TaskView, view: View) -> Explanation:
    """Ask a twin of the policy, so that asking changes nothing."""
    twin = scheduler.twin()
    return explained(twin, task, view, *_decision(twin, task, view))


def explained(twin: Scheduler, task: TaskView, view: View, gpu_fraction: float, chosen: int) -> Explanation:
    """Explain a decision that a twin of a policy has just made on a task."""
    seconds, scores = np.asarray(twin.expected_seconds(task)), twin.scores(task, view)
    candidates = tuple(
        _candidate(device, seconds, task, view, _known(scores[device]), device == chosen)
        for device in range(len(view.free))
        if view.memory[device] >= 0 or device == chosen  # a GPU that has failed holds nothing
    )
    entry = registry.schedulers.table.get(twin.name)
    rule = entry.summary if entry else (type(twin).__doc__ or "").split("\n")[0]
    expected = _expected(gpu_fraction, chosen, seconds, task, view)
    return Explanation(gpu_fraction, chosen, rule, candidates, twin.contributions(task), *expected)


def _known(score: float) -> float | None:
    return None if np.isnan(score) else float(score)


def _decision(policy: Scheduler, task: TaskView, view: View) -> tuple[float, int]:
    if not policy.plans:
        gpu_fraction, device = policy.choose(task, view)
        return float(gpu_fraction), int(device)
    size, intensity, memory, ready = (
        np.array([each]) for each in (task.size, task.compute_intensity, task.memory_required, task.ready_time)
    )
    batch = Batch(np.array([task.row]), size, intensity, memory, ready, np.asarray(task.times)[None, :])
    _, fractions, devices = policy.plan(batch, view)
    return float(fractions[0]), int(devices[0])


def _expected(share: float, device: int, seconds: Floats, task: TaskView, view: View) -> tuple[float, float]:
    """Return how long a decision takes and when it ends by the policy's own times; the CPU has the other share."""
    if not 0 <= device < len(view.free):
        return np.nan, np.nan
    on_gpu = view.kind[device] == GPU
    parts = [(device, share if on_gpu else 1.0)]
    if on_gpu and share < 1.0:
        parts = [(device, share), (int(cpu_beside(view, device)), 1.0 - share)]
    needed = [(part, float(seconds[view.device_class[part]]) * size) for part, size in parts if size > 0]
    ends = [float(start_on(task, view, part)) + each for part, each in needed]
    return max(each for _, each in needed), max(ends)


def _candidate(
    device: int, seconds: Floats, task: TaskView, view: View, score: float | None, chosen: bool
) -> Candidate:
    needed = float(seconds[view.device_class[device]])
    start = float(start_on(task, view, device))
    return Candidate(
        device=device,
        seconds=needed,
        transfer=float(task.memory_required / view.bandwidth[device]),
        wait=start - float(task.ready_time),
        finish=start + needed,
        energy=needed * float(view.watts[device]),
        cost=needed * float(view.dollars[device]),
        score=score,
        chosen=chosen,
    )


def asked(lane: Lane, tasks: Tasks, times: Floats) -> Explanation:
    """Ask a lane's scheduler about the first of some tasks, before they are placed."""
    try:
        return _answer(lane, tasks, times)
    except Exception as error:  # noqa: BLE001  # who cannot say why may race all the same; the page shows the error
        rule = f"cannot say why: {type(error).__name__}: {error}"
        return Explanation(float("nan"), -1, rule, (), {})


Reasons = dict[str, Explanation]


def _answer(lane: Lane, tasks: Tasks, times: Floats) -> Explanation:
    twin, machine = lane.scheduler.twin(), lane.machine.twin()
    view = lane.machine.twin().view_at(float(tasks.arrival_time[0]))
    part = tasks.part(0, lane.scheduler.learn_every or len(tasks))  # as the lane will hand them over
    # In the compiled loop, because interpreted the agent alone takes 50 ms.
    placed = machine.step(part, twin, times=times[: len(part)])
    seen = expected_times(part, machine.cluster, times[: len(part)])
    task = _first(part, seen if twin.sighted else np.full_like(seen, np.nan))
    if placed.status[0] != RAN or type(twin).explain is not Scheduler.explain:
        return twin.explain(task, view)  # where it wanted to go is not where it went
    return explained(twin, task, view, *placed.decision(0))


def _first(tasks: Tasks, seen: Floats) -> TaskView:
    task = tasks[0]
    return TaskView(
        row=0,
        size=task.size,
        compute_intensity=task.compute_intensity,
        memory_required=task.memory_required,
        arrival_time=task.arrival_time,
        duration_estimate=float(tasks.duration_estimate[0]),
        ready_time=task.arrival_time,
        times=seen[0],
    )
