"""Why this device: what a policy expects of every candidate, and which one it takes."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from hybrid_scheduler import registry
from hybrid_scheduler.core.cluster import GPU
from hybrid_scheduler.core.float_or_nan import FloatOrNaN
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.loop import Batch
from hybrid_scheduler.core.physics import apply_expected_times
from hybrid_scheduler.core.placements import RAN
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.core.view import TaskView, View, least_loaded_node_cpu, start_on
from hybrid_scheduler.schedulers.scheduler import Scheduler, plans_batches


@dataclass(frozen=True)
class Candidate:
    """One device as the policy sees it; NaN is what it does not know."""

    device: int
    seconds: FloatOrNaN  # of the whole task
    transfer: FloatOrNaN  # seconds of moving its memory there
    wait: FloatOrNaN
    finish: FloatOrNaN
    energy: FloatOrNaN
    cost: FloatOrNaN
    score: float | None  # the policy's own judgement, larger is better; None if it has none
    chosen: bool


@dataclass(frozen=True)
class Explanation:
    """A decision, the rule behind it, what every candidate looked like, and which features mattered."""

    gpu_fraction: FloatOrNaN
    device: int
    rule: str
    candidates: tuple[Candidate, ...]
    contributions: dict[str, FloatOrNaN]
    expected_time: FloatOrNaN = float("nan")  # execution of this decision, s; NaN: the policy predicts no times
    expected_finish: FloatOrNaN = float("nan")


def explain(scheduler: Scheduler, task: TaskView, view: View) -> Explanation:
    """Return what a policy expects of every device and which one it takes, without changing its state."""
    copy = copy_policy(scheduler)
    return explain_decision(copy, task, view, *_decide(copy, task, view))


def copy_policy(policy: Scheduler) -> Scheduler:
    """Return a copy that can decide without changing the policy; it must not learn, for it shares trained models."""
    shared = [getattr(policy, name) for name in getattr(policy, "shared", ())]
    return deepcopy(policy, {id(value): value for value in shared})


def explain_decision(policy: Scheduler, task: TaskView, view: View, gpu_fraction: float, chosen: int) -> Explanation:
    """Explain a decision that a copy of a policy has just made on a task."""
    evidence = policy.evidence(task, view)
    seconds = np.asarray(evidence.seconds)
    scores = np.full(len(view.free), np.nan) if evidence.scores is None else evidence.scores
    candidates = tuple(
        _candidate(device, seconds, task, view, None if np.isnan(score) else float(score), device == chosen)
        for device, score in enumerate(scores)
        if view.memory[device] >= 0 or device == chosen  # a GPU that has failed holds nothing
    )
    entry = registry.schedulers.table.get(policy.name)
    rule = entry.summary if entry else (type(policy).__doc__ or "").split("\n")[0]
    expected = _expected_end(gpu_fraction, chosen, seconds, task, view)
    return Explanation(gpu_fraction, chosen, rule, candidates, evidence.contributions, *expected)


def _decide(policy: Scheduler, task: TaskView, view: View) -> tuple[float, int]:
    if not plans_batches(policy):
        gpu_fraction, device = policy.choose(task, view)
        return float(gpu_fraction), int(device)
    size, intensity, memory, ready = (
        np.array([each]) for each in (task.size, task.compute_intensity, task.memory_required, task.ready_time)
    )
    batch = Batch(np.array([task.row]), size, intensity, memory, ready, np.asarray(task.times)[None, :])
    _, fractions, devices = policy.plan(batch, view)
    return float(fractions[0]), int(devices[0])


def _expected_end(share: float, device: int, seconds: Floats, task: TaskView, view: View) -> tuple[float, float]:
    """Return how long a decision takes and when it ends by the policy's own times; the CPU has the other share."""
    if not 0 <= device < len(view.free):
        return np.nan, np.nan
    on_gpu = view.kind[device] == GPU
    parts = [(device, share if on_gpu else 1.0)]
    if on_gpu and share < 1.0:
        parts = [(device, share), (int(least_loaded_node_cpu(view, device)), 1.0 - share)]
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


def explain_next(lane: Lane, tasks: Tasks, times: Floats) -> Explanation:
    """Explain what a lane's scheduler will do with the first of some tasks, before they are placed."""
    try:
        return _explain_first(lane, tasks, times)
    except Exception as error:  # noqa: BLE001  # a policy that cannot explain may race all the same
        rule = f"cannot be explained: {type(error).__name__}: {error}"
        return Explanation(float("nan"), -1, rule, (), {})


def _explain_first(lane: Lane, tasks: Tasks, times: Floats) -> Explanation:
    policy, now = copy_policy(lane.scheduler), float(tasks.arrival_time[0])
    part = tasks.part(0, lane.scheduler.learn_every or len(tasks))  # the block that the lane will step
    times = times[: len(part)]
    if lane.stream is not None:
        stream = lane.stream.twin(policy)
        view = stream.view_at(now)
        placed = stream.preview(part, times)
    else:
        view = lane.machine.twin().view_at(now)
        placed = lane.machine.twin().step(part, policy, times=times, interpreted=None)
    seen = apply_expected_times(part, lane.machine.cluster, times)
    task = _first_view(part, seen if policy.clairvoyant else np.full_like(seen, np.nan))
    custom = getattr(type(policy), "explain", None)
    if custom is not None:
        explanation: Explanation = custom(policy, task, view)
        return explanation
    if placed.status[0] != RAN:
        return explain(policy, task, view)  # it did not go where the policy wanted it
    return explain_decision(policy, task, view, *placed.decision(0))


def _first_view(tasks: Tasks, seen: Floats) -> TaskView:
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
