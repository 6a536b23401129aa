"""A dueling double DQN that scores candidates one by one, so that their order cannot matter.

For every candidate device the network reads the task and that device, through two layers of 256 ReLUs, and gives a
value and an advantage. The value of the state is the mean of the values; Q = value + advantage − mean advantage.
The weights are shared, so a permuted cluster gives permuted answers (Zaheer et al. 2017), which a network with one
output per device cannot promise. Otherwise as published: double Q-learning (van Hasselt et al. 2016), dueling heads
(Wang et al. 2016), experience replay and a target network (Mnih et al. 2015); rewards are centred by their running
mean (Naik et al. 2024), which keeps the value small when the discount is near 1.

Decisions are made on NumPy copies of the weights by compiled code; torch is loaded when the first lesson begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

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
        return self._at(picks), self._at((picks + 1) % filled)

    def _at(self, places: npt.NDArray[np.int64]) -> Experience:
        assert self.stored is not None  # noqa: S101  # sample has checked
        state, possible, action, reward = self.stored
        return Experience(state[places], possible[places], action[places], reward[places])


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
    _torch: Any = None
    _live: list[Any] = field(default_factory=list)
    _target: list[Any] = field(default_factory=list)
    _optimiser: Any = None

    def train(self, replay: Replay, generator: np.random.Generator, rounds: int, mean_reward: float) -> Weights:
        """Take `rounds` gradient steps; return the new weights."""
        torch = self._start()
        for _ in range(rounds):
            now, after = replay.sample(generator, self.batch)
            state, possible, action, reward = (torch.from_numpy(part) for part in now)
            predicted = self._q(self._live, state, possible).gather(1, action[:, None])[:, 0]
            wanted = reward - mean_reward
            if self.gamma > 0:
                wanted = wanted + self.gamma * self._next_value(after)
            loss = torch.nn.functional.smooth_l1_loss(predicted, wanted)
            self._optimiser.zero_grad()
            loss.backward()
            self._optimiser.step()
            self.steps += 1
            if self.steps % self.target_update == 0:
                self._target = [part.detach().clone() for part in self._live]
        if rounds:
            self.losses.append(float(loss.detach()))
            self.weights = Weights(*(part.detach().numpy().copy() for part in self._live))
        return self.weights

    def _next_value(self, after: Experience) -> Any:
        """Double Q-learning: the live network chooses, the target network judges."""
        torch = self._torch
        state, possible = torch.from_numpy(after.state), torch.from_numpy(after.possible)
        with torch.no_grad():
            choice = self._q(self._live, state, possible).masked_fill(~possible, -torch.inf).argmax(1)
            return self._q(self._target, state, possible).gather(1, choice[:, None])[:, 0]

    def _q(self, parts: list[Any], state: Any, possible: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = parts
        out = self._torch.relu(self._torch.relu(state @ w1 + b1) @ w2 + b2) @ w3 + b3
        mask = possible.to(out.dtype)
        number = mask.sum(1, keepdim=True).clamp(min=1.0)
        value = (out[..., 0] * mask).sum(1, keepdim=True) / number
        advantage = out[..., 1]
        return value + advantage - (advantage * mask).sum(1, keepdim=True) / number

    def _start(self) -> Any:
        if self._torch is None:
            import torch

            torch.set_num_threads(1)  # the matrices are small: more threads only wait for each other
            self._torch = torch
            self._live = [torch.from_numpy(part.copy()).requires_grad_() for part in self.weights]
            self._target = [part.detach().clone() for part in self._live]
            self._optimiser = torch.optim.Adam(self._live, lr=self.learning_rate)
        return self._torch
