"""Why this device: what a policy sees of every candidate, and which one it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_scheduler.view import TaskView, View, start_on

if TYPE_CHECKING:
    from hybrid_scheduler.schedulers.scheduler import Scheduler


def explain(scheduler: Scheduler, task: TaskView, view: View) -> list[dict[str, float | str | bool]]:
    """Return one line per device: seconds of the whole task, wait, finish, energy, cost, chosen or not."""
    gpu_fraction, chosen = scheduler.choose(task, view)
    lines: list[dict[str, float | str | bool]] = []
    for device in range(len(view.free)):
        seconds = float(task.times[view.device_class[device]])
        start = float(start_on(task, view, device))
        lines.append(
            {
                "device": device,
                "seconds": seconds,
                "wait": start - float(task.ready_time),
                "finish": start + seconds,
                "energy": seconds * float(view.watts[device]),
                "cost": seconds * float(view.dollars[device]),
                "gpu_fraction": float(gpu_fraction) if device == chosen else 0.0,
                "chosen": device == chosen,
            }
        )
    return lines
