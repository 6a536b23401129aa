"""One decision of a learner against the library that trained it, and what a comparison of one costs."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.rows import Row, require, side_by_side
from hybrid_scheduler import Cluster, WorkloadGenerator
from hybrid_scheduler.core.physics import class_times
from hybrid_scheduler.learning.dqn import init_weights
from hybrid_scheduler.learning.features import task_features
from hybrid_scheduler.learning.labels import label_isolated
from hybrid_scheduler.learning.predictors import RandomForestPredictor
from hybrid_scheduler.learning.q_network import DQN

ROWS = 2000


def _per_call(call: Callable[[], object], calls: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(calls):
            call()

    return run


def forest_decision() -> list[Row]:
    """Measure µs per prediction of one row, called from Python: ours, scikit-learn's and ONNX Runtime's."""
    import onnxruntime
    from skl2onnx import to_onnx

    tasks, cluster = WorkloadGenerator(1).generate_preset("mixed", ROWS), Cluster.default()
    rows = task_features(tasks)
    model = RandomForestPredictor()
    model.fit(rows, label_isolated(class_times(tasks, cluster), cluster), cv=0)
    scaled = ((rows - model.mean_) / model.scale_).astype(np.float32)
    session = onnxruntime.InferenceSession(to_onnx(model.model_, scaled[:1]).SerializeToString())
    forest, one, one_scaled = model.compiled_, rows[:1], scaled[:1]
    assert forest is not None  # noqa: S101  # fitted above
    asked = session.get_inputs()[0].name
    theirs = model.model_.predict(scaled)
    require(np.allclose(forest.predict(rows), theirs, atol=1e-9), "the compiled forest differs from scikit-learn's")
    onnx_says = session.run(None, {asked: scaled})[0].ravel()
    require(np.allclose(onnx_says, theirs, atol=1e-4), "ONNX Runtime differs from scikit-learn")
    ours, sklearn, onnx = side_by_side(
        5,
        _per_call(lambda: forest.predict(one), 2000),
        _per_call(lambda: model.model_.predict(one_scaled), 20),
        _per_call(lambda: session.run(None, {asked: one_scaled}), 2000),
    )
    speed = 2000 / ours
    return [
        Row("forest_vs_sklearn", speed, 20 / sklearn, "rows/s", target=500),
        Row("forest_vs_onnx", speed, 2000 / onnx, "rows/s", target=1.0),
    ]


def dqn_decision() -> list[Row]:
    """Measure scores per second of two candidates: compiled weights in a loop against a torch forward pass."""
    import torch
    from numba import njit

    from hybrid_scheduler.schedulers.rl_agent import FEATURES as SEEN
    from hybrid_scheduler.schedulers.rl_agent import dense

    weights = init_weights(len(SEEN), seed=1)
    network = DQN(weights)
    states = np.random.default_rng(0).normal(size=(1, 2, len(SEEN))).astype(np.float32)
    state, possible = torch.from_numpy(states), torch.ones(1, 2, dtype=torch.bool)
    hidden = tuple(np.zeros(n, np.float32) for n in (len(weights.b1), len(weights.b2), 2))

    @njit(error_model="numpy")
    def decide(states, weights, hidden):  # type: ignore[no-untyped-def]  # compiled: Numba infers them
        answers = np.empty(states.shape[1], np.float32)
        for candidate in range(states.shape[1]):
            dense(states[0, candidate], weights.w1, weights.b1, hidden[0], True)
            dense(hidden[0], weights.w2, weights.b2, hidden[1], True)
            dense(hidden[1], weights.w3, weights.b3, hidden[2], False)
            answers[candidate] = hidden[2][1]
        return answers

    @torch.no_grad()
    def forward() -> object:
        return network(state, possible)

    theirs_says = forward().numpy()[0]  # type: ignore[attr-defined]  # a tensor
    ours_says = decide(states, weights, hidden)
    require(
        np.isclose(ours_says[0] - ours_says[1], theirs_says[0] - theirs_says[1], atol=1e-5),
        "the compiled network differs from torch's",
    )
    ours, theirs = side_by_side(5, _per_call(lambda: decide(states, weights, hidden), 2000), _per_call(forward, 2000))
    return [Row("dqn_vs_torch", 2000 / ours, 2000 / theirs, "decisions/s", target=5)]


def agent_on_a_matrix() -> list[Row]:
    """Measure CPU seconds of `hms compare FILE -s rl_agent`, five seeds on 512 tasks × 16 machines, all processes."""
    random = np.random.default_rng(0)
    times = random.uniform(1, 3000, (512, 1)) * random.uniform(1, 1000, (512, 16))  # Braun et al. 2001: hihi

    def measure_seconds() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    with TemporaryDirectory() as folder:
        file = Path(folder) / "u_i_hihi.0"
        np.savetxt(file, times.ravel())
        command = [str(Path(sys.executable).with_name("hms")), "compare", str(file), "-s", "rl_agent"]
        seconds = []
        for _ in range(4):
            begin = measure_seconds()
            subprocess.run(command, check=True, capture_output=True)
            seconds.append(measure_seconds() - begin)
    return [Row("agent_on_a_matrix", float(np.median(seconds[1:])), 10.0, "CPU s", target=1, at_most=True)]
