"""Placements of jobs that really ran: measured times where they ran, learnt ones where they did not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybrid_scheduler.execution.jobs import Job
from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.model.placements import Placements
from hybrid_scheduler.model.tasks import Floats, Tasks, base_duration, no_edges


def tasks_of(jobs: Sequence[Job], arrival: Floats | None = None) -> Tasks:
    """Return jobs as tasks; their figures were checked when they were made."""
    size = np.array([job.size for job in jobs])
    intensity = np.array([job.intensity for job in jobs])
    return Tasks(
        size=size,
        compute_intensity=intensity,
        memory_required=np.array([job.memory for job in jobs]),
        arrival_time=np.array([job.arrival for job in jobs]) if arrival is None else arrival,
        task_id=np.array([job.number for job in jobs], np.int64),
        duration_estimate=base_duration(size, intensity),
        edges=no_edges(len(jobs)),
    )


def placements_of(
    jobs: Sequence[Job], cluster: Cluster, predicted: Floats, since: float = 0.0, tasks: Tasks | None = None
) -> Placements:
    """Return what became of jobs; `predicted` fills in the classes on which they did not run, `since` is time 0."""
    count, times = len(jobs), predicted.copy()
    fraction, status = np.full(count, np.nan), np.zeros(count, np.uint8)
    devices = np.full((2, count), -1, np.int32)
    starts = np.full((2, count), np.nan)
    for row, job in enumerate(jobs):
        status[row] = job.status
        if not job.shares:
            continue
        fraction[row] = job.gpu_fraction
        for share in job.shares:
            side = 0 if share.on_gpu else 1
            devices[side, row], starts[side, row] = share.device, share.start - since
            times[row, cluster.class_index[share.device]] = (share.end - share.start) / share.part
    placed = Placements(
        tasks=tasks_of(jobs, np.array([job.arrival - since for job in jobs])) if tasks is None else tasks,
        cluster=cluster,
        times=times,
        gpu_fraction=fraction,
        gpu=devices[0],
        cpu=devices[1],
        gpu_start=starts[0],
        cpu_start=starts[1],
        ready=np.array([job.ready - since for job in jobs]),
        finish=np.full(count, np.nan),
        status=status,
        measured=True,
    )
    # From the same sums as everywhere, so that a placement's end is its start plus its seconds to the last bit.
    ends = np.fmax(placed.gpu_start + placed.gpu_seconds, placed.cpu_start + placed.cpu_seconds)
    placed.finish[:] = np.where(placed.ran, ends, np.nan)
    return placed
