"""Small instances that tests share: clusters, workloads and a Hypothesis strategy for both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from hybrid_scheduler.core import Cluster, DeviceClass, Node, Tasks
from hybrid_scheduler.core.cluster import DEFAULT_CPU
from hybrid_scheduler.core.tasks import edges_from_ids
from hybrid_scheduler.workloads import WorkloadGenerator

TWO_NODES = Cluster(
    (
        DeviceClass("cpu", kind="cpu", watts=30.0, idle_watts=5.0, memory=4000.0),
        DeviceClass("fast", speed=2.0, memory=300.0, bandwidth=8000.0, watts=120.0, idle_watts=20.0),
        DeviceClass("slow", speed=0.7, memory=2000.0, bandwidth=16000.0, idle_watts=10.0),
    ),
    (Node({"cpu": 2, "fast": 1, "slow": 2}), Node({"cpu": 1, "slow": 1}), Node({"cpu": 1})),
)
CLUSTERS = {
    "default": Cluster.default(),
    "two GPUs": Cluster.default(gpus=2),
    "no GPU": Cluster.default(gpus=0),
    "several nodes and classes": TWO_NODES,
}


def machines(times: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> tuple[Tasks, Cluster]:
    """Return a batch whose time on machine m is `times[:, m]`; machine 0 counts as the CPU."""
    count, number = times.shape
    classes = [DeviceClass("m0", kind="cpu"), *(DeviceClass(f"m{m}") for m in range(1, number))]
    cluster = Cluster(tuple(classes), (Node({each.name: 1 for each in classes}),))
    ones = np.ones(count)
    tasks = Tasks.build(ones, ones, ones, measured={f"m{m}": times[:, m] for m in range(number)})
    return tasks, cluster


def workload(preset: str = "mixed", count: int = 200, seed: int = 1, load: float | None = 1.2) -> Tasks:
    """Return a preset's tasks."""
    return WorkloadGenerator(seed).generate_preset(preset, count, load=load)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Draw clusters of one to four nodes, some without a GPU, with one to three GPU classes and limits of memory."""
    gpus = [
        DeviceClass(
            f"gpu{k}",
            speed=draw(st.floats(0.2, 4.0)),
            memory=draw(st.sampled_from([200.0, 400.0, 8000.0])),
            bandwidth=draw(st.sampled_from([500.0, 16000.0, float("inf")])),
            idle_watts=draw(st.sampled_from([0.0, 7.0])),
        )
        for k in range(draw(st.integers(1, 3)))
    ]
    counts = st.integers(0, 2)
    nodes = [
        Node({"cpu": draw(st.integers(1, 2)), **{gpu.name: draw(counts) for gpu in gpus}})
        for _ in range(draw(st.integers(1, 4)))
    ]
    cpu = replace(DEFAULT_CPU, memory=draw(st.sampled_from([float("inf"), 300.0])))
    return Cluster((cpu, *gpus), tuple(nodes))


@st.composite
def task_lists(draw: st.DrawFn, cluster: Cluster, most: int = 25) -> Tasks:
    """Draw tasks for a cluster: arrivals, dependencies with data to move, measured times, some impossible."""
    count = draw(st.integers(1, most))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    gap = draw(st.sampled_from([0.0, 0.01, 1.0]))
    parents: list[list[int]] = [[] for _ in range(count)]
    if draw(st.booleans()):
        parents = [
            sorted(set(generator.integers(0, row, min(row, 3)).tolist())) if row else [] for row in range(count)
        ]
        parents = [ids if generator.random() < 0.6 else [] for ids in parents]
    megabytes = [[float(generator.choice([0.0, 50.0, 800.0])) for _ in ids] for ids in parents]
    measured = {}
    if draw(st.booleans()):
        for each in draw(st.lists(st.sampled_from(cluster.classes), min_size=1, unique=True)):
            times = generator.uniform(0.01, 2.0, count)
            times[generator.random(count) < 0.2] = np.inf
            times[generator.random(count) < 0.2] = np.nan
            measured[each.name] = times
    return Tasks.build(
        size=generator.uniform(100, 5000, count),
        compute_intensity=generator.uniform(0, 1, count),
        memory_required=generator.uniform(0, 500, count),
        arrival_time=generator.permutation(np.cumsum(generator.exponential(gap, count))) if gap else None,
        edges=edges_from_ids(list(range(count)), parents, megabytes),
        measured=measured,
        expected=draw(expectations(cluster, count)),
    )


@st.composite
def expectations(
    draw: st.DrawFn, cluster: Cluster, count: int
) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Draw what is believed of the tasks' times: often nothing, sometimes numbers of little truth."""
    if draw(st.booleans()):
        return {}
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    told = {each.name: generator.uniform(0.01, 2.0, count) for each in cluster.classes if generator.random() < 0.8}
    for column in told.values():
        column[generator.random(count) < 0.2] = np.nan
    return told


@st.composite
def instances(draw: st.DrawFn) -> tuple[Tasks, Cluster]:
    """Draw a cluster and tasks for it."""
    cluster = draw(clusters())
    return draw(task_lists(cluster)), cluster
