"""Logarithms and exponentials are those of the C library, whatever instructions the processor has."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from hybrid_scheduler.core import elementary
from hybrid_scheduler.core.tasks import Floats

FUNCTIONS: list[tuple[Callable[[Floats], Floats], Callable[[float], float]]] = [
    (elementary.log, math.log),
    (elementary.log1p, math.log1p),
    (elementary.log2, math.log2),
    (elementary.log10, math.log10),
    (elementary.exp, math.exp),
]
LEARN = """
import hashlib
from hybrid_scheduler import Cluster, WorkloadGenerator
from hybrid_scheduler.core.physics import class_times
from hybrid_scheduler.learning.durations import DurationModel
from hybrid_scheduler.learning.features import FeatureTable
tasks, cluster = WorkloadGenerator(seed=11).generate_preset("long_tail", 300, load=2.0), Cluster.default()
model = DurationModel.fit(FeatureTable.from_tasks(tasks), class_times(tasks, cluster), cluster, seed=1)
print(hashlib.sha256(model.forest.values.tobytes()).hexdigest())
"""


@pytest.mark.parametrize(("ours", "plain"), FUNCTIONS)
@pytest.mark.parametrize("count", [7, 5000])  # interpreted and compiled
def test_they_are_bit_identical_to_math(
    ours: Callable[[Floats], Floats], plain: Callable[[float], float], count: int
) -> None:
    values = np.random.default_rng(3).uniform(1e-9, 600.0, (count, 2))
    assert ours(values).tolist() == [[plain(one), plain(two)] for one, two in values.tolist()]


@pytest.mark.parametrize("repeated", [1, 100])
def test_where_math_raises_they_answer_as_numpy_does(repeated: int) -> None:
    values = np.tile([0.0, -1.0, -2.0, np.inf, -np.inf, np.nan, 800.0], repeated)
    with np.errstate(all="ignore"):
        for ours, theirs in (
            (elementary.log, np.log), (elementary.log1p, np.log1p), (elementary.log2, np.log2),
            (elementary.log10, np.log10), (elementary.exp, np.exp),
        ):  # fmt: skip
            np.testing.assert_allclose(ours(values), theirs(values), rtol=1e-14)


def test_a_forest_decides_alike_with_and_without_vector_instructions() -> None:
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])  # beyond what NumPy takes for granted
    digests = {_learn({}), _learn({"NPY_DISABLE_CPU_FEATURES": " ".join(found)})}
    assert len(digests) == 1


def _learn(environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LEARN],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
