"""How rl_agent learns: what it did and what that cost becomes experience, and experience becomes gradient steps.

`AgentLessons.study` takes a block of decisions and returns what the agent now knows. It holds nothing that decides,
so it can stand in another process (`beside.py`) while decisions go on.

The reward is −[(1 − w)·T + w·E/100], and T decides everything. With `reward="price"` T is the task's seconds weighted
with the price of the device they are spent on, the prices being those that prove the bound for the last tasks: then
the best action for this task is the best for the whole stream. A small factor for queues longer than the mean keeps
the queues even. `reward="turnaround"` and `"execution"` are the plain ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.bounds import work_prices
from hybrid_scheduler.learning.dqn import Experience, Lessons, Replay, Singles, Weights, q_values
from hybrid_scheduler.model.tasks import Floats, Ints

REWARDS = ("price", "turnaround", "execution")
LEAN = 0.02  # how much dearer a second gets per mean task that its queue is longer than the mean
PRICE_WINDOW, PRICE_EVERY = 1000, 10  # tasks that the prices are of, and between two looks at them
LESSON = 8.0  # gradient steps of a lesson, at least
WORST = 50.0  # typical tasks: one dreadful decision must not drown all others
SURPRISE, LEAST = 8.0, 0.5  # times the usual relative error of promises, and at least so much: the work has changed
ALERT = 100  # tasks for which a surprise is remembered; in them more is explored, and …
CURIOSITY, HASTE = 0.1, 256.0  # … lessons are up to so much denser, most of them right after the surprise


class Acts(NamedTuple):
    """A block of decisions as the agent saw them, and what they cost."""

    state: Singles  # (decision, candidate, feature)
    possible: npt.NDArray[np.bool_]
    wait: Floats  # seconds, by (decision, candidate)
    action: npt.NDArray[np.int64]  # the candidate taken: the class of its device
    times: Floats  # seconds by (decision, class), known when the task has ended
    execution: Floats
    turnaround: Floats
    energy: Floats
    counts: Ints  # devices of every class
    queued: bool
    weight: float  # of energy in the reward
    critical: Floats | None = None  # in a graph, 0 … 1: how near a task is to the longest chain

    def of(self, rows: npt.NDArray[np.bool_] | Ints) -> Acts:
        """Return some of the decisions, or all in another order."""
        columns = ("state", "possible", "wait", "action", "times", "execution", "turnaround", "energy")
        some = self._replace(**{name: getattr(self, name)[rows] for name in columns})
        return some if self.critical is None else some._replace(critical=self.critical[rows])


class Knowledge(NamedTuple):
    """What the agent decides by."""

    weights: Weights | None  # None: as before
    typical: float  # mean of the tasks' shortest seconds: the unit of waits and rewards
    epsilon: float
    steps: int  # gradient steps so far
    loss: float  # of the last lesson; NaN if there was none since
    reward: float  # running mean, in typical tasks


@dataclass
class AgentLessons:
    """Experience, exploration and the network's lessons; the same blocks and seed give the same weights."""

    network: Lessons
    replay: Replay
    reward: str
    steps_per_task: float
    epsilon: float
    epsilon_min: float
    decay: float
    seed: int
    typical: float = 1.0
    _mean_reward: float = 0.0
    _bias: float = 0.0
    _usual: float = 0.0
    _alert: int = 0
    _owed: float = 0.0
    _loss: float = np.nan
    _priced: int = PRICE_EVERY
    _prices: Floats | None = None
    _window: Floats | None = None
    _recent: Replay = field(default_factory=lambda: Replay(2 * ALERT))

    def __post_init__(self) -> None:
        self._generator = np.random.default_rng([self.seed, 0x1E55])

    @property
    def knowledge(self) -> Knowledge:
        """What is known now."""
        curious = CURIOSITY * self._alert / ALERT
        network = self.network
        return Knowledge(
            weights=network.weights,
            typical=self.typical,
            epsilon=max(self.epsilon, curious),
            steps=network.steps,
            loss=self._loss,
            reward=self._mean_reward,
        )

    def study(self, acts: Acts) -> Knowledge | None:
        """Turn a block into experience and take the gradient steps it is worth."""
        if not len(acts.action):
            return None
        self._remember(acts.times)
        rewards = self.rewards(acts).astype(np.float32)
        self._notice(acts, rewards)
        experience = Experience(acts.state, acts.possible, acts.action, rewards)
        stored = self.replay.stored
        if stored is not None and stored.state.shape[1] != experience.state.shape[1]:
            # The cluster has got another class: what was seen of the old one has another shape.
            self.replay, self._recent = Replay(self.replay.capacity), Replay(2 * ALERT)
        for replay in (self.replay, self._recent):
            replay.add(experience)
        self.epsilon = max(self.epsilon_min, self.epsilon * self.decay ** len(rewards))
        before = self.network.steps
        self._practise(len(rewards))
        return self.knowledge if self.network.steps > before else self.knowledge._replace(weights=None)

    def _remember(self, times: Floats) -> None:
        known = self._window is not None and self._window.shape[1] == times.shape[1]
        window = np.concatenate([self._window, times]) if known and self._window is not None else times
        self._window = window[-PRICE_WINDOW:]
        self.typical = float(self._window.min(axis=1).mean())

    def _practise(self, new: int) -> None:
        self._loss = np.nan
        if self.replay.count <= 2 * self.network.batch:
            return
        self._owed += self.steps_per_task * new * max(1.0, HASTE * (self._alert / ALERT) ** 8)
        if self._owed < LESSON and self._alert == 0:
            return  # a longer lesson takes less time than many short ones
        rounds, self._owed = int(self._owed), self._owed % 1.0
        # Among tens of thousands of old decisions the few new ones would hardly be drawn.
        fresh = rounds // 2 if self._alert > 0 and self._recent.count > 1 else 0
        self.network.train(self.replay, self._generator, rounds - fresh, self._mean_reward)
        self.network.train(self._recent, self._generator, fresh, self._mean_reward)
        self._loss = self.network.losses[-1]

    def _notice(self, acts: Acts, rewards: Singles) -> None:
        """Follow the mean reward; if decisions earn far less than they promised, be alert for a while."""
        if self.replay.count == 0:
            self._mean_reward = float(rewards.mean())
        # A promise also holds the value of the future, which is much the same for all tasks: the bias.
        promised = q_values(self.network.weights, acts.state, acts.possible)[np.arange(len(rewards)), acts.action]
        missed = promised - (rewards - self._mean_reward) - self._bias
        relative = missed / np.maximum(1.0, np.abs(rewards))
        new, pace = len(rewards), 1.0 - 0.99 ** len(rewards)
        self._alert = max(0, self._alert - new)
        surprised = relative.mean() > max(SURPRISE * self._usual, LEAST)
        if self.replay.count > PRICE_WINDOW and surprised and self._alert == 0:
            self._alert, self._recent = ALERT, Replay(2 * ALERT)
        self._bias += pace * float(missed.mean())
        self._usual += pace * (float(np.abs(relative).mean()) - self._usual)
        self._mean_reward += pace * (float(rewards.mean()) - self._mean_reward)

    def rewards(self, acts: Acts) -> Floats:
        """Return what every decision earned, in typical tasks."""
        rows = np.arange(len(acts.action))
        number = np.maximum(acts.possible.sum(axis=1), 1)
        seconds = acts.turnaround if self.reward == "turnaround" else acts.execution
        if self.reward == "price" and acts.queued:  # devices that are always free have no price
            prices = self._current_prices(acts)
            beyond = (acts.wait[rows, acts.action] - acts.wait.sum(axis=1) / number) / self.typical
            seconds = prices[acts.action] * seconds * np.clip(1.0 + LEAN * beyond, 0.5, 2.0)
            if (
                acts.critical is not None
            ):  # on the longest chain it counts when a task ends, not what it takes of others
                seconds = (1.0 - acts.critical) * seconds + acts.critical * acts.turnaround
        paid = ((1.0 - acts.weight) * seconds + acts.weight * acts.energy / 100.0) / self.typical
        return -np.minimum(paid, WORST)

    def _current_prices(self, acts: Acts) -> Floats:
        """Return what a second of every class is worth by the last tasks; 1 is the mean over devices."""
        self._priced += len(acts.action)
        if self._prices is None or self._priced >= PRICE_EVERY or len(self._prices) != len(acts.counts):
            assert self._window is not None  # noqa: S101  # set by study
            self._prices, self._priced = work_prices(self._window, acts.counts) * acts.counts.sum(), 0
        return self._prices
