"""Two levels: a first policy sends each task to a group of nodes, a second one places it within that group.

The first level never looks at devices. Every group reports its least loaded device of each class, with its queue, and
to the first policy those are all the devices that there are: with groups of about √n devices a decision takes some
√n steps instead of n. Any policy that answers `choose` can serve at either level; queues are ordered if the second
level orders them.

A group reports when a task is sent to it, and one other group in turn with every decision. With `refresh` a report
is at least so many seconds old before the next one is taken, as over a network that is polled; in between the first
level adds what it has sent itself. (Two-level scheduling: Schwarzkopf et al. 2013, "Omega"; stale information:
Mitzenmacher 2000, "How useful is old information?")
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any

import numpy as np

from hybrid_scheduler import registry
from hybrid_scheduler.core.cluster import GPU
from hybrid_scheduler.core.compiler import compiled, freeze, inline, is_compiled, jitable
from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.simulator import find_choose
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.errors import InputError, check_number
from hybrid_scheduler.schedulers.scheduler import Scheduler, plans_batches

Function = Callable[..., Any]
DEFAULT = "least_increase"


class Hierarchical(Scheduler):
    """A policy over groups of nodes, and one within each."""

    name = "hierarchical"
    batch_mode = True

    def __new__(cls, global_: str = DEFAULT, local: str = DEFAULT, *_: Any, **__: Any) -> Hierarchical:
        """Build the class for a pair of policies: it orders queues if the second does, and learns if one does."""
        first, second = _create("global", global_), _create("local", local)
        names = [name for name in ("key", "seconds") if callable(getattr(type(second), name, None))]
        members: dict[str, Function] = {name: _within_group(getattr(type(second), name)) for name in names}
        if first.learn_every or second.learn_every:
            members["learn"] = _learn
        built: Hierarchical = object.__new__(type(cls.__name__, (cls,), members) if members else cls)
        return built

    def __init__(
        self,
        global_: Annotated[str, "policy that chooses a group of nodes"] = DEFAULT,
        local: Annotated[str, "policy that places within the group"] = DEFAULT,
        nodes: Annotated[int, "nodes of a group; 0: so many that there are as many groups as devices in one"] = 0,
        refresh: Annotated[float, "seconds between two reports of a group; 0: with the decisions"] = 0.0,
        seed: Annotated[int, "seed of both policies"] = 0,
    ) -> None:
        check_number("hierarchical: nodes", nodes, 0, 10**6, whole=True)
        check_number("hierarchical: refresh", refresh, 0, 1e9)
        self._arguments = (global_, local, nodes, refresh, seed)
        self._levels = _create("global", global_, seed), _create("local", local, seed)
        self._nodes, self.refresh = nodes, float(refresh)
        first, second = self._levels
        self.clairvoyant = first.clairvoyant or second.clairvoyant  # type: ignore[misc]  # of both, so of the object
        self.stochastic = first.stochastic or second.stochastic  # type: ignore[misc]  # likewise
        self.splits = second.splits  # type: ignore[misc]  # likewise
        self.indexes_queues = any(getattr(each, "indexes_queues", False) for each in self._levels)
        self.learn_every = max(each.learn_every for each in self._levels)

    def __reduce__(self) -> tuple[Any, ...]:
        # The class was built for this pair, and so were the types of what the loop reads of both levels.
        state = {name: each for name, each in vars(self).items() if name not in ("upper", "lower")}
        return Hierarchical, self._arguments, state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.upper, self.lower = map(freeze, self._levels)

    def reorders(self, tasks: Tasks) -> bool:
        """Whether queues are ordered, as the second level says."""
        asked = getattr(self._levels[1], "reorders", None)
        return hasattr(type(self), "key") and (bool(asked(tasks)) if callable(asked) else True)

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> None:
        """Form the groups, and let both levels look at the block."""
        self._form_groups(view)
        first, second = self._levels
        summary, largest = view_groups(self, view), int(np.diff(self.first).argmax())
        for level, known in ((first, summary), (second, view_group(self, largest, view))):
            if level.prepare(tasks, times, known) is not None:
                raise InputError(f"hierarchical: '{level.name}' plans the order of graphs: take one that does not")
        self.upper, self.lower = freeze(first), freeze(second)

    def _form_groups(self, view: View) -> None:
        """Cut the devices into groups of consecutive nodes; reports begin with every device as it is."""
        count, nodes = len(view.free), int(view.node[-1]) + 1
        size = self._nodes or max(1, round((nodes * nodes / count) ** 0.5))
        group = view.node // size
        groups, classes = int(group[-1]) + 1, int(view.device_class.max()) + 1
        self.first = np.searchsorted(group, np.arange(groups + 1)).astype(np.int64)
        self.group = group.astype(np.int64)  # by device
        self.own_cpu = view.first_cpu - self.first[group]
        self.own_gpus = view.gpus - self.first[group[view.gpus]]
        self.gpu_first = np.searchsorted(group[view.gpus], np.arange(groups + 1)).astype(np.int64)
        # Places of the first level: one per group and class that has devices there, CPUs first as within a node.
        pairs, members = np.unique(np.column_stack([group, view.kind, view.device_class]), axis=0, return_counts=True)
        self.place = np.full((groups, classes), -1)
        self.place[pairs[:, 0], pairs[:, 2]] = np.arange(len(pairs))
        self.place_group, self.place_kind, self.place_class = (np.ascontiguousarray(each) for each in pairs.T)
        self.members = members.astype(np.float64)
        self.place_first_cpu = np.searchsorted(self.place_group, self.place_group).astype(np.int64)
        self.place_gpus = np.flatnonzero(self.place_kind == GPU)
        cpus = np.bincount(self.place_group, self.place_kind != GPU, groups)
        self.place_cpus = cpus[self.place_group].astype(np.int64)
        shape = (len(pairs), view.queue_count.shape[1]) if len(view.queue_count) else (0, 0)
        self.place_count, self.place_work = np.zeros(shape, np.int64), np.zeros(shape)
        self.free, self.running_end, self.memory, self.watts, self.dollars, self.bandwidth = np.zeros((6, len(pairs)))
        self.waiting, self.least = np.zeros(len(pairs), np.int64), np.zeros(classes, np.int64)
        self.reported, self.turn = (
            np.full(groups, -np.inf),
            np.array([0, -1]),
        )  # whose turn it is, who was sent a task
        self.no_index, self.nothing = np.empty(0, np.int64), np.empty(0)
        for number in range(groups):
            report(self, number, view)

    @property
    def chooser(self) -> Function:
        """Both levels' present rules in one function, compiled if both are."""
        return _combine(*map(find_choose, self._levels))

    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Choose a group, then a device of it."""
        decision: tuple[float, int] = self.chooser(self, task, view)
        return decision


_own, *_options = inspect.signature(Hierarchical.__init__, eval_str=True).parameters.values()
# Python would look at `__new__`, which takes what it does not read.
Hierarchical.__signature__ = inspect.Signature(_options)  # type: ignore[attr-defined]  # as `inspect` looks for it


def _learn(policy: Hierarchical, placements: Placements) -> None:
    """Let both levels learn."""
    for level in policy._levels:
        if level.learn_every:
            level.learn(placements)


def _create(level: str, spec: str, seed: int = 0) -> Scheduler:
    policy: Scheduler = registry.schedulers.create(spec, seed=seed)
    if isinstance(policy, Hierarchical) or plans_batches(policy) or callable(getattr(policy, "pick", None)):
        raise InputError(f"hierarchical: {level} is '{spec}', expected one that decides task by task, such as eft")
    return policy


@cache
def _combine(upper: Function, lower: Function) -> Function:
    """Return `choose` of two rules."""
    ask_upper, ask_lower = jitable(upper), jitable(lower)

    def choose(self: Any, task: TaskView, view: View) -> tuple[float, int]:
        take_reports(self, task.ready_time, view)
        _, place = ask_upper(self.upper, task, view_groups(self, view))
        group = self.place_group[place]
        share, device = ask_lower(self.lower, task, view_group(self, group, view))
        note_sent(self, place, task)
        return share, device + self.first[group]

    return compiled(choose) if is_compiled(upper) and is_compiled(lower) else choose


@cache
def _within_group(method: Function) -> Function:
    """Return a method of the second level as one of the whole."""
    ask = jitable(method)

    def of_group(self: Any, task: TaskView, view: View, device: int) -> float:
        group = self.group[device]
        return ask(self.lower, task, view_group(self, group, view), device - self.first[group])

    return compiled(of_group) if is_compiled(method) else of_group


@inline
def view_groups(policy: Any, view: View) -> View:
    """Return the groups as devices: the least loaded one of each class, as it was reported."""
    return View(
        policy.free, policy.nothing, policy.place_kind, policy.place_class, policy.place_group, policy.memory,
        policy.bandwidth, policy.watts, policy.dollars, policy.place_gpus, policy.place_first_cpu, policy.place_cpus,
        view.network, view.queued, policy.running_end, policy.waiting, policy.place_count, policy.place_work, None,
        view.ended, view.history, view.expected,
    )  # fmt: skip


@inline
def view_group(policy: Any, group: int, view: View) -> View:
    """Return the devices of a group, counted from 0."""
    a, b = policy.first[group], policy.first[group + 1]
    gpus = policy.own_gpus[policy.gpu_first[group] : policy.gpu_first[group + 1]]
    return View(
        view.free[a:b], view.arrives[a:b], view.kind[a:b], view.device_class[a:b], view.node[a:b], view.memory[a:b],
        view.bandwidth[a:b], view.watts[a:b], view.dollars[a:b], gpus, policy.own_cpu[a:b], view.cpu_count[a:b],
        view.network, view.queued, view.running_end[a:b], view.waiting[a:b], view.queue_count[a:b],
        view.queue_work[a:b], None, view.ended, view.history, view.expected,
    )  # fmt: skip


@jitable
def take_reports(policy: Any, now: float, view: View) -> None:
    """Take the reports of the group that was sent a task and of the one whose turn it is, or of all that are due."""
    groups = len(policy.reported)
    if policy.refresh == 0.0:
        if policy.turn[1] >= 0:
            report(policy, policy.turn[1], view)
        report(policy, policy.turn[0], view)
        policy.turn[0] = (policy.turn[0] + 1) % groups
        return
    for group in range(groups):
        if now - policy.reported[group] >= policy.refresh:
            policy.reported[group] = now
            report(policy, group, view)


@jitable
def report(policy: Any, group: int, view: View) -> None:
    """Note the least loaded device of each class of a group."""
    policy.least[:] = -1
    for device in range(policy.first[group], policy.first[group + 1]):
        best = policy.least[view.device_class[device]]
        if view.memory[device] >= 0.0 and (best < 0 or view.free[device] < view.free[best]):
            policy.least[view.device_class[device]] = device
    for kind in range(len(policy.least)):
        place, best = policy.place[group, kind], policy.least[kind]
        if place >= 0:
            policy.memory[place] = view.memory[best] if best >= 0 else -1.0
        if place >= 0 and best >= 0:
            policy.free[place], policy.running_end[place] = view.free[best], view.running_end[best]
            policy.watts[place], policy.dollars[place] = view.watts[best], view.dollars[best]
            policy.bandwidth[place] = view.bandwidth[best]
            if policy.waiting[place] > 0 or view.waiting[best] > 0:
                policy.waiting[place] = view.waiting[best]
                for at in range(policy.place_count.shape[1]):
                    policy.place_count[place, at] = view.queue_count[best, at]
                    policy.place_work[place, at] = view.queue_work[best, at]


@jitable
def note_sent(policy: Any, place: int, task: TaskView) -> None:
    """Remember where a task was sent; until that group reports, its work is estimated."""
    group, seconds = policy.place_group[place], task.times[policy.place_class[place]]
    policy.turn[1] = group
    if policy.refresh > 0.0 and np.isfinite(seconds):
        for ends in (policy.free, policy.running_end):
            ends[place] = max(ends[place], task.ready_time) + seconds / policy.members[place]
