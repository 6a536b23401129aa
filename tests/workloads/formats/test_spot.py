"""Alibaba's spot GPU jobs: a task for each GPU of each worker, on the model that the job asks for."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hybrid_scheduler.workloads.formats import reader
from workloads.formats.samples import spot_files


def test_a_job_takes_the_gpus_of_its_workers_on_its_model_only(tmp_path: Path) -> None:
    found = reader.read_all(spot_files(tmp_path))
    assert (found.rows, dict(found.skipped)) == (4, {"ran for 0 s": 1})
    times = found.tasks.measured
    assert times["a10"].tolist() == [2764.0, *[np.inf] * 6, 50.0]  # half a GPU for 100 s
    assert times["a100_sxm4_80gb"].tolist() == [np.inf, *[410.0] * 6, np.inf]
    assert np.isinf(times["h800"]).all()
    assert found.tasks.features["type"].tolist() == [0.0, *[1.0] * 7]  # HP, Spot
    assert found.tasks.features["user"].tolist() == [0.0, *[1.0] * 7]


def test_the_nodes_are_the_cluster(tmp_path: Path) -> None:
    cluster = reader.read_all(spot_files(tmp_path)).cluster
    assert cluster is not None
    assert cluster.shape == {"cpu": 3, "a10": 1, "a100_sxm4_80gb": 8, "h800": 8}


def test_without_nodes_there_are_eight_gpus_of_each_model(tmp_path: Path) -> None:
    cluster = reader.read_all(spot_files(tmp_path)[:1]).cluster
    assert cluster is not None
    assert cluster.shape == {"cpu": 1, "a10": 8, "a100_sxm4_80gb": 8}
