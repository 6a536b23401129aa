"""Train a Stable-Baselines3 agent and race it with eft and greedy on unseen workloads.

DQN learns on `HybridScheduler-v0`, PPO on many episodes at once (`HybridSchedulerVector-v0`).
"""

# ruff: noqa: T201  # an example that prints what it finds

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import Any

import numpy as np

from hybrid_scheduler import registry
from hybrid_scheduler.bounds.makespan import lower_bound
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.env import SchedulingEnv, SchedulingVectorEnv, policy_from
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.workloads.generator import WorkloadGenerator

UNSEEN = range(1000, 1005)  # seeds of the race
TASKS, LOAD = 500, 1.2
PLACES = 32  # episodes side by side


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
    if algorithm == "dqn":
        figures = {"learning_starts": 1000, "learning_rate": 5e-4, "exploration_fraction": 0.5, "gamma": 0.9}
        env = SchedulingEnv(num_tasks=TASKS, load=LOAD)
        model = library.DQN("MlpPolicy", env, seed=0, batch_size=128, target_update_interval=1000, **figures)
    else:
        envs = adapt(SchedulingVectorEnv(PLACES, num_tasks=TASKS, load=LOAD, copy=True))
        model = library.PPO("MlpPolicy", envs, gamma=0.9, n_steps=64, batch_size=512, device="cpu")
    return model.learn(steps)


def adapt(env: SchedulingVectorEnv) -> Any:
    """Return a vector environment of Gymnasium as one of Stable-Baselines3."""
    from stable_baselines3.common.vec_env import VecEnv

    class Adapted(VecEnv):
        """Passes actions and observations on."""

        def __init__(self) -> None:
            super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

        def reset(self) -> Any:
            return env.reset(seed=0)[0]

        def step_async(self, actions: Any) -> None:
            self._answer = env.step(actions)

        def step_wait(self) -> Any:
            seen, rewards, ended, _, info = self._answer
            infos: list[dict[str, Any]] = [{} for _ in range(env.num_envs)]
            for place in np.flatnonzero(ended):
                final = {name: info["final_info"][name][place] for name in ("return", "length")}
                infos[place] = {
                    "terminal_observation": info["final_obs"][place],
                    "episode": {"r": float(final["return"]), "l": int(final["length"])},
                }
            return seen, rewards.astype(np.float32), ended, infos

        def close(self) -> None:
            env.close()

        def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
            return [getattr(env, attr_name, None)] * env.num_envs

        def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
            setattr(env, attr_name, value)

        def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
            raise NotImplementedError(f"{method_name}: all episodes are one environment, call it there")

        def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
            return [False] * env.num_envs

    return Adapted()


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
