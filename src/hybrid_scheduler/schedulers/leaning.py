"""How hybrid_ml decides by a predicted share: lean to a GPU or a CPU, then let the queues speak."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid_scheduler.compiling import compiled
from hybrid_scheduler.model.cluster import GPU
from hybrid_scheduler.view import TaskView, View, start_on

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
