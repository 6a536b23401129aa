"""The network and its lessons: against plain NumPy and torch's own gradient, on an obvious problem, alike twice."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch

from hybrid_scheduler.learning.dqn import Adam, Experience, Lessons, Replay, Singles, Weights, new_weights, pulls

Bools = np.ndarray[tuple[int, int], np.dtype[np.bool_]]
FEATURES, CANDIDATES = 4, 3


def lessons(gamma: float = 0.9, batch: int = 16, target_update: int = 100) -> Lessons:
    return Lessons(new_weights(FEATURES, seed=1), gamma, 1e-3, batch, target_update)


def experience(count: int, seed: int = 0) -> Experience:
    """Some candidates are impossible, the action never is; a reward is what the candidate's first feature says."""
    generator = np.random.default_rng(seed)
    state = generator.normal(size=(count, CANDIDATES, FEATURES)).astype(np.float32)
    possible = generator.random((count, CANDIDATES)) < 0.7
    action = generator.integers(0, CANDIDATES, count)
    possible[np.arange(count), action] = True
    return Experience(state, possible, action, state[np.arange(count), action, 0])


def filled(seed: int = 0) -> Replay:
    replay = Replay(capacity=500)
    replay.add(experience(400, seed))
    return replay


def plain_q(weights: Weights, state: Singles, possible: Bools) -> Singles:
    """The formula of the module's first lines, candidate by candidate."""
    w1, b1, w2, b2, w3, b3 = weights
    out = np.maximum(np.maximum(state @ w1 + b1, 0) @ w2 + b2, 0) @ w3 + b3
    q = np.empty(possible.shape, np.float32)
    for row, able in enumerate(possible):
        value, advantage = out[row, able, 0].mean(), out[row, :, 1]
        q[row] = value + advantage - advantage[able].mean()
    return q


def torch_q(taught: Lessons, state: Singles, possible: Bools) -> Singles:
    taught._start()
    with torch.no_grad():
        q: Singles = taught._q(taught._live, torch.from_numpy(state), torch.from_numpy(possible)).numpy()
    return q


def test_impossible_candidates_have_no_part_in_the_dueling_means() -> None:
    seen, taught = experience(50), lessons()
    q = torch_q(taught, seen.state, seen.possible)
    assert np.allclose(q, plain_q(taught.weights, seen.state, seen.possible), atol=1e-5)
    changed = np.where(seen.possible[..., None], seen.state, np.float32(9.0))
    assert np.allclose(q[seen.possible], torch_q(taught, changed, seen.possible)[seen.possible], atol=1e-5)


def test_a_permuted_state_gives_permuted_answers() -> None:
    seen, taught, order = experience(50), lessons(), [2, 0, 1]
    q = torch_q(taught, seen.state, seen.possible)
    assert np.allclose(torch_q(taught, seen.state[:, order], seen.possible[:, order]), q[:, order], atol=1e-5)


def test_q_of_the_action_taken_is_its_pulls_on_the_network() -> None:
    seen, taught = experience(50), lessons()
    taught._start()
    out = taught._layers(taught._live, torch.from_numpy(seen.state).flatten(0, 1))[-1].numpy()
    value_and_advantage = out.reshape(2, 50, CANDIDATES).swapaxes(0, 1)
    pulled = (value_and_advantage * pulls(seen.possible, seen.action)).sum(axis=(1, 2))
    assert np.allclose(pulled, torch_q(taught, seen.state, seen.possible)[np.arange(50), seen.action], atol=1e-5)


def test_the_live_network_chooses_and_the_target_network_judges() -> None:
    after, taught = experience(50), lessons()
    taught._start()
    judge = new_weights(FEATURES, seed=2)
    taught._target = [torch.tensor(part) for part in judge]
    chosen = np.where(after.possible, plain_q(taught.weights, after.state, after.possible), -np.inf).argmax(axis=1)
    judged = plain_q(judge, after.state, after.possible)[np.arange(50), chosen]
    said = taught._next_value(torch.from_numpy(after.state), torch.from_numpy(after.possible)).numpy()
    assert np.allclose(said, judged, atol=1e-5)


def test_the_written_out_gradient_is_torchs() -> None:
    seen, taught = experience(32), lessons()
    taught._start()
    live = [part.clone().requires_grad_() for part in taught._live]
    state, wanted = torch.from_numpy(seen.state), torch.from_numpy(2.0 * seen.reward)  # both branches of the loss
    q = taught._q(live, state, torch.from_numpy(seen.possible)).gather(1, torch.from_numpy(seen.action)[:, None])
    gradient = torch.autograd.grad(torch.nn.functional.smooth_l1_loss(q[:, 0], wanted), live)
    taught._descend(state, torch.from_numpy(pulls(seen.possible, seen.action)), wanted)
    for part, expected in zip(taught._live, gradient, strict=True):
        assert torch.allclose(part.grad, expected, atol=1e-6)


def test_its_adam_is_torchs() -> None:
    generator = torch.Generator().manual_seed(0)
    ours = [torch.randn(shape, generator=generator) for shape in ((5, 3), (3,))]
    theirs = [part.clone() for part in ours]
    adams = Adam(torch, ours, 1e-2), torch.optim.Adam(theirs, lr=1e-2, fused=True)
    for _ in range(20):
        for mine, other in zip(ours, theirs, strict=True):
            mine.grad = other.grad = torch.randn(mine.shape, generator=generator)
        adams[0].step(torch)
        adams[1].step()
    assert all(torch.equal(mine, other) for mine, other in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("count", [2, 7, 10, 11, 19, 20, 33])
def test_the_newest_decision_is_never_drawn_and_all_others_are(count: int) -> None:
    replay, numbers = Replay(capacity=10), np.arange(count)
    state = np.zeros((count, 1, 1), np.float32)
    everything = Experience(state, np.ones((count, 1), bool), numbers, numbers.astype(np.float32))
    for first in range(0, count, 5):
        columns = [column[first : first + 5] for column in everything]
        replay.add(Experience(*columns))  # type: ignore[arg-type]  # a list of unlike arrays
    now, after = replay.sample(np.random.default_rng(0), 2000)
    assert set(now.action) == set(range(max(0, count - 10), count - 1))
    assert np.array_equal(after.action, now.action + 1)


@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_lessons_find_the_candidate_that_pays_best(gamma: float) -> None:
    taught, replay, generator = lessons(gamma, batch=64), filled(), np.random.default_rng(0)
    for _ in range(40):
        taught.train(replay, generator, 20, mean_reward=0.0)
    if gamma == 0:  # else what follows is wanted too, and here nobody can foresee it
        assert np.mean(taught.losses[-5:]) < 0.1 * np.mean(taught.losses[:5])
    new = experience(300, seed=9)
    q = np.where(new.possible, torch_q(taught, new.state, new.possible), -np.inf)
    best = np.where(new.possible, new.state[..., 0], -np.inf)
    assert np.mean(q.argmax(axis=1) == best.argmax(axis=1)) > 0.8


def bytes_after(taught: Lessons, generator: np.random.Generator, rounds: list[int]) -> bytes:
    replay = filled()
    for number in rounds:
        taught.train(replay, generator, number, mean_reward=-0.5)
    return b"".join(part.tobytes() for part in taught.weights)


def test_lessons_taken_twice_give_the_same_bytes() -> None:
    once, again = (bytes_after(lessons(), np.random.default_rng(5), [3, 7, 0, 10]) for _ in range(2))
    assert once == again
    assert once != bytes_after(lessons(), np.random.default_rng(6), [3, 7, 0, 10])


def test_many_short_lessons_give_the_same_bytes_as_one_long_one() -> None:
    many, one = (
        bytes_after(lessons(target_update=8), np.random.default_rng(5), rounds) for rounds in ([1] * 20, [20])
    )
    assert many == one


def test_pickled_lessons_go_on_as_if_nothing_had_happened() -> None:
    taught, generator = lessons(target_update=8), np.random.default_rng(5)
    bytes_after(taught, generator, [13])
    copy, copied = pickle.loads(pickle.dumps((taught, generator)))  # noqa: S301  # our own
    assert bytes_after(copy, copied, [10]) == bytes_after(taught, generator, [10])


def test_no_lesson_changes_nothing() -> None:
    taught = lessons()
    before = taught.weights
    assert taught.train(filled(), np.random.default_rng(0), 0, mean_reward=0.0) is before
    assert (taught.steps, taught.losses) == (0, [])
