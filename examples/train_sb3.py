"""Train a Stable-Baselines3 agent on `HybridScheduler-v0` and race it with eft and greedy on unseen workloads."""

# ruff: noqa: T201  # an example that prints what it finds

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import Any

from hybrid_scheduler import registry
from hybrid_scheduler.bounds.makespan import lower_bound
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.env import SchedulingEnv, policy_from
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.workloads.generator import WorkloadGenerator

UNSEEN = range(1000, 1005)  # seeds of the race
TASKS, LOAD = 500, 1.2


def main() -> None:
    """Read the options, train, race."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50_000, help="decisions to learn from")
    parser.add_argument("--algorithm", choices=("dqn", "ppo"), default="dqn")
    options = parser.parse_args()
    try:
        library = import_module("stable_baselines3")
    except ModuleNotFoundError:
        sys.exit("this example needs Stable-Baselines3: pip install stable-baselines3")
    import_module("torch").set_num_threads(1)  # so small a network is slower with more
    model = trained(library, options.algorithm, options.steps)
    race(policy_from(model.predict, options.algorithm))


def trained(library: Any, algorithm: str, steps: int) -> Any:
    """Return a model after `steps` decisions."""
    env = SchedulingEnv(num_tasks=TASKS, load=LOAD)
    if algorithm == "dqn":
        figures = {"learning_starts": 1000, "learning_rate": 5e-4, "exploration_fraction": 0.5, "gamma": 0.9}
        model = library.DQN("MlpPolicy", env, seed=0, batch_size=128, target_update_interval=1000, **figures)
    else:
        model = library.PPO("MlpPolicy", env, seed=0, gamma=0.9, n_steps=1000, batch_size=100, device="cpu")
    return model.learn(steps)


def race(agent: Scheduler) -> None:
    """Print makespan / bound of the agent and of its rivals, seed by seed, then the mean."""
    lanes: list[Scheduler] = [agent, registry.schedulers.create("eft"), registry.schedulers.create("greedy")]
    machine = VirtualMultiGPU()
    sums = [0.0] * len(lanes)
    print("makespan / bound", *(f"{lane.name:>8}" for lane in lanes))
    for seed in UNSEEN:
        tasks = WorkloadGenerator(seed).generate_preset("mixed", TASKS, load=LOAD)
        bound = lower_bound(tasks, machine.cluster).makespan
        ratios = [machine.run(tasks, lane).makespan / bound for lane in lanes]
        sums = [total + ratio for total, ratio in zip(sums, ratios, strict=True)]
        print(f"{f'seed {seed}':16}", *(f"{ratio:8.3f}" for ratio in ratios))
    print(f"{'mean':16}", *(f"{total / len(UNSEEN):8.3f}" for total in sums))


if __name__ == "__main__":
    main()
