"""The dueling network of `learning/dqn.py` in torch, and its gradient steps.

Loaded with the first step: who only decides, or lets another process train, needs no torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.optim.adam import adam

Float32s = npt.NDArray[np.float32]
LearningState = tuple[list[Float32s], list[list[Float32s]]]  # weights of the target network, Adam's means
NAMES = ("w1", "b1", "w2", "b2", "w3", "b3")


class DQN(nn.Module):
    """The dueling network in torch: Q of every candidate of every decision."""

    w1: nn.Parameter
    b1: nn.Parameter
    w2: nn.Parameter
    b2: nn.Parameter
    w3: nn.Parameter
    b3: nn.Parameter

    def __init__(self, weights: Sequence[Float32s]) -> None:
        super().__init__()
        for name, array in zip(NAMES, weights, strict=True):
            self.register_parameter(name, nn.Parameter(torch.tensor(array), requires_grad=False))

    def layers(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return both hidden layers, and the output as a row of values and a row of advantages."""
        first = torch.addmm(self.b1, rows, self.w1).relu_()
        second = torch.addmm(self.b2, first, self.w2).relu_()
        # Two long rows take half the time of two long columns.
        return first, second, torch.addmm(self.b3[:, None], self.w3.T.contiguous(), second.T)

    def forward(self, state: Tensor, possible: Tensor) -> Tensor:
        """Return Q by (decision, candidate) for states by (decision, candidate, feature)."""
        value, advantage = self.layers(state.flatten(0, 1))[-1].view(2, *possible.shape)
        share = possible / possible.sum(1, keepdim=True)
        q: Tensor = advantage + ((value - advantage) * share).sum(1, keepdim=True)
        return q

    def copy_weights(self) -> list[Float32s]:
        """Copy the parameters into arrays."""
        return [parameter.numpy().copy() for parameter in self.parameters()]


class Adam:
    """Adam on the gradients of parameters; making torch's own object loads its compiler, 3 s in every process."""

    def __init__(self, parameters: Iterable[nn.Parameter], learning_rate: float) -> None:
        self.learning_rate = learning_rate
        self._parameters: list[Tensor] = list(parameters)
        self._means = [torch.zeros_like(each) for each in self._parameters]
        self._squares = [torch.zeros_like(each) for each in self._parameters]
        self._steps = [torch.zeros(()) for _ in self._parameters]

    @property
    def state(self) -> list[list[Float32s]]:
        """What later steps depend on, as arrays: means, means of squares, number of steps."""
        return [[each.numpy().copy() for each in part] for part in (self._means, self._squares, self._steps)]

    @state.setter
    def state(self, state: list[list[Float32s]]) -> None:
        self._means, self._squares, self._steps = ([torch.tensor(each) for each in part] for part in state)

    def step(self) -> None:
        """Change the parameters once."""
        gradients = [each.grad for each in self._parameters if each.grad is not None]
        adam(
            self._parameters, gradients, self._means, self._squares, [], self._steps, fused=True, amsgrad=False,
            beta1=0.9, beta2=0.999, lr=self.learning_rate, weight_decay=0.0, eps=1e-8, maximize=False,
        )  # fmt: skip


class DoubleQLearning:
    """Gradient steps: the network that learns, the target network, and Adam's means.

    The gradient of the three layers is written out: autograd takes 1.2 to 1.5 times as long for a step
    (`python -m benchmarks dqn_gradient`), and a test compares the two.
    """

    def __init__(self, weights: Sequence[Float32s], gamma: float, learning_rate: float, target_update: int) -> None:
        self.network, self._target = DQN(weights), DQN(weights)
        self._optimizer = Adam(self.network.parameters(), learning_rate)
        self._gamma, self._target_update = gamma, target_update

    @property
    def state(self) -> LearningState:
        """What later steps depend on besides the weights, as arrays, which can be pickled and read without torch."""
        return self._target.copy_weights(), self._optimizer.state

    @state.setter
    def state(self, state: LearningState) -> None:
        target, self._optimizer.state = state
        self._target = DQN(target)

    def take_steps(self, columns: Sequence[npt.NDArray[Any]], batch: int, before: int) -> float:
        """Take a step for every `batch` rows, the first after `before` others; return the loss of the last.

        The columns are states, `q_gradients`, rewards, next states and which of their candidates are possible.
        """
        torch.set_num_threads(1)
        network, target, gamma = self.network, self._target, self._gamma
        with torch.inference_mode(), _flush_denormals():
            # Copied: torch aligns its memory, and on memory that is not aligned the last bit of a product may vary.
            batches = (torch.split(torch.from_numpy(column).clone(), batch) for column in columns)
            for step, (state, gradient, reward, *following) in enumerate(zip(*batches, strict=True), before + 1):
                goal = reward + gamma * _next_value(network, target, *following) if gamma > 0 else reward
                error = _write_gradients(network, state, gradient, goal)
                self._optimizer.step()
                if step % self._target_update == 0:
                    target.load_state_dict(network.state_dict())
            return float(nn.functional.smooth_l1_loss(error, torch.zeros_like(error)))


def _next_value(network: DQN, target: DQN, state: Tensor, possible: Tensor) -> Tensor:
    """Double Q-learning: the network chooses the next action, the target network values it."""
    advantage = network.layers(state.flatten(0, 1))[-1][1].view_as(possible)
    choice = advantage.masked_fill(~possible, -torch.inf).argmax(1, keepdim=True)
    q: Tensor = target(state, possible)
    return q.gather(1, choice)[:, 0]


def _write_gradients(network: DQN, state: Tensor, gradient: Tensor, goal: Tensor) -> Tensor:
    """Write the gradient of the mean Huber loss into `grad` of every parameter; return the errors of Q."""
    rows, gradient = state.flatten(0, 1), gradient.transpose(0, 1)
    first, second, out = network.layers(rows)
    error = (out.view(gradient.shape) * gradient).sum((0, 2)) - goal
    slope = (gradient * error.clamp(-1.0, 1.0).div_(len(error))[:, None]).flatten(1)
    network.w3.grad, network.b3.grad = torch.mm(slope, second).T.contiguous(), slope.sum(1)
    slope = torch.mm(slope.T, network.w3.T).mul_(second.sign_())  # the slope of a ReLU is the sign of its output
    network.w2.grad, network.b2.grad = torch.mm(first.T, slope), slope.sum(0)
    slope = torch.mm(slope, network.w2.T).mul_(first.sign_())
    network.w1.grad, network.b1.grad = torch.mm(rows.T, slope), slope.sum(0)
    return error


@contextmanager
def _flush_denormals() -> Iterator[None]:
    """Take numbers below 1e-38 for 0: Adam's means of dead ReLUs end there, and each costs a hundred others."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
