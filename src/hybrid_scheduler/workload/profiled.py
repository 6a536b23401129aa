"""Tasks of a measured machine: the kernels of its profile, or a preset with the durations of its law."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.model.tasks import Tasks, base_duration
from hybrid_scheduler.profiling.calibration import calibrate
from hybrid_scheduler.profiling.profile import TO_DEVICE, Point, Profile
from hybrid_scheduler.workload.generator import WorkloadGenerator, paced
from hybrid_scheduler.workload.presets import preset

PROFILE = "profile"
"""The workload that consists of a profile's own kernels."""
NUM_TASKS = 2000


def profiled(
    profile: Profile,
    name: str,
    seed: int,
    cluster: Cluster,
    *,
    num_tasks: int | None = None,
    rate: float | None = None,
    load: float | None = None,
) -> Tasks:
    """Draw the tasks of a seed; neither rate nor load is load 0.9, or all at once for a graph."""
    if name == PROFILE:
        drawn = kernel_tasks(profile, seed, NUM_TASKS if num_tasks is None else num_tasks)
        return paced(drawn, cluster, rate=rate, load=load)
    tasks = WorkloadGenerator(seed).generate_preset(name, num_tasks, rate=1.0)
    law = calibrate(profile).duration
    base = base_duration(tasks.size, tasks.compute_intensity, law.scale, law.exponent)
    lasting = replace(tasks, duration_estimate=base)
    return paced(lasting, cluster, rate=rate, load=load, batch=preset(name).graph is not None)


def kernel_tasks(profile: Profile, seed: int, count: int) -> Tasks:
    """Draw measured kernels and sizes evenly, arriving as a Poisson stream of one task a second.

    Times on a device that was measured are the measured ones; the GPU's contain the transfer, as the model's do. A
    device that was not measured has none, so the physics fill them in.
    """
    which, gaps = (np.random.default_rng([seed, column]) for column in range(2))
    rows = which.integers(0, len(profile.points), count)
    kinds = profile.tasks
    times = {"cpu": kinds.duration_estimate}
    if profile.gpu_measured:
        times["gpu"] = np.array([gpu_seconds(profile, point) for point in profile.points])
    return Tasks.build(
        size=kinds.size[rows],
        compute_intensity=kinds.compute_intensity[rows],
        memory_required=kinds.memory_required[rows],
        arrival_time=np.cumsum(gaps.exponential(1.0, count)),
        duration_estimate=kinds.duration_estimate[rows],
        measured={name: column[rows] for name, column in times.items()},
    )


def gpu_seconds(profile: Profile, point: Point) -> float:
    """Return measured seconds of a kernel on the GPU with its transfer; NaN where it was not measured."""
    link = profile.link(TO_DEVICE)
    return point.gpu.seconds + link.seconds(point.megabytes) if point.gpu and link else float("nan")
