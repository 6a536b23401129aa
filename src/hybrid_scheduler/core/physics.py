"""The execution model: how long a task takes on a device class, and which tasks no device can run.

These formulas appear nowhere else. Shares are linear: a share f of a task takes f times its time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.compiler import jit_later, run_in_threads
from hybrid_scheduler.core.placements import NO_DEVICE, NO_MEMORY, NO_PARENT, RAN
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.errors import InputError


def class_times(tasks: Tasks, cluster: Cluster) -> Floats:
    """Return the seconds of every whole task on every class.

    Measured times override the formulas, which fill in what is NaN. A class without any column cannot run a task that
    was measured elsewhere: no formula replaces a measurement unless someone asks for it (`assume_formula`).
    """
    classes = cluster.classes
    times = np.empty((len(tasks), len(classes)))
    # Speed-up slope, 1 / speed and 1 / bandwidth of every class; CPUs need no transfer.
    rows = [
        (each.speedup_slope, 1.0 / each.speed, 1.0 / each.bandwidth)
        if each.kind == "gpu"
        else (0.0, 1.0 / each.speed, 0.0)
        for each in classes
    ]
    figures = np.array(rows, np.float64)

    def fill(first: int, last: int) -> None:
        part = slice(first, last)
        base, intensity, memory = tasks.duration_estimate, tasks.compute_intensity, tasks.memory_required
        _fill_times(times[part], base[part], intensity[part], memory[part], figures)

    run_in_threads(fill, len(tasks))
    for column, each in enumerate(classes):
        if each.name in tasks.measured:
            measured = tasks.measured[each.name]
            times[:, column] = np.where(np.isnan(measured), times[:, column], measured)
        elif tasks.measured:
            times[~np.all([np.isnan(known) for known in tasks.measured.values()], axis=0), column] = np.inf
    if tasks.measured and not any(each.name in tasks.measured for each in classes):
        raise InputError(
            f"the tasks carry measured times of {_list_names(tasks.measured)}, the cluster has "
            f"{_list_names(each.name for each in classes)}: name the cluster's classes like "
            "the measurements, or take the model's times (--assume formula)"
        )
    return times


def assume_formula(tasks: Tasks, cluster: Cluster) -> Tasks:
    """Return the tasks with the formulas for classes of which they carry no measured times."""
    unknown = np.full(len(tasks), np.nan)
    return replace(tasks, measured={**dict.fromkeys(unmeasured_classes(tasks, cluster), unknown), **tasks.measured})


def unmeasured_classes(tasks: Tasks, cluster: Cluster) -> list[str]:
    """Return the classes with devices of which tasks with measured times carry none."""
    present = [each.name for each, count in zip(cluster.classes, cluster.counts, strict=True) if count]
    return [name for name in present if name not in tasks.measured] if tasks.measured else []


def _list_names(names: Iterable[str], most: int = 6) -> str:
    known = list(names)
    return ", ".join(known[:most]) + (f" and {len(known) - most} more" if len(known) > most else "")


def apply_expected_times(tasks: Tasks, cluster: Cluster, actual: Floats) -> Floats:
    """Return the class times known before a task runs: the expected ones if it carries any, else the actual ones.

    Which classes can run a task is known: expected times never turn an infinite time into a finite one or back.
    """
    given = [(column, each.name) for column, each in enumerate(cluster.classes) if each.name in tasks.expected]
    if not given:
        return actual
    times = actual.copy()
    for column, name in given:
        expected = tasks.expected[name]
        usable = np.isfinite(expected) & np.isfinite(actual[:, column])
        times[usable, column] = expected[usable]
    return times


@jit_later
def _fill_times(times: Floats, base: Floats, intensity: Floats, memory: Floats, figures: Floats) -> None:
    for i in range(len(base)):
        for c in range(len(figures)):
            slope, per_speed, per_bandwidth = figures[c]
            times[i, c] = base[i] * per_speed / (1.0 + slope * intensity[i]) + memory[i] * per_bandwidth


def best_split_times(times: Floats, cluster: Cluster) -> Floats:
    """Return the shortest possible seconds of every task, split between its best CPU and its best GPU.

    Both shares end together after t_cpu·t_gpu/(t_cpu + t_gpu).
    """
    present = cluster.counts > 0
    is_gpu = np.array([each.kind == "gpu" for each in cluster.classes])
    count = len(times)
    best_cpu = times[:, present & ~is_gpu].min(axis=1, initial=np.inf)
    best_gpu = times[:, present & is_gpu].min(axis=1, initial=np.inf) if count else np.empty(0)
    # A class that cannot run the task has speed 0, so speeds add up without special cases.
    speed = 1.0 / best_cpu + 1.0 / best_gpu
    shortest: Floats = np.divide(1.0, speed, out=np.full(count, np.inf), where=speed > 0)
    return shortest


def whole_times(tasks: Tasks, times: Floats, cluster: Cluster) -> Floats:
    """Return class times with inf where a whole task does not fit the memory of a device."""
    memory = cluster.per_class("memory")
    if tasks.most_memory <= memory.min():
        return times
    return np.where(tasks.memory_required[:, None] <= memory, times, np.inf)


def shortest_times(tasks: Tasks, times: Floats, cluster: Cluster) -> Floats:
    """Return the shortest possible seconds of every task: split if it may be, in shares that fit."""
    shortest = best_split_times(times, cluster)
    whole = whole_times(tasks, times, cluster)
    divisible = np.broadcast_to(tasks.divisible, len(tasks))
    if whole is times and divisible.all():
        return shortest
    present, is_gpu = cluster.counts > 0, np.array([each.kind == "gpu" for each in cluster.classes])
    best = whole[:, present].min(axis=1, initial=np.inf)
    on_cpu = times[:, present & ~is_gpu].min(axis=1, initial=np.inf)
    caps = _largest_shares(tasks, cluster)
    for column in np.flatnonzero(present & is_gpu):
        on_gpu = times[:, column]
        with np.errstate(invalid="ignore"):
            share = np.minimum(on_cpu / (on_cpu + on_gpu), caps[:, column])
            split = np.maximum(share * on_gpu, (1.0 - share) * on_cpu)
        best = np.where(divisible & (split < best), split, best)
    return np.where(divisible & (whole == times).all(axis=1), shortest, best)


def find_pieces(tasks: Tasks, times: Floats, cluster: Cluster) -> tuple[Ints, Floats]:
    """Return pieces of tasks, as rows and class times, such that any schedule places each piece on one class or more.

    A GPU that holds the share m of a task's memory takes at most that share of it. So a task is cut at these shares,
    and a piece beyond m cannot run there. A task that fits everywhere is one piece.
    """
    rows = np.arange(len(tasks))
    whole = whole_times(tasks, times, cluster)
    limited = np.flatnonzero((whole != times).any(axis=1)) if whole is not times else rows[:0]
    if not len(limited):
        return rows, times
    seconds = times[limited]
    caps = np.where(np.isfinite(seconds) & (cluster.counts > 0), _largest_shares(tasks, cluster)[limited], 0.0)
    is_gpu = np.array([each.kind == "gpu" for each in cluster.classes])
    on_cpu, on_gpu = (caps[:, which].max(axis=1, initial=0.0)[:, None] for which in (~is_gpu, is_gpu))
    # A share needs a partner for the rest. That of a CPU is not bounded here, which can only lower a bound.
    divisible = np.broadcast_to(tasks.divisible, len(tasks))[limited][:, None]
    partner = divisible & (caps > 0) & (caps + np.where(is_gpu, on_cpu, on_gpu) >= 1.0 - 1e-9)
    caps = np.where(caps < 1.0, np.where(partner, np.where(is_gpu, caps, 1.0), 0.0), caps)
    upper = np.sort(caps, axis=1)
    width = np.diff(upper, axis=1, prepend=0.0)
    place, level = np.nonzero(width > 0)
    part, end = width[place, level][:, None], upper[place, level][:, None]
    pieces = np.where(caps[place] >= end, part * np.where(caps[place] > 0, seconds[place], 0.0), np.inf)
    uncut = np.setdiff1d(rows, limited)
    owners = np.concatenate([uncut, limited[place]])
    order = np.argsort(owners, kind="stable")
    return owners[order], np.concatenate([times[uncut], pieces])[order]


def _largest_shares(tasks: Tasks, cluster: Cluster) -> Floats:
    """Return the largest share of every task that fits the memory of a device of every class."""
    need = tasks.memory_required[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares: Floats = np.where(need > 0, np.minimum(cluster.per_class("memory") / need, 1.0), 1.0)
    return shares


def rejections(tasks: Tasks, times: Floats, cluster: Cluster) -> npt.NDArray[np.uint8]:
    """Return for every task `RAN` if some device can run it whole, else the reason why none can."""
    memory = np.array([each.memory for each in cluster.classes])
    if not tasks.measured and tasks.most_memory <= memory[cluster.counts > 0].max():
        return np.full(len(tasks), RAN, np.uint8)  # the usual case: every task fits some device
    status = _check_fit(tasks.memory_required, times, memory, cluster.counts)
    if tasks.has_edges and status.any():
        for row in tasks.topological:
            if status[row] == RAN and status[tasks.edges.neighbours(row)].any():
                status[row] = NO_PARENT
    return status


@jit_later
def _check_fit(need: Floats, times: Floats, memory: Floats, counts: Ints) -> npt.NDArray[np.uint8]:
    status = np.empty(len(need), np.uint8)
    for i in range(len(need)):
        status[i] = NO_DEVICE
        for c in range(len(memory)):
            if counts[c] == 0 or not np.isfinite(times[i, c]):
                continue
            if need[i] <= memory[c]:
                status[i] = RAN
                break
            status[i] = NO_MEMORY
    return status
