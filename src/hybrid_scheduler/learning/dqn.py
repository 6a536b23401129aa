"""The DQN of `rl_agent`: weights, replay buffer, rewards and the training of the agent.

A dueling double DQN that scores candidate devices one by one. For every candidate the network reads the task and that
device through two layers of 256 ReLUs and gives a value and an advantage; the value of the state is the mean of the
values, Q = value + advantage − mean advantage. The weights are shared, so a permuted cluster gives permuted answers
(Zaheer et al. 2017), which a network with one output per device cannot promise. Otherwise as published: double
Q-learning (van Hasselt et al. 2016), dueling heads (Wang et al. 2016), experience replay and a target network (Mnih
et al. 2015); rewards are centred by their running mean (Naik et al. 2024), which keeps values small when the
discount is near 1.

The reward is −T. With `reward="price"` T is the task's seconds times the price of the device they are spent on, with
the prices that certify the bound of the last tasks: then the best action for this task is the best for the whole
stream. A small factor for queues longer than the mean keeps the queues even. `reward="turnaround"` and `"execution"`
use plain seconds. Energy counts when the agent decides, at its learnt durations.

Gradient steps are torch's (`learning/q_network.py`), decisions are made on NumPy copies of the weights by compiled
code (`schedulers/rl_agent.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from hybrid_scheduler.bounds.makespan import FEW_CLASSES, find_prices
from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.learning import LOADING
from hybrid_scheduler.learning.durations import DurationModel, DurationObservation, DurationTrainer
from hybrid_scheduler.learning.episodes import MAX_COST

if TYPE_CHECKING:
    from hybrid_scheduler.learning.q_network import DoubleQLearning, LearningState

Float32s = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]

HIDDEN = 256
REWARDS = ("price", "turnaround", "execution")
QUEUE_PENALTY = 0.02  # how much dearer a second gets per mean task that its queue is longer than the mean
PRICE_WINDOW, PRICE_INTERVAL = 1000, 10  # tasks that prices are computed from, and between two computations
PRICE_SHARE = 0.05  # of the window that is new before prices of many classes, which take long, are computed again
MAX_ROWS = 512  # candidates of all decisions of a gradient step: with many classes fewer decisions tell as much
MIN_STEPS = 8.0  # gradient steps taken together: a long run of steps takes less time than many short ones
DRIFT_FACTOR, DRIFT_FLOOR = 8.0, 0.5  # relative errors above factor × their mean, and above the floor, are drift
DRIFT_TASKS = 100  # tasks for which the agent reacts to drift: it explores more, and …
DRIFT_EPSILON, DRIFT_SPEEDUP = 0.1, 256.0  # … takes up to so many times the gradient steps, most of them at once


# --- network -----------------------------------------------------------------------------------------------------


class Weights(NamedTuple):
    """The network as arrays; layers are (inputs, outputs)."""

    w1: Float32s
    b1: Float32s
    w2: Float32s
    b2: Float32s
    w3: Float32s
    b3: Float32s


def init_weights(inputs: int, seed: int, hidden: int = HIDDEN) -> Weights:
    """Draw weights as torch's linear layers do: uniform within ±1/√inputs."""
    generator = np.random.default_rng([seed, 0xD09])
    layers: list[Float32s] = []
    for fan_in, fan_out in ((inputs, hidden), (hidden, hidden), (hidden, 2)):
        limit = 1.0 / np.sqrt(fan_in)
        layers.append(generator.uniform(-limit, limit, (fan_in, fan_out)).astype(np.float32))
        layers.append(generator.uniform(-limit, limit, fan_out).astype(np.float32))
    return Weights(*layers)


def q_values(weights: Weights, state: Float32s, possible: Bools) -> Float32s:
    """Return Q of every candidate in NumPy, equal to `DQN.forward` up to rounding."""
    w1, b1, w2, b2, w3, b3 = weights
    out = np.maximum(np.maximum(state @ w1 + b1, 0.0) @ w2 + b2, 0.0) @ w3 + b3
    number = np.maximum(possible.sum(axis=1, keepdims=True), 1)
    value, advantage = out[..., 0], out[..., 1]
    centre = ((value - advantage) * possible).sum(axis=1, keepdims=True) / number
    q: Float32s = advantage + centre
    return q


# --- replay buffer -----------------------------------------------------------------------------------------------


class Transitions(NamedTuple):
    """Consecutive decisions: the state of every candidate, the action and its reward."""

    state: Float32s  # (decision, candidate, feature)
    possible: Bools  # (decision, candidate)
    action: npt.NDArray[np.int64]
    reward: Float32s

    def take(self, rows: npt.NDArray[np.int64]) -> Transitions:
        """Return some of the decisions."""
        columns: list[Any] = [column.take(rows, axis=0) for column in self]
        return Transitions(*columns)


@dataclass
class ReplayBuffer:
    """The last `capacity` decisions; the one after a decision is its next state."""

    capacity: int
    stored: Transitions | None = None
    count: int = 0

    def add(self, new: Transitions) -> None:
        """Append decisions, overwriting the oldest."""
        if self.stored is None:
            empty: list[Any] = [np.zeros((self.capacity, *part.shape[1:]), part.dtype) for part in new]
            self.stored = Transitions(*empty)
        places = (self.count + np.arange(len(new.action))) % self.capacity
        columns: list[Any] = list(self.stored)
        for column, part in zip(columns, new, strict=True):
            column[places] = part
        self.count += len(new.action)

    def sample(self, generator: np.random.Generator, size: int) -> tuple[Transitions, Transitions]:
        """Draw decisions at random, and those that followed them."""
        assert self.stored is not None  # noqa: S101  # nobody samples before adding
        filled = min(self.count, self.capacity)
        newest = (self.count - 1) % self.capacity
        picks = generator.integers(0, filled - 1, size)
        picks = np.where(picks >= newest, (picks + 1) % filled, picks)  # the newest has no next state yet
        return self.stored.take(picks), self.stored.take((picks + 1) % filled)


# --- gradient steps ----------------------------------------------------------------------------------------------


def q_gradients(possible: Bools, action: npt.NDArray[np.int64]) -> Float32s:
    """Return the derivative of Q of the action taken by the value and the advantage of each candidate.

    Q is linear in them, so this is all of the dueling formula that the gradient needs.
    """
    share = possible / possible.sum(axis=1, keepdims=True, dtype=np.float32)
    taken = np.arange(possible.shape[1]) == action[:, None]
    return np.stack((share, taken - share), axis=1)


@dataclass
class DQNTrainer:
    """Learns from samples of a replay buffer by double Q-learning."""

    weights: Weights
    gamma: float
    learning_rate: float
    batch: int
    target_update: int
    steps: int = 0
    losses: list[float] = field(default_factory=list)
    _learning: DoubleQLearning | None = None  # from the first step on
    _state: LearningState | None = None  # of the learning that was pickled, until it goes on

    def __getstate__(self) -> dict[str, Any]:
        state = self._state if self._learning is None else self._learning.state
        return {**vars(self), "_learning": None, "_state": state}

    def train(self, replay: ReplayBuffer, generator: np.random.Generator, steps: int, mean_reward: float) -> Weights:
        """Take gradient steps; return the new weights."""
        if steps == 0:
            return self.weights
        if self._learning is None:
            with LOADING:
                from hybrid_scheduler.learning.q_network import DoubleQLearning  # loads torch

            self._learning = DoubleQLearning(self.weights, self.gamma, self.learning_rate, self.target_update)
            if self._state is not None:
                self._learning.state, self._state = self._state, None
        batch = self._limit_batch(replay)
        now, after = replay.sample(generator, steps * batch)  # at once: many small draws take longer
        columns = (
            now.state,
            q_gradients(now.possible, now.action),
            now.reward - mean_reward,
            after.state,
            after.possible,
        )
        self.losses.append(self._learning.take_steps(columns, batch, self.steps))
        self.steps += steps
        self.weights = Weights(*self._learning.network.copy_weights())
        return self.weights

    def _limit_batch(self, replay: ReplayBuffer) -> int:
        """Return how many decisions a step takes: each has a row for every candidate."""
        candidates = 1 if replay.stored is None else replay.stored.possible.shape[1]
        return max(1, min(self.batch, MAX_ROWS // candidates))


@cache
def _limit_blas() -> None:
    """Let NumPy take one thread in this process, as torch does: for small matrices more only wait for each other."""
    threadpool_limits(1, "blas")


# --- training of the agent ---------------------------------------------------------------------------------------


class Decisions(NamedTuple):
    """A block of decisions as the agent saw them, and what they cost."""

    state: Float32s  # (decision, candidate, feature)
    possible: Bools
    wait: Floats  # seconds, by (decision, candidate)
    action: npt.NDArray[np.int64]  # the candidate taken: the class of its device
    times: Floats  # seconds by (decision, class), known when the task has ended
    execution: Floats
    turnaround: Floats
    counts: Ints  # devices of every class
    queued: bool
    ended: DurationObservation | None = None  # tasks that have ended since the last block, with their durations
    criticality: Floats | None = None  # in a graph, 0 … 1: length of the longest path through a task over the longest

    def take(self, rows: Bools | Ints) -> Decisions:
        """Return some of the decisions, or all in another order."""
        columns = ("state", "possible", "wait", "action", "times", "execution", "turnaround")
        some = self._replace(**{name: getattr(self, name)[rows] for name in columns})
        return some if self.criticality is None else some._replace(criticality=self.criticality[rows])


class AgentUpdate(NamedTuple):
    """What the agent decides by after training."""

    weights: Weights | None  # None: unchanged
    time_scale: float  # mean of the tasks' shortest seconds: the unit of waits and rewards
    epsilon: float
    steps: int  # gradient steps so far
    loss: float  # of the last gradient steps; NaN if there were none
    reward: float  # running mean, in units of time_scale
    durations: DurationModel | None = None  # None: unchanged
    prices: Floats | None = None  # of a second of every class by the last tasks; None: unknown


@dataclass
class AgentTrainer:
    """Turns decisions into rewards, experience and gradient steps; the same blocks and seed give the same weights.

    It holds nothing that decides, so it can run in another process (`background.py`).
    """

    network: DQNTrainer
    replay: ReplayBuffer
    reward: str
    steps_per_task: float
    epsilon: float
    epsilon_min: float
    decay: float
    seed: int
    durations: DurationTrainer
    time_scale: float = 1.0
    _mean_reward: float = 0.0
    _bias: float = 0.0
    _mean_error: float = 0.0
    _drift_left: int = 0  # tasks for which the agent still reacts to drift
    _steps_due: float = 0.0
    _loss: float = np.nan
    _since_prices: int = PRICE_INTERVAL
    _prices: Floats | None = None
    _window: Floats | None = None
    _recent: ReplayBuffer = field(default_factory=lambda: ReplayBuffer(2 * DRIFT_TASKS))

    def __post_init__(self) -> None:
        self._generator = np.random.default_rng([self.seed, 0x1E55])

    @property
    def state(self) -> AgentUpdate:
        """What the agent should decide by now."""
        return AgentUpdate(
            weights=self.network.weights,
            time_scale=self.time_scale,
            epsilon=max(self.epsilon, DRIFT_EPSILON * self._drift_left / DRIFT_TASKS),
            steps=self.network.steps,
            loss=self._loss,
            reward=self._mean_reward,
            prices=self._prices,
        )

    def train(self, decisions: Decisions) -> AgentUpdate | None:
        """Store a block as experience and take the gradient steps it is worth; refit durations when that is due."""
        durations = self.durations.train(decisions.ended)
        if not len(decisions.action):
            return None if durations is None else self.state._replace(weights=None, durations=durations)
        self._add_times(decisions.times)
        rewards = self.compute_rewards(decisions).astype(np.float32)
        self._detect_drift(decisions, rewards)
        transitions = Transitions(decisions.state, decisions.possible, decisions.action, rewards)
        stored = self.replay.stored
        if stored is not None and stored.state.shape[1] != transitions.state.shape[1]:
            # The cluster has another class now: old experience has another shape.
            self.replay, self._recent = ReplayBuffer(self.replay.capacity), ReplayBuffer(2 * DRIFT_TASKS)
        for replay in (self.replay, self._recent):
            replay.add(transitions)
        self.epsilon = max(self.epsilon_min, self.epsilon * self.decay ** len(rewards))
        before = self.network.steps
        self._train_network(len(rewards))
        weights = self.network.weights if self.network.steps > before else None
        return self.state._replace(weights=weights, durations=durations)

    def _add_times(self, times: Floats) -> None:
        same_classes = self._window is not None and self._window.shape[1] == times.shape[1]
        window = np.concatenate([self._window, times]) if same_classes and self._window is not None else times
        self._window = window[-PRICE_WINDOW:]
        self.time_scale = float(self._window.min(axis=1).mean())

    def _train_network(self, new: int) -> None:
        self._loss = np.nan
        if self.replay.count <= 2 * self.network.batch:
            return
        drift = (self._drift_left / DRIFT_TASKS) ** 8
        self._steps_due += self.steps_per_task * new * max(1.0, DRIFT_SPEEDUP * drift)
        if self._steps_due < MIN_STEPS and self._drift_left == 0:
            return
        steps, self._steps_due = int(self._steps_due), self._steps_due % 1.0
        # Among tens of thousands of old decisions the few new ones would hardly be drawn.
        recent = steps // 2 if self._drift_left > 0 and self._recent.count > 1 else 0
        self.network.train(self.replay, self._generator, steps - recent, self._mean_reward)
        self.network.train(self._recent, self._generator, recent, self._mean_reward)
        self._loss = self.network.losses[-1]

    def _detect_drift(self, decisions: Decisions, rewards: Float32s) -> None:
        """Track the mean reward; if rewards fall far below Q, react for the next `DRIFT_TASKS` tasks."""
        if self.replay.count == 0:
            self._mean_reward = float(rewards.mean())
        _limit_blas()
        # Q also holds the value of the future, which is much the same for all tasks: the bias.
        q = q_values(self.network.weights, decisions.state, decisions.possible)
        promised = q[np.arange(len(rewards)), decisions.action]
        error = promised - (rewards - self._mean_reward) - self._bias
        relative = error / np.maximum(1.0, np.abs(rewards))
        new, pace = len(rewards), 1.0 - 0.99 ** len(rewards)
        self._drift_left = max(0, self._drift_left - new)
        drifted = relative.mean() > max(DRIFT_FACTOR * self._mean_error, DRIFT_FLOOR)
        if self.replay.count > PRICE_WINDOW and drifted and self._drift_left == 0:
            self._drift_left, self._recent = DRIFT_TASKS, ReplayBuffer(2 * DRIFT_TASKS)
        self._bias += pace * float(error.mean())
        self._mean_error += pace * (float(np.abs(relative).mean()) - self._mean_error)
        self._mean_reward += pace * (float(rewards.mean()) - self._mean_reward)

    def compute_rewards(self, decisions: Decisions) -> Floats:
        """Return the reward of every decision, in units of `time_scale`."""
        rows = np.arange(len(decisions.action))
        number = np.maximum(decisions.possible.sum(axis=1), 1)
        seconds = decisions.turnaround if self.reward == "turnaround" else decisions.execution
        if self.reward == "price" and decisions.queued:  # devices that are always free have no price
            prices = self._current_prices(decisions)
            excess = (decisions.wait[rows, decisions.action] - decisions.wait.sum(axis=1) / number) / self.time_scale
            seconds = prices[decisions.action] * seconds * np.clip(1.0 + QUEUE_PENALTY * excess, 0.5, 2.0)
            if decisions.criticality is not None:
                # On the critical path it matters when a task ends, not what it takes from others.
                critical = decisions.criticality
                seconds = (1.0 - critical) * seconds + critical * decisions.turnaround
        return -np.minimum(seconds / self.time_scale, MAX_COST)

    def _current_prices(self, decisions: Decisions) -> Floats:
        """Return the price of a second of every class by the last tasks; 1 is the mean over devices."""
        self._since_prices += len(decisions.action)
        assert self._window is not None  # noqa: S101  # set by train
        many = len(decisions.counts) > FEW_CLASSES
        interval = max(PRICE_INTERVAL, PRICE_SHARE * len(self._window) if many else 0.0)
        prices = None if self._prices is None or len(self._prices) != len(decisions.counts) else self._prices
        if prices is None or self._since_prices >= interval:
            guess = prices if many else None  # of most of these tasks
            prices = self._prices = find_prices(self._window, decisions.counts, guess) * decisions.counts.sum()
            self._since_prices = 0
        return prices
