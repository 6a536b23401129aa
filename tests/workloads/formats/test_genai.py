"""Alibaba's requests for images: only those that succeeded, with their steps, users and models."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hybrid_scheduler.workloads.formats import reader
from workloads.formats.samples import genai_file


def test_failed_and_unfinished_requests_are_no_tasks(tmp_path: Path) -> None:
    found = reader.read_all(genai_file(tmp_path))
    assert (found.rows, dict(found.skipped)) == (4, {"failed": 1, "had not ended": 1})
    assert found.tasks.measured["gpu"].tolist() == [32.0, 43.0]
    assert np.isinf(found.tasks.measured["cpu"]).all()
    assert found.tasks.arrival_time.tolist() == [0.0, 4704.0]


def test_steps_users_and_models_are_features(tmp_path: Path) -> None:
    features = reader.read_all(genai_file(tmp_path)).tasks.features
    assert features["steps"].tolist() == [30.0, 40.0]
    assert features["images"].tolist() == [1.0, 8.0]
    assert features["user"].tolist() == [0.0, 1.0]
    assert features["model"].tolist() == [0.0, 1.0]
    assert features["loras"].tolist() == [0.0, 1.0]
    assert np.isnan(features["negative_prompt_length"][1])
