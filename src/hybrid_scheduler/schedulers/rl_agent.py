"""RL agent: a dueling double DQN that learns from rewards which device to take.

The candidates are the device classes, each with its least-loaded device that can hold the task. The agent sees the
task (size, intensity, memory), the candidate's public figures and the queues; it never sees times before deciding.

The reward is −[(1 − w)·T + w·E/100], and T decides everything. With `reward="price"` (default) T is the task's
seconds weighted with the price of the device they are spent on, the prices being those that prove the bound for the
last tasks: then the best action for this task is the best for the whole stream. A small factor for queues longer
than the mean keeps the queues even. `reward="turnaround"` and `"execution"` are the plain ones.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hybrid_scheduler import registry
from hybrid_scheduler.bounds import work_prices
from hybrid_scheduler.compiling import compiled, jitable
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.dqn import Experience, Lessons, Replay, Singles, Weights, new_weights
from hybrid_scheduler.learning.model_file import check_manifest, read_manifest, write_manifest
from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.model.placements import Placements
from hybrid_scheduler.model.tasks import Floats, Tasks
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.simulator import VirtualMultiGPU
from hybrid_scheduler.view import TaskView, View

FEATURES = (
    "size / 10000", "√(size / 10000)", "compute_intensity", "memory / 5000",
    "is a GPU", "watts / 100", "log wait", "log of the shortest wait", "wait beyond the mean",
)  # fmt: skip
REWARDS = ("price", "turnaround", "execution")
LEAN = 0.02  # how much dearer a second gets per mean task that its queue is longer than the mean
PRICE_WINDOW = 1000
WORST = 50.0  # typical tasks: one dreadful decision must not drown all others
BLOCK = 10  # decisions between two lessons
SURPRISE = 8.0  # times the usual change of the mean reward from block to block: the work has changed
ALERT, HASTE, CURIOSITY = 100, 16.0, 0.3  # then, for so many tasks: lessons so much denser, and exploration


class RLAgent(Scheduler):
    """Learns while it runs; `pretrain` gives it a start, `save_model` and `load_model` keep what it knows."""

    name = "rl_agent"
    sighted = False

    def __init__(
        self,
        gamma: float = 0.9,
        epsilon: float = 1.0,
        epsilon_min: float = 0.01,
        epsilon_decay: float = 0.9995,
        replay: int = 50_000,
        batch: int = 128,
        target_update: int = 100,
        learning_rate: float = 5e-4,
        steps_per_task: float = 0.25,
        energy_weight: float = 0.5,
        reward: str = "price",
        online: bool = True,
        model: str = "",
        seed: int = 0,
    ) -> None:
        if reward not in REWARDS:
            raise InputError(f"rl_agent: reward is '{reward}', expected {', '.join(REWARDS)}")
        for name, value in (("gamma", gamma), ("epsilon", epsilon), ("energy_weight", energy_weight)):
            if not 0 <= value <= 1:
                raise InputError(f"rl_agent: {name} is {value}, expected a number from 0 to 1")
        self.learn_every = BLOCK if online else 0
        self.epsilon = float(epsilon)
        self.typical = 1.0
        self._epsilon_min, self._decay = epsilon_min, epsilon_decay
        self._steps_per_task, self._reward, self._energy_weight = steps_per_task, reward, energy_weight
        self._generator = np.random.default_rng([seed, 0xA6E])
        self._replay, self._mean_reward, self._owed = Replay(replay), 0.0, 0.0
        self._explored, self._usual_jump, self._alert = self.epsilon, 0.0, 0
        self._window: Floats | None = None
        self._demonstration = np.empty(0, np.int64)
        weights = new_weights(len(FEATURES), seed)
        self._lessons = Lessons(weights, gamma, learning_rate, batch, target_update)
        self._use(weights)
        self._prepare_room(0, 1)
        if model:
            self.load_model(model)

    # --- deciding ----------------------------------------------------------------------------------------------

    def _use(self, weights: Weights) -> None:
        self.w1, self.b1, self.w2, self.b2, self.w3, self.b3 = weights

    def _prepare_room(self, count: int, classes: int) -> None:
        """Make room for what is seen and done in a block; the lesson after it reads it again."""
        self.state = np.zeros((count, classes, len(FEATURES)), np.float32)
        self.possible = np.zeros((count, classes), np.bool_)
        self.wait = np.zeros((count, classes))
        self.action = np.zeros(count, np.int64)
        self.guide = np.full(count, -1, np.int64)  # a demonstrator's choice; -1: the agent's own
        self.lot = self._generator.random((count, 2))
        self.device = np.zeros(classes, np.int64)
        hidden = len(self.b1)
        self.first, self.second, self.out = (np.zeros(n, np.float32) for n in (hidden, hidden, 2))

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> None:
        """Draw the lots of a block and make room for it."""
        self._prepare_room(len(tasks), int(view.device_class.max()) + 1)
        if len(self._demonstration):
            self.guide[:] = self._demonstration[: len(tasks)]
            self._demonstration = self._demonstration[len(tasks) :]

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Look at every candidate, then take the best, or by lot any."""
        row = task.row
        number = look(self, task, view)
        taken, best = self.guide[row], -np.inf
        if taken >= 0 and not self.possible[row, taken]:
            taken = -1
        skip = int(self.lot[row, 1] * number) if self.lot[row, 0] < self.epsilon else -1
        for candidate in range(self.state.shape[1]):
            if not self.possible[row, candidate]:
                continue
            if skip == 0 and taken < 0:
                taken = candidate
            skip -= 1
        if taken < 0:
            for candidate in range(self.state.shape[1]):
                if self.possible[row, candidate]:
                    advantage = score(self, self.state[row, candidate])
                    if advantage > best:
                        taken, best = candidate, advantage
        self.action[row] = taken
        device = self.device[taken]
        return float(view.kind[device]), device

    # --- learning ----------------------------------------------------------------------------------------------

    def learn(self, placements: Placements) -> None:
        """Turn a block into experience and take the gradient steps it is worth."""
        ran = placements.ran
        if not ran.any():
            return
        times = placements.times[ran]
        self._window = (times if self._window is None else np.concatenate([self._window, times]))[-PRICE_WINDOW:]
        self.typical = float(self._window.min(axis=1).mean())
        rewards = self._rewards(placements)[ran].astype(np.float32)
        self._notice(float(rewards.mean()), len(rewards))
        self._replay.add(Experience(self.state[ran], self.possible[ran], self.action[ran], rewards))
        self._explored = max(self._epsilon_min, self._explored * self._decay ** len(rewards))
        self.epsilon = max(self._explored, CURIOSITY * self._alert / ALERT)
        if self._replay.count > 2 * self._lessons.batch:
            self._owed += self._steps_per_task * len(rewards) * (HASTE if self._alert > 0 else 1.0)
            rounds, self._owed = int(self._owed), self._owed % 1.0
            self._use(self._lessons.train(self._replay, self._generator, rounds, self._mean_reward))

    def _notice(self, mean: float, new: int) -> None:
        """Follow the mean reward; if it jumps, be alert for a while."""
        if self._replay.count == 0:
            self._mean_reward = mean
        jump = abs(mean - self._mean_reward)
        self._alert = max(0, self._alert - new)
        if self._replay.count > PRICE_WINDOW and jump > SURPRISE * self._usual_jump and self._alert == 0:
            self._alert = ALERT
        self._usual_jump += 0.05 * (jump - self._usual_jump)
        self._mean_reward += (0.3 if self._alert else 0.01 * new) * (mean - self._mean_reward)

    def pretrain(
        self,
        tasks: Tasks,
        cluster: Cluster,
        demonstrator: str = "price",
        share: float = 0.5,
        steps_per_task: float = 0.5,
    ) -> None:
        """Watch another policy on a `share` of independent tasks, explore on the rest, and learn from both."""
        machine = VirtualMultiGPU(cluster=cluster)
        shown = machine.run(tasks, registry.schedulers.create(demonstrator))
        device = np.where(shown.gpu_fraction >= 0.5, shown.gpu, shown.cpu)
        followed = self._generator.random(len(tasks)) < share
        self._demonstration = np.where(followed, cluster.class_index[device], -1)
        usual, self._steps_per_task, self._explored = self._steps_per_task, steps_per_task, 1.0
        self.epsilon = 1.0
        machine.reset()
        for first in range(0, len(tasks), BLOCK):
            self.learn(machine.step(tasks.part(first, first + BLOCK), self))
        self._steps_per_task, self.epsilon, self._explored = usual, self._epsilon_min, self._epsilon_min
        self._demonstration = np.empty(0, np.int64)

    def _rewards(self, placements: Placements) -> Floats:
        rows = np.arange(len(placements))
        number = np.maximum(self.possible.sum(axis=1), 1)
        weight, seconds = self._energy_weight, placements.execution
        if self._reward == "turnaround":
            seconds = placements.turnaround
        elif self._reward == "price":
            counts = placements.cluster.counts
            assert self._window is not None  # noqa: S101  # set by learn
            prices = work_prices(self._window, counts) * counts.sum()
            beyond = (self.wait[rows, self.action] - self.wait.sum(axis=1) / number) / self.typical
            seconds = prices[self.action] * seconds * np.clip(1.0 + LEAN * beyond, 0.5, 2.0)
            # As in hybrid_ml: up to a half, energy does not pull; beyond it, it does.
            weight = max(0.0, 2.0 * weight - 1.0)
        paid = ((1.0 - weight) * seconds + weight * placements.energy / 100.0) / self.typical
        return -np.minimum(paid, WORST)

    @property
    def insight(self) -> dict[str, float | list[float]]:
        """Return what learning looks like from outside: ε, gradient steps, losses."""
        return {"epsilon": self.epsilon, "steps": self._lessons.steps, "losses": self._lessons.losses}

    # --- files -------------------------------------------------------------------------------------------------

    def save_model(self, path: str | Path) -> None:
        """Write the weights as a torch file (`.pth`) and its manifest."""
        import torch

        from hybrid_scheduler.files import written_whole

        tensors = {name: torch.from_numpy(part.copy()) for name, part in self._lessons.weights._asdict().items()}
        tensors["typical"] = torch.tensor(self.typical, dtype=torch.float64)
        with written_whole(path) as scratch:
            torch.save(tensors, scratch)
        training = {"steps": self._lessons.steps, "reward": self._reward, "epsilon": self.epsilon}
        write_manifest(path, kind=self.name, features=FEATURES, training=training)

    def load_model(self, path: str | Path) -> None:
        """Read weights that `save_model` wrote; exploration goes on at its minimum."""
        import torch

        check_manifest(read_manifest(path), path, self.name)
        tensors = torch.load(path, weights_only=True)
        typical = float(tensors.pop("typical"))
        weights = Weights(**{name: part.numpy() for name, part in tensors.items()})
        if weights.w1.shape[0] != len(FEATURES):
            raise InputError(
                f"{path} reads {weights.w1.shape[0]} features, this agent has {len(FEATURES)}: train it again"
            )
        self._know(weights, typical)

    def take_over(self, teacher: RLAgent) -> None:
        """Start from what another agent knows."""
        self._know(Weights(*(part.copy() for part in teacher._lessons.weights)), teacher.typical)

    def _know(self, weights: Weights, typical: float) -> None:
        lessons = self._lessons
        self._lessons = Lessons(weights, lessons.gamma, lessons.learning_rate, lessons.batch, lessons.target_update)
        self.typical, self.epsilon, self._explored = typical, self._epsilon_min, self._epsilon_min
        self._use(weights)

    save, load = save_model, load_model


@jitable
def look(agent: RLAgent, task: TaskView, view: View) -> int:
    """Find the candidates and write down what is seen of them; return how many there are."""
    row, classes = task.row, agent.state.shape[1]
    for candidate in range(classes):
        agent.device[candidate] = -1
    for device in range(len(view.free)):
        candidate = view.device_class[device]
        known = agent.device[candidate]
        if task.memory_required <= view.memory[device] and (known < 0 or view.free[device] < view.free[known]):
            agent.device[candidate] = device
    number, total, shortest = 0, 0.0, np.inf
    for candidate in range(classes):
        device = agent.device[candidate]
        agent.possible[row, candidate] = device >= 0
        if device >= 0:
            wait = max(view.free[device] - task.ready_time, 0.0)
            agent.wait[row, candidate] = wait
            number, total, shortest = number + 1, total + wait, min(shortest, wait)
    if number == 0:  # fits no device whole: any answer will do, the loop finds a place or rejects it
        agent.possible[row, view.device_class[0]] = True
        agent.device[view.device_class[0]] = 0
        return 1
    for candidate in range(classes):
        device = agent.device[candidate]
        if device >= 0:
            wait = agent.wait[row, candidate]
            seen = agent.state[row, candidate]
            seen[0] = task.size / 10000.0
            seen[1] = np.sqrt(task.size / 10000.0)
            seen[2] = task.compute_intensity
            seen[3] = task.memory_required / 5000.0
            seen[4] = view.kind[device]
            seen[5] = view.watts[device] / 100.0
            seen[6] = np.log1p(wait / agent.typical) / 5.0
            seen[7] = np.log1p(shortest / agent.typical) / 5.0
            seen[8] = min(max((wait - total / number) / agent.typical / 50.0, -1.0), 1.0)
    return number


@jitable
def score(agent: RLAgent, seen: Singles) -> float:
    """Return the advantage of a candidate; the state's value is the same for all."""
    dense(seen, agent.w1, agent.b1, agent.first, True)
    dense(agent.first, agent.w2, agent.b2, agent.second, True)
    dense(agent.second, agent.w3, agent.b3, agent.out, False)
    return agent.out[1]


@jitable
def dense(inputs: Singles, weights: Singles, bias: Singles, outputs: Singles, rectified: bool) -> None:
    """Write one layer's outputs; inputs that a ReLU has set to 0 cost nothing."""
    for j in range(len(outputs)):
        outputs[j] = bias[j]
    for k in range(len(inputs)):
        if inputs[k] != 0.0:
            for j in range(len(outputs)):
                outputs[j] += inputs[k] * weights[k, j]
    if rectified:
        for j in range(len(outputs)):
            outputs[j] = max(outputs[j], np.float32(0.0))
