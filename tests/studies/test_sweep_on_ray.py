"""A sweep on a Ray cluster gives the bytes that processes give, and survives what a cluster does."""

from pathlib import Path

import real_tasks
from hybrid_scheduler.processes import JobOutcome
from hybrid_scheduler.runtime.ray_backend import run_on_ray
from hybrid_scheduler.studies.sweep import Grid, digest, run_on_processes, run_sweep
from ray_nodes import RayCluster

GRID = Grid(("eft", "random"), loads=(0.8, 1.5), seeds=(0, 1), tasks=60)


def test_a_cluster_writes_the_same_table(ray_cluster: RayCluster, tmp_path: Path) -> None:
    run_sweep(GRID, tmp_path / "here", run_on_processes(1, time_limit=100))
    run_sweep(GRID, tmp_path / "there", run_on_ray(ray_cluster.address))
    assert digest(tmp_path / "here") == digest(tmp_path / "there")


def test_a_job_that_is_refused_is_an_outcome_as_any_other(ray_cluster: RayCluster) -> None:
    outcomes = sorted(
        run_on_ray(ray_cluster.address)(real_tasks.tenfold_if_even, range(5)), key=lambda each: each.number
    )
    assert outcomes == [
        JobOutcome(0, 0),
        JobOutcome(1, None, "1 is odd"),
        JobOutcome(2, 20),
        JobOutcome(3, None, "3 is odd"),
        JobOutcome(4, 40),
    ]
