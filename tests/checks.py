"""Independent checks of a schedule: what must hold whatever policy made it."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.core import Placements
from hybrid_scheduler.core.metrics import idle_energy


def check_schedule(placements: Placements, *, queued: bool = True) -> None:
    """Check shares, memory, order, clocks and energy of a schedule."""
    _check_shares(placements)
    _check_memory(placements)
    _check_order(placements)
    _check_energy(placements)
    if queued:
        for device in range(len(placements.cluster.devices)):
            spans = spans_of(placements, device)
            assert np.all(spans[1:, 0] >= spans[:-1, 1]), f"device {device} does two things at once"


def spans_of(placements: Placements, device: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return start and end of everything a device does, aborted runs included, in order of start."""
    on_gpu, on_cpu, lost = placements.gpu == device, placements.cpu == device, placements.lost_runs
    begun, ended = lost.start[lost.device == device], lost.end[lost.device == device]
    start = np.concatenate([placements.gpu_start[on_gpu], placements.cpu_start[on_cpu], begun])
    seconds = np.concatenate([placements.gpu_seconds[on_gpu], placements.cpu_seconds[on_cpu]])
    end = np.concatenate([start[: len(seconds)] + seconds, ended])
    order = np.lexsort((end, start))
    return np.column_stack([start[order], end[order]])


def _check_shares(placements: Placements) -> None:
    ran, share = placements.ran, placements.gpu_fraction
    assert np.all((share[ran] >= 0) & (share[ran] <= 1))
    assert np.array_equal(placements.gpu[ran] >= 0, share[ran] > 0)
    assert np.array_equal(placements.cpu[ran] >= 0, share[ran] < 1)
    is_gpu = placements.cluster.is_gpu
    assert is_gpu[placements.gpu[ran & (share > 0)]].all()
    assert not is_gpu[placements.cpu[ran & (share < 1)]].any()
    node = np.array([device.node for device in placements.cluster.devices])
    split = ran & (share > 0) & (share < 1)
    assert np.array_equal(node[placements.gpu[split]], node[placements.cpu[split]])
    assert np.all(np.isnan(placements.finish[~ran]))


def _check_memory(placements: Placements) -> None:
    memory, need = placements.cluster.per_device("memory"), placements.tasks.memory_required
    for device, share in ((placements.gpu, placements.gpu_fraction), (placements.cpu, 1 - placements.gpu_fraction)):
        used = placements.ran & (device >= 0)
        assert np.all(share[used] * need[used] <= memory[device[used]] * (1 + 1e-12))


def _check_order(placements: Placements) -> None:
    ran, tasks = placements.ran, placements.tasks
    assert np.all(placements.start[ran] >= tasks.arrival_time[ran])
    ends = np.fmax(placements.gpu_start + placements.gpu_seconds, placements.cpu_start + placements.cpu_seconds)
    assert np.array_equal(ends[ran], placements.finish[ran])
    for row in np.flatnonzero(ran).tolist():
        parents = tasks.edges.neighbours(row)
        assert np.all(placements.finish[parents] <= placements.start[row]), f"row {row} starts before a parent ends"


def _check_energy(placements: Placements) -> None:
    """Energy of the tasks plus idle energy is the integral over the devices."""
    watts, idle = placements.cluster.per_device("watts"), placements.cluster.per_device("idle_watts")
    makespan = placements.makespan
    integral = 0.0
    for device in range(len(watts)):
        spans = spans_of(placements, device)
        busy = float((spans[:, 1] - spans[:, 0]).sum())
        integral += busy * watts[device] + max(makespan - busy, 0.0) * idle[device]
    total = float(placements.energy.sum() + idle_energy(placements).sum())
    assert np.isclose(total, integral, rtol=1e-9)
