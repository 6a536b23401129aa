"""A dueling double DQN that scores candidates one by one, so that their order cannot matter.

For every candidate device the network reads the task and that device, through two layers of 256 ReLUs, and gives a
value and an advantage. The value of the state is the mean of the values; Q = value + advantage − mean advantage.
The weights are shared, so a permuted cluster gives permuted answers (Zaheer et al. 2017), which a network with one
output per device cannot promise. Otherwise as published: double Q-learning (van Hasselt et al. 2016), dueling heads
(Wang et al. 2016), experience replay and a target network (Mnih et al. 2015); rewards are centred by their running
mean (Naik et al. 2024), which keeps the value small when the discount is near 1.

Decisions are made on NumPy copies of the weights by compiled code; torch is loaded when the first lesson begins. The
gradient is written out: three layers need no record of what was computed, and a step takes less time without one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.bounds.makespan import work_prices
from hybrid_scheduler.core.tasks import Floats, Ints

Singles = npt.NDArray[np.float32]
HIDDEN = 256


class Weights(NamedTuple):
    """The network as arrays; layers are (inputs, outputs)."""

    w1: Singles
    b1: Singles
    w2: Singles
    b2: Singles
    w3: Singles
    b3: Singles


def new_weights(inputs: int, seed: int, hidden: int = HIDDEN) -> Weights:
    """Draw weights as torch's linear layers do: evenly within 1/√inputs."""
    generator = np.random.default_rng([seed, 0xD09])
    sizes = ((inputs, hidden), (hidden, hidden), (hidden, 2))
    layers: list[Singles] = []
    for fan_in, fan_out in sizes:
        reach = 1.0 / np.sqrt(fan_in)
        layers.append(generator.uniform(-reach, reach, (fan_in, fan_out)).astype(np.float32))
        layers.append(generator.uniform(-reach, reach, fan_out).astype(np.float32))
    return Weights(*layers)


def q_values(weights: Weights, state: Singles, possible: npt.NDArray[np.bool_]) -> Singles:
    """Return what every candidate promises, as torch would say: value + advantage − mean advantage."""
    w1, b1, w2, b2, w3, b3 = weights
    out = np.maximum(np.maximum(state @ w1 + b1, 0.0) @ w2 + b2, 0.0) @ w3 + b3
    number = np.maximum(possible.sum(axis=1, keepdims=True), 1)
    value, advantage = out[..., 0], out[..., 1]
    centre = ((value - advantage) * possible).sum(axis=1, keepdims=True) / number
    promised: Singles = advantage + centre
    return promised


class Experience(NamedTuple):
    """Consecutive decisions: what was seen of every candidate, who was taken, what it cost."""

    state: Singles  # (decision, candidate, feature)
    possible: npt.NDArray[np.bool_]  # (decision, candidate)
    action: npt.NDArray[np.int64]
    reward: Singles


@dataclass
class Replay:
    """The last `capacity` decisions; the one after a decision is its next state."""

    capacity: int
    stored: Experience | None = None
    count: int = 0

    def add(self, new: Experience) -> None:
        """Put decisions in, the oldest go."""
        if self.stored is None:
            empty: list[Any] = [np.zeros((self.capacity, *part.shape[1:]), part.dtype) for part in new]
            self.stored = Experience(*empty)
        places = (self.count + np.arange(len(new.action))) % self.capacity
        columns: list[Any] = list(self.stored)
        for column, part in zip(columns, new, strict=True):
            column[places] = part
        self.count += len(new.action)

    def sample(self, generator: np.random.Generator, size: int) -> tuple[Experience, Experience]:
        """Draw decisions by lot, and those that followed them."""
        assert self.stored is not None  # noqa: S101  # nobody samples before adding
        filled = min(self.count, self.capacity)
        newest = (self.count - 1) % self.capacity
        picks = generator.integers(0, filled - 1, size)
        picks = np.where(picks >= newest, (picks + 1) % filled, picks)  # the newest has no next state yet
        return _at(self.stored, picks), _at(self.stored, (picks + 1) % filled)


def _at(stored: Experience, places: npt.NDArray[np.int64]) -> Experience:
    columns: list[Any] = [column.take(places, axis=0) for column in stored]
    return Experience(*columns)


def pulls(possible: npt.NDArray[np.bool_], action: npt.NDArray[np.int64]) -> Singles:
    """Return how much Q of the action taken rises with the value and the advantage of each candidate.

    Q is linear in them, so this is all of the dueling formula that the gradient needs.
    """
    share = possible / possible.sum(axis=1, keepdims=True, dtype=np.float32)
    taken = np.arange(possible.shape[1]) == action[:, None]
    return np.stack((share, taken - share), axis=1)


@dataclass
class Lessons:
    """Torch's side: the network, its target copy and the optimiser, fed from the replay."""

    weights: Weights
    gamma: float
    learning_rate: float
    batch: int
    target_update: int
    steps: int = 0
    losses: list[float] = field(default_factory=list)
    _live: list[Any] = field(default_factory=list)
    _target: list[Any] = field(default_factory=list)
    _optimiser: Any = None

    def train(self, replay: Replay, generator: np.random.Generator, rounds: int, mean_reward: float) -> Weights:
        """Take `rounds` gradient steps; return the new weights."""
        if rounds == 0:
            return self.weights
        torch = self._start()
        now, after = replay.sample(generator, rounds * self.batch)  # at once: many small draws take longer
        columns = now.state, pulls(now.possible, now.action), now.reward - mean_reward, after.state, after.possible
        with torch.inference_mode(), _no_denormals(torch):
            for state, pull, reward, *following in zip(*map(self._batches, columns), strict=True):
                wanted = reward + self.gamma * self._next_value(*following) if self.gamma > 0 else reward
                error = self._descend(state, pull, wanted)
            self.losses.append(float(torch.nn.functional.smooth_l1_loss(error, torch.zeros_like(error))))
        self.weights = Weights(*(part.numpy().copy() for part in self._live))
        return self.weights

    def _batches(self, column: npt.NDArray[Any]) -> Any:
        # Copied: torch aligns its memory, and on memory that is not aligned the last bit of a product may vary.
        return self._torch.from_numpy(column).clone().split(self.batch)

    def _next_value(self, state: Any, possible: Any) -> Any:
        """Double Q-learning: the live network chooses, the target network judges."""
        advantage = self._layers(self._live, state.flatten(0, 1))[-1][1].view_as(possible)
        choice = advantage.masked_fill(~possible, -self._torch.inf).argmax(1, keepdim=True)
        return self._q(self._target, state, possible).gather(1, choice)[:, 0]

    def _q(self, parts: list[Any], state: Any, possible: Any) -> Any:
        value, advantage = self._layers(parts, state.flatten(0, 1))[-1].view(2, *possible.shape)
        share = possible / possible.sum(1, keepdim=True)
        return advantage + ((value - advantage) * share).sum(1, keepdim=True)

    def _layers(self, parts: list[Any], rows: Any) -> tuple[Any, Any, Any]:
        """Return both hidden layers, and the output as a row of values and a row of advantages."""
        w1, b1, w2, b2, w3, b3 = parts
        first = self._torch.addmm(b1, rows, w1).relu_()
        second = self._torch.addmm(b2, first, w2).relu_()
        # Two long rows take half the time of two long columns.
        return first, second, self._torch.addmm(b3[:, None], w3.T.contiguous(), second.T)

    def _descend(self, state: Any, pull: Any, wanted: Any) -> Any:
        """Take one step down the mean Huber loss; return the errors there were before it."""
        torch, rows = self._torch, state.flatten(0, 1)
        w1, b1, w2, b2, w3, b3 = self._live
        first, second, out = self._layers(self._live, rows)
        pull = pull.transpose(0, 1)
        error = (out.view(pull.shape) * pull).sum((0, 2)) - wanted
        slope = (pull * error.clamp(-1.0, 1.0).div_(len(error))[:, None]).flatten(1)
        w3.grad, b3.grad = torch.mm(slope, second).T.contiguous(), slope.sum(1)
        slope = torch.mm(slope.T, w3.T).mul_(second.sign_())  # the slope of a ReLU is the sign of its output
        w2.grad, b2.grad = torch.mm(first.T, slope), slope.sum(0)
        slope = torch.mm(slope, w2.T).mul_(first.sign_())
        w1.grad, b1.grad = torch.mm(rows.T, slope), slope.sum(0)
        self._optimiser.step(torch)
        self.steps += 1
        if self.steps % self.target_update == 0:
            self._target = [part.clone() for part in self._live]
        return error

    def _start(self) -> Any:
        torch = self._torch
        torch.set_num_threads(1)  # the matrices are small: more threads only wait for each other
        if self._optimiser is None:
            self._live, self._target = ([torch.tensor(part) for part in self.weights] for _ in range(2))
            self._optimiser = Adam(torch, self._live, self.learning_rate)
        return torch

    @property
    def _torch(self) -> Any:
        """Torch, loaded when it is needed; not kept, so that lessons can be pickled and go on in another process."""
        import torch

        return torch


class Adam:
    """`torch.optim.Adam(fused=True)` without its bookkeeping, which takes twice as long as the arithmetic."""

    def __init__(self, torch: Any, parts: list[Any], learning_rate: float) -> None:
        self.parts, self.age = parts, torch.tensor(0.0)
        self.means, self.squares = ([torch.zeros_like(part) for part in parts] for _ in range(2))
        self.options = {"lr": learning_rate, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0}

    def step(self, torch: Any) -> None:
        """Follow the gradients of all parts."""
        self.age += 1
        gradients, ages = [part.grad for part in self.parts], [self.age] * len(self.parts)
        # Torch's own name for it is not public; the version of torch is pinned, and a test compares the two.
        torch._fused_adam_(
            self.parts, gradients, self.means, self.squares, [], ages, **self.options, amsgrad=False, maximize=False
        )


@contextmanager
def _no_denormals(torch: Any) -> Iterator[None]:
    """Take numbers below 1e-38 for 0: Adam's means of dead ReLUs end there, and each costs a hundred others."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


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
