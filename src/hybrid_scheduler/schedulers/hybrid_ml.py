"""Dispatching by learnt times: a task goes where it costs all tasks least, not where it ends first.

A task of x seconds on a device with u seconds of work before it ends after u + x. It also holds up those that come
after it, by λ·(2ux + x²)/(2(1 − ρ)) in the mean if λ tasks a second go to that device and it is busy ρ of the time
(the value function of the M/G/1 queue; Krishnan 1990, Hyytiä et al. 2012). The square is what counts where a few
tasks are huge: it keeps them off the devices on which many others wait. It also makes the policy wary, since the
expected square of an uncertain time is larger than that of a sure one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from numba import njit

from hybrid_scheduler.core.cluster import GPU, Cluster
from hybrid_scheduler.core.compiling import compiled, jitable
from hybrid_scheduler.core.loop import move_time
from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.core.view import TaskView, View, start_on
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.background import Study
from hybrid_scheduler.learning.durations import LearntTimes, SeenMore, TimesLessons
from hybrid_scheduler.learning.features import FEATURES, Known, says_more, task_features, way_to_the_end
from hybrid_scheduler.learning.forest import CHECK, ForestLessons, Models, Seen
from hybrid_scheduler.learning.insight import NAN, RETRAINS, ForestHistory, ForestInsight, Guesses, Retrain
from hybrid_scheduler.learning.model_files import load_model, save_model
from hybrid_scheduler.learning.predictors import Predictor, RandomForestPredictor
from hybrid_scheduler.schedulers.heft import Heft, Peft
from hybrid_scheduler.schedulers.scheduler import Scheduler

USUAL_LOAD, USUAL_TASKS = 0.8, 10.0  # what is believed of the stream until it has shown itself, and for how long
FULLEST = 0.9  # the formula has no answer at full load


@compiled
def by_weighing(policy: Any, task: TaskView, view: View) -> tuple[float, int]:
    """Return the device on which the task costs all tasks least, or the planned one while its plan is any good."""
    follows = len(policy.device) > 0
    rate, idle, pull = 0.0, 1.0, 0.0
    if not follows:
        rate, idle = arrivals(policy, task.ready_time)
        pull = policy.pull
    best, least = -1, np.inf
    for device in range(len(view.free)):
        if task.memory_required > view.memory[device]:
            continue
        kind = view.device_class[device]
        wait = start_on(task, view, device) - task.ready_time
        mean, square = policy.seconds[task.row, kind], policy.square[task.row, kind]
        held_up = policy.selfless * rate * policy.belongs[kind] * (2.0 * wait * mean + square) / (2.0 * idle)
        cost = (1.0 - pull) * (wait + mean + held_up) + pull * view.watts[device] * mean / 100.0
        if cost < least:
            best, least = device, cost
    if follows:
        planned = policy.device[task.row]  # costs are ends here: a task of a plan minds nobody else
        # A task leaves its planned device when elsewhere it can end before it could start there.
        if task.memory_required <= view.memory[planned] and start_on(task, view, planned) - task.ready_time <= least:
            best = planned
    best = max(best, 0)
    return float(view.kind[best]), best


@jitable
def arrivals(policy: Any, now: float) -> tuple[float, float]:
    """Note an arrival; return the rate of arrivals, and the share of the time in which devices are idle."""
    usual_rate = USUAL_LOAD / policy.work
    if policy.stream[0] == 0.0:
        policy.stream[1] = now
    policy.stream[0] += 1.0
    rate = (USUAL_TASKS + policy.stream[0]) / (USUAL_TASKS / usual_rate + max(now - policy.stream[1], 0.0))
    return rate, 1.0 - min(rate * policy.work, FULLEST)


LEAN = 0.02  # threshold moved per mean task of difference between the queues
TIME_UNIT, ENERGY_UNIT = 10.0, 500.0


@compiled
def by_leaning(policy: Any, task: TaskView, view: View) -> tuple[float, int]:
    """Return the share for a GPU and the device, by predicted shares, learnt seconds and the queues."""
    seconds, share = policy.seconds[task.row], policy.share[task.row]
    gpu, cpu = -1, -1
    cheapest, earliest = np.inf, np.inf
    for device in range(len(view.free)):
        if task.memory_required > view.memory[device]:
            continue
        needed = seconds[view.device_class[device]]
        finish = start_on(task, view, device) + needed
        if view.kind[device] == GPU:
            time, energy = finish - task.ready_time, view.watts[device] * needed
            cost = (1.0 - policy.energy_weight) * time / TIME_UNIT + policy.energy_weight * energy / ENERGY_UNIT
            if cost < cheapest:
                gpu, cheapest = device, cost
        elif finish < earliest:
            cpu, earliest = device, finish
    if gpu < 0:
        return 0.0, max(cpu, 0)
    if not view.queued or cpu < 0:
        return (share if cpu >= 0 else 1.0), gpu
    now = task.ready_time
    gpu_wait, cpu_wait = max(view.free[gpu] - now, 0.0), max(view.free[cpu] - now, 0.0)
    slope = (1.0 - policy.pull) * LEAN  # queues may be uneven where energy counts
    threshold = 0.5 + slope * (gpu_wait - cpu_wait) / policy.typical if policy.timed else 0.5
    threshold = min(max(threshold, 0.05), 0.95)
    device, other = (gpu, cpu) if share >= threshold else (cpu, gpu)
    if policy.timed and view.free[device] > now and view.free[other] <= now:
        here, there = seconds[view.device_class[device]], seconds[view.device_class[other]]
        saved = view.free[device] + here - (now + there)
        # Joules become seconds at the power of the device that the forest wants.
        wasted = (view.watts[other] * there - view.watts[device] * here) / max(view.watts[device], 1e-9)
        if (1.0 - policy.pull) * saved > policy.pull * wasted:
            device = other
    return float(view.kind[device]), device


TRIES, EFFORT = 100, 2_000_000  # plans at most, and (task, device) pairs to look at: a second for a large graph
SHAKES = (0.01, 0.05, 0.2)  # of the priorities' spread
GRUDGES = (0.0, 0.3, 1.0, 3.0)  # seconds held against a device per second that a row takes longer there


class Plan(NamedTuple):
    """A device for every row, and the order in which they are started."""

    device: Ints
    order: Ints


class _Ranked(Heft):
    """HEFT by given priorities; it minds slow devices."""

    def __init__(self, priority: Floats, grudge: float) -> None:
        super().__init__()
        self._priority, self._grudge = priority, grudge

    def rank(self, tasks: Tasks, seconds: Floats, view: View) -> tuple[Floats, Floats]:
        """Return what was given, and what is held against every device."""
        slower = np.where(np.isfinite(seconds), seconds - seconds.min(axis=1, keepdims=True), 0.0)
        return self._priority, self._grudge * slower

    def shaken(self, generator: np.random.Generator) -> _Ranked:
        """Return one with priorities a little different."""
        reach = generator.choice(SHAKES) * max(float(np.std(self._priority)), 1e-12)
        return _Ranked(self._priority + generator.normal(0.0, reach, len(self._priority)), self._grudge)


def plan(tasks: Tasks, seconds: Floats, view: View, seed: int) -> Plan:
    """Return the shortest of many plans by expected `seconds` (task, class); the same seed gives the same plan."""
    best, shortest = min((_made(Peft(), tasks, seconds, view), _as_they_come(tasks, seconds, view)), key=_length)
    favourite, quickest = None, np.inf
    for planner in _starts(tasks, seconds, view):
        made, length = _made(planner, tasks, seconds, view)
        if length < quickest:
            favourite, quickest = planner, length
        if length < shortest:
            best, shortest = made, length
    generator = np.random.default_rng([seed, len(tasks), 0x9A7])
    for _ in range(min(TRIES, EFFORT // max(1, len(tasks) * len(view.free)))):
        assert favourite is not None  # noqa: S101  # there is always a start
        tried = favourite.shaken(generator)
        made, length = _made(tried, tasks, seconds, view)
        if length < quickest:
            favourite, quickest = tried, length
        if length < shortest:
            best, shortest = made, length
    return best


def _starts(tasks: Tasks, seconds: Floats, view: View) -> Iterator[_Ranked]:
    by_device = np.where(tasks.memory_required[:, None] <= view.memory, seconds[:, view.device_class], np.inf)
    fastest = by_device.min(axis=1)
    usable = np.where(np.isfinite(fastest), fastest, 0.0)
    published, _ = Heft().rank(tasks, by_device, view)
    soonest = tasks.arrival_time + way_to_the_end(tasks, usable, backwards=True) - usable
    for priority, grudge in product((published, way_to_the_end(tasks, usable), -soonest), GRUDGES):
        yield _Ranked(priority, grudge)


def _length(made: tuple[Plan, float]) -> float:
    return made[1]


def _as_they_come(tasks: Tasks, seconds: Floats, view: View) -> tuple[Plan, float]:
    """Return the plan of earliest finish, task by task as they become ready, and when it would end."""
    edges, children = tasks.edges, tasks.children
    waits = np.diff(edges.start), edges.start, edges.parents, edges.megabytes, children.start, children.parents
    device, order, end = _walked(seconds, tasks.arrival_time, tasks.memory_required, *waits, view)
    return Plan(device, order), end


def _made(planner: Heft | Peft, tasks: Tasks, seconds: Floats, view: View) -> tuple[Plan, float]:
    """Return a planner's plan, and when it would end."""
    planner.prepare(tasks, seconds, view)
    assert planner.order is not None  # noqa: S101  # a planner sets it
    edges = tasks.edges
    columns = tasks.arrival_time, edges.start, edges.parents, edges.megabytes
    return Plan(planner.device, planner.order), _end(planner.device, planner.order, seconds, *columns, view)


@njit(cache=True, error_model="numpy", nogil=True)
def _end(
    device: Ints,
    order: Ints,
    seconds: Floats,
    arrival: Floats,
    parent_start: Ints,
    parents: Ints,
    megabytes: Floats,
    view: View,
) -> float:
    """Follow a plan in thought; return when its last task ends."""
    free, finish = view.free.copy(), np.zeros(len(order))
    for row in order:
        here = device[row]
        start = max(arrival[row], free[here])
        for edge in range(parent_start[row], parent_start[row + 1]):
            parent = parents[edge]
            start = max(start, finish[parent] + move_time(megabytes[edge], device[parent], here, view))
        finish[row] = start + seconds[row, view.device_class[here]]
        free[here] = finish[row]
    return finish.max()


@njit(cache=True, error_model="numpy", nogil=True)
def _walked(
    seconds: Floats,
    arrival: Floats,
    memory: Floats,
    missing: Ints,
    parent_start: Ints,
    parents: Ints,
    megabytes: Floats,
    child_start: Ints,
    children: Ints,
    view: View,
) -> tuple[Ints, Ints, float]:
    """Let every row start where it ends first, in the order in which rows become ready."""
    count = len(arrival)
    free, finish, ready = view.free.copy(), np.zeros(count), arrival.copy()
    device, order = np.zeros(count, np.int64), np.empty(count, np.int64)
    heap = [(ready[row], row) for row in range(count) if missing[row] == 0]
    heapify(heap)
    for position in range(count):
        _, row = heappop(heap)
        order[position], finish[row] = row, np.inf
        for other in range(len(free)):
            start = max(ready[row], free[other])
            for edge in range(parent_start[row], parent_start[row + 1]):
                moved = move_time(megabytes[edge], device[parents[edge]], other, view)
                start = max(start, finish[parents[edge]] + moved)
            end = start + seconds[row, view.device_class[other]]
            if memory[row] <= view.memory[other] and end < finish[row]:
                device[row], finish[row] = other, end
        if finish[row] == np.inf:  # it fits nowhere and will be rejected
            finish[row] = ready[row]
        free[device[row]] = max(free[device[row]], finish[row])
        for edge in range(child_start[row], child_start[row + 1]):
            child = children[edge]
            ready[child] = max(ready[child], finish[row])
            missing[child] -= 1
            if missing[child] == 0:
                heappush(heap, (ready[child], child))
    return device, order, finish.max()


RULES = ("least", "earliest")


class HybridML(Scheduler):
    """Random forest, retrained every `retrain_interval` tasks on the last `window_size` ones."""

    name = "hybrid_ml"
    sighted = False
    shared = ("_lessons", "_models", "_times", "_study", "_guesses", "_retrains")

    def __init__(
        self,
        retrain_interval: Annotated[int, "tasks between two looks whether to fit anew"] = 50,
        window_size: Annotated[int, "last tasks that are learnt from"] = 1000,
        n_estimators: Annotated[int, "trees of the forest"] = 100,
        max_depth: Annotated[int, "depth of its trees"] = 15,
        energy_weight: Annotated[float, "weight of energy against time, 0 to 1"] = 0.5,
        tolerance: Annotated[float, "mean error of the shares that is put up with"] = 0.1,
        online: Annotated[bool, "whether it learns while it runs"] = True,
        beside: Annotated[int, "learn in another process: this many tasks later, -1 as soon as it can be, 0 not"] = 0,
        rule: Annotated[str, "by learnt times: least cost to all tasks, or earliest end of this one"] = "least",
        model: Annotated[str, "model file to start from"] = "",
        seed: Annotated[int, "seed of the forest"] = 0,
    ) -> None:
        if rule not in RULES:
            raise InputError(f"hybrid_ml: rule is '{rule}', expected {' or '.join(RULES)}")
        for name, value in (("retrain_interval", retrain_interval), ("window_size", window_size)):
            if value < 1:
                raise InputError(f"hybrid_ml: {name} is {value}, expected a whole number above 0")
        self.weigh_energy(energy_weight)
        self.timed = False  # whether times are known
        self.typical = 1.0
        self.share = np.empty(0)
        self.seconds = np.empty((0, 1))
        self.weighs, self.selfless = False, float(rule == "least")  # by learnt times, not by the share
        self.square, self.belongs, self.work = np.empty((0, 1)), np.ones(1), 1.0
        self.stream = np.zeros(2)  # tasks weighed so far, and when the first of them was ready
        self.device = np.empty(0, np.int64)
        self._seed = seed
        self._times: LearntTimes | None = None
        self.learn_every = min(CHECK, retrain_interval) if online else 0
        self._lessons = ForestLessons(retrain_interval, window_size, n_estimators, max_depth, tolerance, seed)
        self._lessons.more = TimesLessons(max(1, retrain_interval // 2), seed)
        self._models: Models | None = None
        self._study = Study(self._lessons, beside)
        self._guesses, self._retrains = Guesses(), deque[Retrain](maxlen=RETRAINS)
        self._version = 0
        if model:
            self.load(model)

    # --- deciding ----------------------------------------------------------------------------------------------

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> None:
        """Predict a block at once: shares and seconds by class; plan a graph."""
        more = says_more(tasks)
        if self._times is not None and (more or self._models is None):
            self._expect(self._times, tasks, view)
        else:
            self._lean(tasks, view)
        self.order, self.device = None, np.empty(0, np.int64)
        if tasks.has_edges and self.timed and view.queued:
            self.device, self.order = plan(tasks, self.seconds, view, self._seed)
            self.weighs, self.square, self.belongs = True, self.seconds**2, np.zeros(self.seconds.shape[1])

    def _expect(self, learnt: LearntTimes, tasks: Tasks, view: View) -> None:
        """Take times from what was learnt of tasks that say more than the five features."""
        _check_classes(learnt.classes, view)
        self.seconds, self.square = learnt.predict(Known.of(tasks))
        self.weighs, self.timed = view.queued, True
        self.belongs, self.work, self.typical = learnt.share, learnt.work, learnt.typical
        gpu = np.isin(np.arange(self.seconds.shape[1]), view.device_class[view.kind == GPU])
        on_cpu, on_gpu = (self.seconds[:, each].min(axis=1, initial=np.inf) for each in (~gpu, gpu))
        self.share = 1.0 / (1.0 + on_gpu / on_cpu)  # both shares end together

    def _lean(self, tasks: Tasks, view: View) -> None:
        """Take shares and times from the forests of the five features."""
        self.weighs = False
        if self._models is None:
            # Nothing is known yet: lean like the greedy rule, and trust no times.
            self.share = tasks.compute_intensity
        else:
            rows = task_features(tasks, self._models.share.feature_names_)
            self.share = np.clip(self._models.share.predict(rows), 0.0, 1.0)
        self.timed = self._models is not None and self._models.seconds is not None
        if self._models is not None and self._models.seconds is not None:
            self.seconds = np.exp(self._models.seconds.predict(task_features(tasks))).reshape(len(tasks), -1)
            self.typical = self._models.typical
            _check_classes(self._models.classes, view)
        else:
            self.seconds = np.ones((len(tasks), int(view.device_class.max()) + 1))

    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Lean to a GPU or a CPU by the forest and let the queues speak; or weigh by learnt times."""
        return by_weighing(self, task, view) if self.weighs else by_leaning(self, task, view)

    @property
    def chooser(self) -> Callable[..., Any]:
        """One way of deciding at a time: with both in it, a compiled loop takes half as long again."""
        return by_weighing if self.weighs else by_leaning

    # --- learning ----------------------------------------------------------------------------------------------

    def learn(self, placements: Placements) -> None:
        """Let the pupil study a block: here and now, or beside the decisions."""
        if self.timed and self.seconds.shape == placements.times.shape:
            self._guesses.add(self.seconds, placements.times)
        seen = SeenMore.of(placements) if says_more(placements.tasks) else Seen.of(placements, self.pull)
        models: Models | LearntTimes | None = self._study.study(seen, len(seen.times))
        if models is not None:
            self._take(models, int(placements.tasks.task_id[-1]))

    def _take(self, models: Models | LearntTimes, task: int) -> None:
        self._version += 1
        if isinstance(models, LearntTimes):
            self._times = models
            return
        self._models = models
        if models.lesson is not None:
            self._retrains.append(replace(models.lesson, task=task))

    def pretrain_more(self, lessons: Sequence[Tasks], cluster: Cluster) -> None:
        """Learn all that is known of tasks whose times have been measured; nothing has to run."""
        assert self._lessons.more is not None  # noqa: S101  # set when it was built
        self._times = self._lessons.more.taught(SeenMore.known_of(tasks, cluster) for tasks in lessons)

    def weigh_energy(self, weight: float) -> None:
        """Weigh energy against time; up to a half that only chooses among GPUs, beyond it, it also pulls tasks."""
        if not 0 <= weight <= 1:
            raise InputError(f"hybrid_ml: energy_weight is {weight}, expected a number from 0 to 1")
        self.energy_weight, self.pull = float(weight), max(0.0, 2.0 * weight - 1.0)

    def learn_beside(self, tasks: int) -> None:
        """From now on learn in another process; what is learnt counts `tasks` tasks later."""
        self._study = Study(self._lessons, tasks)

    def close(self) -> None:
        """End the process that learns beside, if there is one."""
        self._study.close()

    # --- files and explanations --------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write what was learnt and its manifest."""
        kept: Models | LearntTimes | None = self._times
        if self._models is not None:
            kept = replace(self._models, lesson=None, more=self._times)
        if kept is None:
            raise InputError("hybrid_ml has learnt nothing yet: train it before saving, with hms train")
        training = {"retrains": kept.retrains, "classes": list(kept.classes)}
        features = FEATURES if self._times is None else self._times.names
        save_model(kept, path, kind=self.name, features=features, training=training, cluster=kept.shape)

    def load(self, path: str | Path) -> None:
        """Read what `save` or `hms train` wrote."""
        models = load_model(path, kind=self.name)
        if not isinstance(models, Models | LearntTimes):
            raise InputError(f"{path} holds no forests of hybrid_ml: train them with hms train")
        self.use(models)

    @property
    def knows(self) -> bool:
        """Whether there is a forest to decide by."""
        return self._models is not None or self._times is not None

    @property
    def learnt(self) -> LearntTimes | None:
        """What it has learnt of tasks that say more than the five features."""
        return self._times

    def use(self, model: Predictor | Models | LearntTimes) -> None:
        """Decide by what was trained elsewhere; with a model of the shares alone, times stay unknown."""
        if isinstance(model, LearntTimes):
            self._times = model
            return
        models = model if isinstance(model, Models) else Models(share=model)
        self._models = self._lessons.models = models
        self._lessons.retrains = models.retrains
        self._times = models.more or self._times

    def expected_seconds(self, task: TaskView) -> Floats:
        """Return the learned seconds of a task of the current block."""
        return self.seconds[task.row] if self.timed else np.full(self.seconds.shape[1], np.nan)

    def scores(self, task: TaskView, view: View) -> Floats:
        """Return how much the forest leans to each device: the predicted share for GPUs, the rest for CPUs."""
        share = self.share[task.row]
        return np.where(view.kind == GPU, share, 1.0 - share)

    def contributions(self, task: TaskView) -> dict[str, float]:
        """Return how far each feature moves this task's predicted share; empty without a forest."""
        if self._models is None or not isinstance(self._models.share, RandomForestPredictor):
            return {}
        size, intensity, memory = task.size, task.compute_intensity, task.memory_required
        row = np.array([size, intensity, memory, memory / (size + 1.0), intensity / (memory + 1.0)])
        return self._models.share.contributions(row)

    @property
    def insight(self) -> ForestInsight:
        """Return how the forest stands, seen from outside."""
        models = self._models
        last = self._retrains[-1] if self._retrains else None
        seconds_mae, seconds_r2 = self._guesses.errors()
        importance = self._times.feature_importance() if self._times else {}
        return ForestInsight(
            version=self._version,
            beside=self._study.beside,
            retrains=(models.retrains if models else 0) + (self._times.retrains if self._times else 0),
            last_retrain=last.task if last else None,
            feature_importance=models.share.feature_importance() if models else importance,
            share_mae=last.mae if last else NAN,
            share_r2=last.r2 if last else NAN,
            share_tested=last.tested if last else 0,
            seconds_mae=seconds_mae,
            seconds_r2=seconds_r2,
            seconds_tested=self._guesses.count,
        )

    @property
    def history(self) -> ForestHistory:
        """Return how the last fits went."""
        return ForestHistory(list(self._retrains))


def _check_classes(known: tuple[str, ...], view: View) -> None:
    present = int(view.device_class.max()) + 1
    if len(known) < present:
        raise InputError(
            f"hybrid_ml's model knows the {len(known)} device classes {', '.join(known)}, this "
            f"cluster has {present}: train it for this cluster with hms train"
        )
