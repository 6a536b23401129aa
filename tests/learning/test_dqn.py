"""The network and its training: against plain NumPy and autograd, on an obvious problem, reproducible."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch

from hybrid_scheduler.learning.dqn import (
    MAX_ROWS,
    DQNTrainer,
    Float32s,
    ReplayBuffer,
    Transitions,
    Weights,
    init_weights,
    q_gradients,
)
from hybrid_scheduler.learning.q_network import DQN, Adam, _next_value, _write_gradients

Bools = np.ndarray[tuple[int, int], np.dtype[np.bool_]]
FEATURES, CANDIDATES = 4, 3


def new_trainer(gamma: float = 0.9, batch: int = 16, target_update: int = 100) -> DQNTrainer:
    return DQNTrainer(init_weights(FEATURES, seed=1), gamma, 1e-3, batch, target_update)


def experience(count: int, seed: int = 0) -> Transitions:
    """Some candidates are impossible, the action never is; a reward is what the candidate's first feature says."""
    generator = np.random.default_rng(seed)
    state = generator.normal(size=(count, CANDIDATES, FEATURES)).astype(np.float32)
    possible = generator.random((count, CANDIDATES)) < 0.7
    action = generator.integers(0, CANDIDATES, count)
    possible[np.arange(count), action] = True
    return Transitions(state, possible, action, state[np.arange(count), action, 0])


def fill_replay(seed: int = 0) -> ReplayBuffer:
    replay = ReplayBuffer(capacity=500)
    replay.add(experience(400, seed))
    return replay


def plain_q(weights: Weights, state: Float32s, possible: Bools) -> Float32s:
    """The formula of the module's first lines, candidate by candidate."""
    w1, b1, w2, b2, w3, b3 = weights
    out = np.maximum(np.maximum(state @ w1 + b1, 0) @ w2 + b2, 0) @ w3 + b3
    q = np.empty(possible.shape, np.float32)
    for row, able in enumerate(possible):
        value, advantage = out[row, able, 0].mean(), out[row, :, 1]
        q[row] = value + advantage - advantage[able].mean()
    return q


def torch_q(trainer: DQNTrainer, state: Float32s, possible: Bools) -> Float32s:
    q: Float32s = DQN(trainer.weights)(torch.from_numpy(state), torch.from_numpy(possible)).numpy()
    return q


def test_impossible_candidates_have_no_part_in_the_dueling_means() -> None:
    seen, trainer = experience(50), new_trainer()
    q = torch_q(trainer, seen.state, seen.possible)
    assert np.allclose(q, plain_q(trainer.weights, seen.state, seen.possible), atol=1e-5)
    changed = np.where(seen.possible[..., None], seen.state, np.float32(9.0))
    assert np.allclose(q[seen.possible], torch_q(trainer, changed, seen.possible)[seen.possible], atol=1e-5)


def test_a_permuted_state_gives_permuted_updates() -> None:
    seen, trainer, order = experience(50), new_trainer(), [2, 0, 1]
    q = torch_q(trainer, seen.state, seen.possible)
    assert np.allclose(torch_q(trainer, seen.state[:, order], seen.possible[:, order]), q[:, order], atol=1e-5)


def test_q_of_the_action_taken_is_linear_in_values_and_advantages() -> None:
    seen, trainer = experience(50), new_trainer()
    out = DQN(trainer.weights).layers(torch.from_numpy(seen.state).flatten(0, 1))[-1].numpy()
    value_and_advantage = out.reshape(2, 50, CANDIDATES).swapaxes(0, 1)
    q = (value_and_advantage * q_gradients(seen.possible, seen.action)).sum(axis=(1, 2))
    assert np.allclose(q, torch_q(trainer, seen.state, seen.possible)[np.arange(50), seen.action], atol=1e-5)


def test_the_network_chooses_and_the_target_network_values() -> None:
    after, trainer, target = experience(50), new_trainer(), init_weights(FEATURES, seed=2)
    chosen = np.where(after.possible, plain_q(trainer.weights, after.state, after.possible), -np.inf).argmax(axis=1)
    expected = plain_q(target, after.state, after.possible)[np.arange(50), chosen]
    states = torch.from_numpy(after.state), torch.from_numpy(after.possible)
    assert np.allclose(_next_value(DQN(trainer.weights), DQN(target), *states).numpy(), expected, atol=1e-5)


def test_the_written_out_gradient_is_that_of_autograd() -> None:
    seen, network = experience(32), DQN(new_trainer().weights)
    network.requires_grad_(True)
    state, goal = torch.from_numpy(seen.state), torch.from_numpy(2.0 * seen.reward)  # both branches of the loss
    q = network(state, torch.from_numpy(seen.possible)).gather(1, torch.from_numpy(seen.action)[:, None])
    expected = torch.autograd.grad(torch.nn.functional.smooth_l1_loss(q[:, 0], goal), list(network.parameters()))
    network.requires_grad_(False)
    _write_gradients(network, state, torch.from_numpy(q_gradients(seen.possible, seen.action)), goal)
    for parameter, gradient in zip(network.parameters(), expected, strict=True):
        assert parameter.grad is not None
        assert torch.allclose(parameter.grad, gradient, atol=1e-6)


def test_the_steps_of_adam_are_those_of_torch() -> None:
    ours, theirs = DQN(new_trainer().weights), DQN(new_trainer().weights)
    step = Adam(ours.parameters(), 1e-3).step, torch.optim.Adam(theirs.parameters(), 1e-3, fused=True).step
    for number in range(20):
        for network, take_step in zip((ours, theirs), step, strict=True):
            draw = torch.Generator().manual_seed(number)
            for parameter in network.parameters():
                parameter.grad = torch.randn(parameter.shape, generator=draw)
            take_step()
    assert all(torch.equal(*pair) for pair in zip(ours.parameters(), theirs.parameters(), strict=True))


@pytest.mark.parametrize("count", [2, 7, 10, 11, 19, 20, 33])
def test_the_newest_decision_is_never_drawn_and_all_others_are(count: int) -> None:
    replay, numbers = ReplayBuffer(capacity=10), np.arange(count)
    state = np.zeros((count, 1, 1), np.float32)
    everything = Transitions(state, np.ones((count, 1), bool), numbers, numbers.astype(np.float32))
    for first in range(0, count, 5):
        columns = [column[first : first + 5] for column in everything]
        replay.add(Transitions(*columns))  # type: ignore[arg-type]  # a list of unlike arrays
    now, after = replay.sample(np.random.default_rng(0), 2000)
    assert set(now.action) == set(range(max(0, count - 10), count - 1))
    assert np.array_equal(after.action, now.action + 1)


@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_training_finds_the_candidate_that_pays_best(gamma: float) -> None:
    trainer, replay, generator = new_trainer(gamma, batch=64), fill_replay(), np.random.default_rng(0)
    for _ in range(40):
        trainer.train(replay, generator, 20, mean_reward=0.0)
    if gamma == 0:  # else what follows is wanted too, and here nobody can foresee it
        assert np.mean(trainer.losses[-5:]) < 0.1 * np.mean(trainer.losses[:5])
    new = experience(300, seed=9)
    q = np.where(new.possible, torch_q(trainer, new.state, new.possible), -np.inf)
    best = np.where(new.possible, new.state[..., 0], -np.inf)
    assert np.mean(q.argmax(axis=1) == best.argmax(axis=1)) > 0.8


def train_and_dump(trainer: DQNTrainer, generator: np.random.Generator, rounds: list[int]) -> bytes:
    replay = fill_replay()
    for number in rounds:
        trainer.train(replay, generator, number, mean_reward=-0.5)
    return b"".join(part.tobytes() for part in trainer.weights)


def test_training_twice_gives_the_same_bytes() -> None:
    once, again = (train_and_dump(new_trainer(), np.random.default_rng(5), [3, 7, 0, 10]) for _ in range(2))
    assert once == again
    assert once != train_and_dump(new_trainer(), np.random.default_rng(6), [3, 7, 0, 10])


def test_many_short_trainings_give_the_same_bytes_as_one_long_one() -> None:
    many, one = (
        train_and_dump(new_trainer(target_update=8), np.random.default_rng(5), rounds) for rounds in ([1] * 20, [20])
    )
    assert many == one


def test_a_pickled_trainer_goes_on_as_if_nothing_had_happened() -> None:
    trainer, generator = new_trainer(target_update=8), np.random.default_rng(5)
    train_and_dump(trainer, generator, [13])
    copy, copied = pickle.loads(pickle.dumps((trainer, generator)))  # noqa: S301  # our own
    assert train_and_dump(copy, copied, [10]) == train_and_dump(trainer, generator, [10])


def test_no_step_changes_nothing() -> None:
    trainer = new_trainer()
    before = trainer.weights
    assert trainer.train(fill_replay(), np.random.default_rng(0), 0, mean_reward=0.0) is before
    assert (trainer.steps, trainer.losses) == (0, [])


def test_a_step_takes_fewer_decisions_where_each_has_many_candidates() -> None:
    replay = fill_replay()
    trainer = new_trainer(batch=2 * MAX_ROWS)
    trainer.train(replay, np.random.default_rng(0), 1, 0.0)
    limited = new_trainer(batch=MAX_ROWS // CANDIDATES)
    limited.train(replay, np.random.default_rng(0), 1, 0.0)
    for own, other in zip(trainer.weights, limited.weights, strict=True):
        np.testing.assert_array_equal(own, other)
