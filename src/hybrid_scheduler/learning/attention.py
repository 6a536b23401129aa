"""Training of `attention_agent`: a set transformer imitates the rule that it sees, then improves by masked PPO.

Episodes are late binding (`episodes.py`) on random clusters with random workloads, so what is learnt is how to read
any cluster, not one of them. Imitation is supervised: at every question the answer of the least-increase rule
(`waiting_set.py`) is the label. PPO (Schulman et al. 2017) then samples answers among those allowed. After every
round the network plays held-out episodes, and the best weights are kept: training never makes it worse. On request
all episodes are on one cluster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

from hybrid_scheduler.core.cluster import DEFAULT_CPU, DEFAULT_GPU, Cluster, Node
from hybrid_scheduler.core.compiler import compile_loop
from hybrid_scheduler.core.late_binding import FIRST, LAST
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import atomic_write
from hybrid_scheduler.learning.episodes import PickingEpisodes, Workload, view_devices
from hybrid_scheduler.learning.insight import CurvePoint
from hybrid_scheduler.learning.waiting_set import (
    DEVICE_FIGURES,
    PAIR_FIGURES,
    TASK_FIGURES,
    WIDTH,
    WaitingSet,
    Weights,
    observe,
    weight_shapes,
)
from hybrid_scheduler.workloads.generator import WorkloadGenerator

PLACES, WINDOW, ROLLOUT = 64, 24, 64  # episodes side by side, tasks seen, decisions of each per round
IMITATION, ROUNDS = 40, 45  # rounds of imitation, and of both together
EPOCHS, BATCH, RATE, FINE_RATE = 3, 512, 3e-3, 3e-4
GAMMA, LAMBDA, CLIP, ENTROPY = 0.995, 0.95, 0.1, 0.003
WORKLOADS, HELD_OUT, TASKS = 96, 48, 120  # episodes to draw from, to judge by, and tasks of each
PRESETS = ("mixed", "long_tail", "pareto", "gpu_friendly", "cpu_friendly", "bursty")
STRAY = 0.1  # share of random answers while the rule is shown
RULE, NOTHING = (-20.0, 0.0, -1.0), -4.0  # first weights of regret, slowdown and length, and of taking nothing
Progress = Callable[[int, int], None]


class SetTransformer(nn.Module):
    """Scores what waits for the device that asks; any number of tasks and devices, in any order."""

    def __init__(self, width: int = WIDTH) -> None:
        super().__init__()
        first = {
            name: torch.zeros(shape) if len(shape) == 1 else torch.randn(shape) / math.sqrt(shape[0])
            for name, shape in weight_shapes(width).items()
        }
        first |= {
            "score": 0.01 * torch.randn(width),
            "rule": torch.tensor(RULE),
            "none_bias": torch.tensor([NOTHING]),
        }
        self.weights = nn.ParameterDict(first)
        self.critic = nn.Sequential(nn.Linear(2 * width, 4 * width), nn.ReLU(), nn.Linear(4 * width, 1))

    def forward(self, seen: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the scores of all tasks and of taking none, and the value of the state."""
        w: Any = Weights(**self.weights)
        tasks, devices, pairs = seen["tasks"], seen["devices"], seen["pairs"]
        root, rows = math.sqrt(w.task.shape[1]), torch.arange(len(tasks))
        task = torch.relu(tasks @ w.task + w.task_bias)
        device = torch.relu(devices @ w.device + w.device_bias)
        # Tasks look at devices …
        attention = task @ w.query @ (device @ w.key).mT / root + pairs @ w.pair_weight
        attention = attention.masked_fill(~seen["is_device"][:, None], -torch.inf).softmax(-1)
        found = torch.einsum("bkd,bkdp->bkp", attention, pairs) @ w.pair_value
        task = task + attention @ (device @ w.value) + found
        # … and the device that asks looks at tasks.
        asking, pair = device[rows, seen["asking"]], pairs[rows, :, seen["asking"]]
        look = torch.einsum("bkw,bw->bk", task @ w.task_key, asking @ w.device_query) / root
        look = (look + pair @ w.task_weight).masked_fill(~seen["is_task"], -torch.inf).softmax(-1)
        asking = asking + torch.einsum("bk,bkw->bw", look, task @ w.task_value)
        hidden = torch.relu(
            task @ w.from_task + (asking @ w.from_device)[:, None] + pair @ w.from_pair + w.hidden_bias
        )
        scores = hidden @ w.score + pair @ w.rule[:-1] + tasks[..., 0] * w.rule[-1]
        none = asking @ w.none_hidden + w.none_bias
        state = torch.cat([asking, (look[..., None] * task).sum(1)], -1)
        return torch.cat([scores, none[:, None]], -1), self.critic(state)[:, 0]

    def export(self) -> Weights:
        """Return the weights as plain arrays, for decisions without torch."""
        return Weights(**{name: each.detach().double().numpy().copy() for name, each in self.weights.items()})


# --- what is played ------------------------------------------------------------------------------------------------


def draw_workload(generator: np.random.Generator, tasks: int = TASKS, cluster: Cluster | None = None) -> Workload:
    """Draw a random preset at a random load, on a cluster with classes of random physics unless one is given."""
    cluster = cluster or draw_cluster(generator)
    preset, load = PRESETS[generator.integers(len(PRESETS))], float(generator.uniform(0.5, 1.2))
    draw = WorkloadGenerator(int(generator.integers(2**31)))
    return draw.generate_preset(preset, tasks, load=load, cluster=cluster), cluster


def draw_cluster(generator: np.random.Generator) -> Cluster:
    """Draw one node of up to two classes of CPUs and three of GPUs."""
    cpus = [_draw_class(generator, f"cpu{n}", DEFAULT_CPU) for n in range(generator.integers(1, 3))]
    gpus = [_draw_class(generator, f"gpu{n}", DEFAULT_GPU) for n in range(generator.integers(0, 4))]
    counts = {each.name: int(generator.integers(1, 4)) for each in (*cpus, *gpus)}
    return Cluster((*cpus, *gpus), (Node(counts),))


def _draw_class(generator: np.random.Generator, name: str, base: Any) -> Any:
    def spread(value: float, factor: float) -> float:
        return float(value * factor ** generator.uniform(-1.0, 1.0))

    if base.kind == "cpu":
        return replace(base, name=name, speed=spread(1.0, 2.0))
    figures = {"speed": spread(1.0, 2.0), "speedup_slope": spread(3.0, 3.0), "bandwidth": spread(16000.0, 3.0)}
    return replace(base, name=name, memory=float(generator.choice([1000.0, 8000.0, 16000.0])), **figures)


class Play:
    """Episodes, and what the agent sees of the question at hand in each of them."""

    def __init__(self, workloads: Iterable[Workload], number: int = PLACES, seed: int = 0) -> None:
        self.episodes = PickingEpisodes(list(workloads), number, scale=1.0, window=WINDOW, yields=True)
        episodes: Any = self.episodes  # its columns are attributes
        devices, classes = episodes.devices, episodes.classes
        self.tasks = np.zeros((number, WINDOW, TASK_FIGURES))
        self.device_figures = np.zeros((number, devices, DEVICE_FIGURES))
        self.pairs = np.zeros((number, WINDOW, devices, PAIR_FIGURES))
        self.allowed = np.zeros((number, WINDOW + 1), np.bool_)
        self.expected, self.left = np.zeros((WINDOW, classes)), np.zeros((number, devices))
        self.need, self.age = np.zeros((2, WINDOW))
        self.order, self.load, self.assigned = np.zeros(WINDOW, np.int64), np.zeros(devices), np.zeros(classes)
        self.length, self.count = np.zeros((number, classes)), np.zeros(number, np.int64)
        self.sizes = (episodes.memory >= 0).sum(axis=1)  # devices by workload: those that were added hold nothing
        self.members = np.ones((len(episodes.count), classes))
        for workload, size in enumerate(self.sizes):
            here = np.bincount(episodes.device_class[workload, :size], minlength=classes)
            self.members[workload] = np.maximum(here, 1)
        self.answer, self.drawn = np.zeros(number, np.int64), np.zeros(number, np.int64)
        episodes.seed(seed)
        self._run, self._state = compile_loop(observe_places, {}, self)
        self.look()

    def look(self) -> None:
        """Observe the question at hand of every episode, and what the rule would answer."""
        self._run(self._state, self.episodes._state)

    def step(self, answers: np.ndarray[Any, Any]) -> None:
        """Answer every question and observe the next ones."""
        self.episodes.step(answers)
        self.look()

    def see(self) -> dict[str, Tensor]:
        """Return what is seen, as tensors of their own."""
        sizes = self.sizes[self.episodes.episode]
        columns = {
            "tasks": self.tasks.astype(np.float32),
            "devices": self.device_figures.astype(np.float32),
            "pairs": self.pairs.astype(np.float32),
            "is_task": np.arange(WINDOW) < self.count[:, None],
            "is_device": np.arange(self.episodes.devices) < sizes[:, None],
            "asking": self.episodes.asking[:, 0].copy(),
            "allowed": self.allowed.copy(),
        }
        return {name: torch.from_numpy(column) for name, column in columns.items()}


def observe_places(play: Any, state: Any) -> None:
    """Observe the question of every episode; compiled."""
    for place in range(len(state.episode)):
        pool, first = state.episode[place], state.cursor[place, FIRST]
        if state.draws[place] != play.drawn[place]:  # another episode has begun
            play.drawn[place], play.length[place, :] = state.draws[place], 0.0
        count, now = min(state.cursor[place, LAST] - first, state.window), state.now[place, 0]
        view, size = view_devices(state, place, pool), play.sizes[pool]
        for task in range(count):
            row = state.waiting_row[place, first + task]
            for kind in range(state.seconds.shape[2]):
                play.expected[task, kind] = state.seconds[pool, row, kind]
            play.need[task], play.age[task] = state.need[pool, row], now - state.arrival[pool, row]
        for device in range(size):
            play.left[place, device] = max(state.free[place, device] - now, 0.0)
        waiting = WaitingSet(
            play.expected, play.need, play.age, play.left[place, :size], state.idle[place], play.length[place],
            play.order, play.load, play.assigned, play.members[pool], play.tasks[place],
            play.device_figures[place], play.pairs[place], play.allowed[place],
        )  # fmt: skip
        taken = observe(waiting, count, state.asking[place, 0], view, True)
        may_wait = play.allowed[place, count]
        play.allowed[place, count:] = False
        play.allowed[place, state.window] = may_wait
        play.answer[place], play.count[place] = taken if taken >= 0 else state.window, count


# --- learning ------------------------------------------------------------------------------------------------------


@dataclass
class AttentionTrainer:
    """Imitates, then improves; a checkpoint holds all of it, so that an interrupted training goes on where it was."""

    seed: int = 0
    rounds: int = ROUNDS
    imitation: int = IMITATION
    workloads: int = WORKLOADS
    held_out: int = HELD_OUT
    cluster: Cluster | None = None  # None: another one in every episode
    curve: list[CurvePoint] = field(default_factory=list)
    round: int = 0
    best: float = -math.inf

    def __post_init__(self) -> None:
        torch.manual_seed(self.seed)
        generator = np.random.default_rng(self.seed)
        self.network = SetTransformer()
        self.optimizer = torch.optim.Adam(self.network.parameters(), RATE)
        drawn = [draw_workload(generator, cluster=self.cluster) for _ in range(self.workloads + self.held_out)]
        self.play, self._held_out = Play(drawn[: self.workloads], seed=self.seed), drawn[self.workloads :]
        self._judging: Play | None = None
        self.kept = self.network.export()

    @property
    def decisions(self) -> int:
        """Decisions that were learnt from so far."""
        return self.round * PLACES * ROLLOUT

    def train(self, checkpoint: Path | None = None, progress: Progress | None = None) -> Weights:
        """Train to the end, from the checkpoint if there is one; return the best weights."""
        if checkpoint is not None and checkpoint.exists():
            self._resume(checkpoint)
        while self.round < self.rounds:
            if progress:
                progress(self.round, self.rounds)
            loss = self._imitate() if self.round < self.imitation else self._improve()
            self.round += 1
            score = self.judge()
            if score > self.best:
                self.best, self.kept = score, self.network.export()
            self.curve.append(CurvePoint(self.decisions, self.round, loss, 0.0, score))
            if checkpoint is not None:
                self._save(checkpoint)
        if progress:
            progress(self.rounds, self.rounds)
        return self.kept

    def _imitate(self) -> float:
        """Follow the rule for a while, and learn its answers."""
        kept, stray = [], np.random.default_rng([self.seed, self.round])
        for _ in range(ROLLOUT):
            seen = self.play.see()
            kept.append({**seen, "answer": torch.from_numpy(self.play.answer.copy())})
            random = Categorical(logits=_mask(torch.zeros_like(seen["allowed"], dtype=torch.float32), seen)).sample()  # type: ignore[no-untyped-call]  # torch's
            strays = stray.random(PLACES) < STRAY
            self.play.step(np.where(strays, random.numpy(), self.play.answer))
        return self._descend(_join(kept), _imitation_loss, RATE)

    def _improve(self) -> float:
        """Play for a while, and take the clipped steps of PPO."""
        kept, rewards, ends = [], [], []
        for _ in range(ROLLOUT):
            seen = self.play.see()
            with torch.no_grad():
                scores, value = self.network(seen)
            chances: Any = Categorical(logits=_mask(scores, seen))
            answer = chances.sample()
            kept.append({**seen, "answer": answer, "chance": chances.log_prob(answer), "value": value})
            self.play.step(answer.numpy())
            rewards.append(torch.from_numpy(self.play.episodes.reward.astype(np.float32)))
            ends.append(torch.from_numpy(self.play.episodes.ended.copy()))
        with torch.no_grad():
            after = self.network(self.play.see())[1]
        values = torch.stack([each["value"] for each in kept])
        gain = advantages(torch.stack(rewards), values, torch.stack(ends), after)
        joined = _join(kept) | {"goal": (gain + values).flatten()}
        joined["gain"] = (gain.flatten() - gain.mean()) / (gain.std() + 1e-8)
        return self._descend(joined, _ppo_loss, FINE_RATE)

    def _descend(self, seen: dict[str, Tensor], loss_of: Callable[..., Tensor], rate: float) -> float:
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        total = 0.0
        for _ in range(EPOCHS):
            for rows in torch.split(torch.randperm(len(seen["answer"])), BATCH):
                loss = loss_of(self.network, {name: column[rows] for name, column in seen.items()})
                self.optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]  # torch's
                nn.utils.clip_grad_norm_(self.network.parameters(), 0.5)
                self.optimizer.step()
                total = float(loss.detach())
        return total

    def judge(self) -> float:
        """Return the mean reward per task of held-out episodes, each played to its end with the best answers."""
        play = self._judging = self._judging or Play(self._held_out, self.held_out)
        return judge(play, lambda seen: self.network(seen)[0])

    def _save(self, path: Path) -> None:
        state = {"settings": self._settings, "round": self.round, "best": self.best}
        state |= {"curve": [tuple(each) for each in self.curve], "torch": torch.get_rng_state()}
        state |= {"network": self.network.state_dict(), "optimizer": self.optimizer.state_dict()}
        state |= {"kept": {name: torch.from_numpy(each) for name, each in self.kept._asdict().items()}}
        with atomic_write(path) as scratch:
            torch.save(state, scratch)

    @property
    def _settings(self) -> list[Any]:
        return [self.seed, self.imitation, self.cluster and self.cluster.to_dict()]

    def _resume(self, path: Path) -> None:
        try:
            state = torch.load(path, weights_only=True)
            settings = state["settings"]
            self.network.load_state_dict(state["network"])
            self.optimizer.load_state_dict(state["optimizer"])
            torch.set_rng_state(state["torch"])
            self.kept = Weights(**{name: each.numpy() for name, each in state["kept"].items()})
            self.curve = [CurvePoint(*each) for each in state["curve"]]
            self.round, self.best = state["round"], state["best"]
        except Exception as error:  # whatever torch raises about what is no file of its own
            message = f"{path} is no checkpoint ({type(error).__name__}): name another file, or delete it"
            raise InputError(message) from error
        if settings != self._settings:
            raise InputError(f"{path} belongs to a training with other settings: name another file, or delete it")
        self.play.episodes.seed(self.seed + self.round)
        self.play.look()


def judge(play: Play, score: Callable[[dict[str, Tensor]], Tensor]) -> float:
    """Return the mean reward per task of one episode at every place, played with the answers that score best."""
    play.episodes.seed(0)
    play.look()
    returns = np.full(play.episodes.number, np.nan)
    while np.isnan(returns).any():
        seen = play.see()
        with torch.no_grad():
            answers = _mask(score(seen), seen).argmax(-1).numpy()
        play.step(answers)
        ended = play.episodes.ended & np.isnan(returns)
        returns[ended] = play.episodes.last_return[ended]
    return float(returns.mean() / TASKS)


def advantages(rewards: Tensor, values: Tensor, ends: Tensor, after: Tensor) -> Tensor:
    """Return generalised advantages (Schulman et al. 2016); nothing follows the end of an episode."""
    found, gain = torch.zeros_like(values), torch.zeros_like(after)
    for step in range(len(rewards) - 1, -1, -1):
        goes_on = (~ends[step]).float()
        following = values[step + 1] if step + 1 < len(rewards) else after
        error = rewards[step] + GAMMA * following * goes_on - values[step]
        gain = error + GAMMA * LAMBDA * goes_on * gain
        found[step] = gain
    return found


def _mask(scores: Tensor, seen: dict[str, Tensor]) -> Tensor:
    return scores.masked_fill(~seen["allowed"], -1e9)


def _join(kept: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    return {name: torch.cat([each[name] for each in kept]) for name in kept[0]}


def _imitation_loss(network: SetTransformer, seen: dict[str, Tensor]) -> Tensor:
    return nn.functional.cross_entropy(_mask(network(seen)[0], seen), seen["answer"])


def _ppo_loss(network: SetTransformer, seen: dict[str, Tensor]) -> Tensor:
    scores, value = network(seen)
    chances: Any = Categorical(logits=_mask(scores, seen))
    ratio = (chances.log_prob(seen["answer"]) - seen["chance"]).exp()
    clipped = torch.minimum(ratio * seen["gain"], ratio.clamp(1 - CLIP, 1 + CLIP) * seen["gain"])
    worth = nn.functional.smooth_l1_loss(value, seen["goal"])
    loss: Tensor = -clipped.mean() + 0.5 * worth - ENTROPY * chances.entropy().mean()
    return loss
