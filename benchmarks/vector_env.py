"""Steps a second of the vectorised environments, random actions, one core, against other ways to do the same.

Both sides take the same number of decisions on workloads of the same preset; resets are part of it. The environments
of Gymnasium and Stable-Baselines3 are our single environment, once by itself and once in `DummyVecEnv`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import DummyVecEnv

from benchmarks.rows import Row, side_by_side
from hybrid_scheduler.env import PickingVectorEnv, SchedulingEnv, SchedulingVectorEnv

PLACES, TASKS = 1024, 200
WANTED = 3_000_000.0
"""Steps a second that one core shall take, random actions included."""


def vector_env() -> list[Row]:
    """Measure our compiled steps against the single environment and against SB3's wrapper around it."""
    many, late = _play_many(SchedulingVectorEnv, 200), _play_many(PickingVectorEnv, 50)
    single, wrapped = _play_single(400), _play_wrapped(50)
    sides = [each[1] for each in (many, late, single, wrapped)]
    seconds = side_by_side(5, *sides, clock=time.process_time)
    rates = [each[0] / took for each, took in zip((many, late, single, wrapped), seconds, strict=True)]
    return [
        Row("vector_env", rates[0], WANTED, "steps/s", target=1.0),
        Row("vector_env_vs_single", rates[0], rates[2], "steps/s", target=100.0),
        Row("vector_env_vs_sb3", rates[0], rates[3], "steps/s", target=20.0),
        Row("vector_env_late_binding_vs_sb3", rates[1], rates[3], "steps/s", target=20.0),
    ]


def _play_many(kind: type[SchedulingVectorEnv], rounds: int) -> tuple[int, Callable[[], object]]:
    env = kind(PLACES, num_tasks=TASKS, pool=16)
    actions = env.single_action_space.n  # type: ignore[attr-defined]  # of a Discrete space
    generator = np.random.default_rng(0)
    env.reset(seed=0)

    def play() -> None:
        for _ in range(rounds):
            env.step(generator.integers(0, actions, PLACES))

    return rounds * PLACES, play


def _play_single(rounds: int) -> tuple[int, Callable[[], object]]:
    env, generator = SchedulingEnv(num_tasks=TASKS), np.random.default_rng(0)
    env.reset(seed=0)

    def play() -> None:
        for _ in range(rounds):
            if env.step(int(generator.integers(0, 5)))[2]:
                env.reset()

    return rounds, play


def _play_wrapped(rounds: int) -> tuple[int, Callable[[], object]]:
    places = 8
    env: Any = DummyVecEnv([lambda: SchedulingEnv(num_tasks=TASKS)] * places)
    generator = np.random.default_rng(0)
    env.seed(0)
    env.reset()

    def play() -> None:
        for _ in range(rounds):
            env.step(generator.integers(0, 5, places))

    return rounds * places, play
