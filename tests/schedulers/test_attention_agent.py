"""The attention agent: sets in any order, decisions without torch, no idle device that nobody excuses, training."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from checks import check_schedule
from hybrid_scheduler import registry
from hybrid_scheduler.core import Cluster, Task, Tasks
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.late_binding import Waiting
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.view import View
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning import attention
from hybrid_scheduler.learning.attention import AttentionTrainer, Play, SetTransformer, draw_workload
from hybrid_scheduler.learning.waiting_set import Scratch, WaitingSet, score_tasks
from hybrid_scheduler.schedulers.attention_agent import AttentionAgent
from hybrid_scheduler.workloads import WorkloadGenerator
from instances import TWO_NODES, workload


def draw_seen(seed: int, tasks: int, devices: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    asking = int(torch.randint(devices, (1,), generator=generator))
    figures = torch.rand(1, devices, 2, generator=generator)
    figures[..., 1] = torch.arange(devices) == asking
    return {
        "tasks": torch.randn(1, tasks, 2, generator=generator),
        "devices": figures,
        "pairs": torch.rand(1, tasks, devices, 2, generator=generator) * 3,
        "is_task": torch.ones(1, tasks, dtype=torch.bool),
        "is_device": torch.ones(1, devices, dtype=torch.bool),
        "asking": torch.tensor([asking]),
    }


@pytest.fixture(scope="module")
def network() -> SetTransformer:
    torch.manual_seed(4)
    built = SetTransformer()
    torch.nn.init.normal_(built.weights["score"])
    torch.nn.init.normal_(built.weights["none_hidden"])
    return built


@pytest.mark.parametrize(("tasks", "devices"), [(1, 1), (5, 3), (32, 16)])
def test_scores_follow_the_tasks_and_do_not_see_the_order_of_devices(
    network: SetTransformer, tasks: int, devices: int
) -> None:
    seen, generator = draw_seen(1, tasks, devices), torch.Generator().manual_seed(2)
    scores, value = network(seen)
    order, places = torch.randperm(tasks, generator=generator), torch.randperm(devices, generator=generator)
    moved = {
        **seen,
        "tasks": seen["tasks"][:, order],
        "devices": seen["devices"][:, places],
        "pairs": seen["pairs"][:, order][:, :, places],
        "asking": (places == seen["asking"]).nonzero()[:, 0],
    }
    other, same = network(moved)
    torch.testing.assert_close(other[:, :tasks], scores[:, order])
    torch.testing.assert_close(other[:, tasks], scores[:, tasks])
    torch.testing.assert_close(same, value)


def test_padding_changes_nothing(network: SetTransformer) -> None:
    seen = draw_seen(3, 4, 3)
    padded = {name: torch.nn.functional.pad(seen[name], (0, 0, 0, 2), value=9.0) for name in ("tasks", "devices")}
    padded["pairs"] = torch.nn.functional.pad(seen["pairs"], (0, 0, 0, 2, 0, 2), value=9.0)
    for name in ("is_task", "is_device"):
        padded[name] = torch.nn.functional.pad(seen[name], (0, 2), value=False)
    scores, padded_scores = network(seen)[0], network({**seen, **padded})[0]
    torch.testing.assert_close(padded_scores[:, [0, 1, 2, 3, 6]], scores)


@pytest.mark.parametrize(("tasks", "devices"), [(1, 2), (7, 4), (32, 16)])
def test_compiled_scores_are_those_of_torch(network: SetTransformer, tasks: int, devices: int) -> None:
    seen, width = draw_seen(5, tasks, devices), network.weights["task"].shape[1]
    arrays: dict[str, Any] = {name: seen[name][0].double().numpy() for name in ("tasks", "devices", "pairs")}
    none, whole = np.zeros(0), np.zeros(0, np.int64)
    make_set: Any = WaitingSet
    make_scratch: Any = Scratch
    now = make_set(
        none,
        none,
        none,
        np.zeros(devices),
        none,
        none,
        whole,
        none,
        none,
        none,
        *arrays.values(),
        np.zeros(tasks + 1),
    )
    by_device: list[Any] = [np.zeros((devices, width)) for _ in range(3)]
    room = make_scratch(
        np.zeros((tasks, width)), *by_device, *(np.zeros(width) for _ in range(3)), np.zeros(max(tasks, devices))
    )
    scores = np.zeros(tasks + 1)
    score_tasks(network.export(), now, tasks, int(seen["asking"]), room, scores)
    np.testing.assert_allclose(scores, network(seen)[0][0].detach().numpy(), rtol=1e-4, atol=1e-4)


class Watched(AttentionAgent):
    """Notes when a device stays idle, and whether a task waited that no device that holds it runs faster."""

    idled: list[bool]

    def pick(self, waiting: Waiting, device: int, view: View) -> int:
        position = AttentionAgent.pick(self, waiting, device, view)
        if position < 0:
            count = min(waiting.length, self.window)
            seconds = self.expected[:count][:, view.device_class]
            seconds = np.where(self.need[:count, None] <= view.memory, seconds, np.inf)
            self.idled.append(bool((seconds[:, device] <= seconds.min(axis=1)).any()))
        return position


def test_no_device_is_idle_that_is_the_fastest_for_what_waits() -> None:
    agent = Watched(online=False)
    agent.idled = []
    VirtualMultiGPU(cluster=TWO_NODES).run(workload("mixed", 60, load=1.5), agent, interpreted=True)
    assert agent.idled
    assert not any(agent.idled)


def test_equal_devices_are_never_idle_while_a_task_waits() -> None:
    cluster = Cluster.from_dict({"nodes": [{"cpu": 3}]})
    tasks = WorkloadGenerator(2).generate_preset("mixed", 120, load=1.2, cluster=cluster)
    placements = VirtualMultiGPU(cluster=cluster).run(tasks, AttentionAgent())
    check_schedule(placements)
    for row in np.flatnonzero(placements.waiting > 1e-9):
        begin, start = tasks.arrival_time[row], placements.cpu_start[row]
        busy = (placements.cpu_start < start) & (placements.finish > begin)
        for device in range(3):
            here = busy & (placements.cpu == device)
            covered = np.minimum(placements.finish[here], start) - np.maximum(placements.cpu_start[here], begin)
            assert covered.sum() == pytest.approx(start - begin)


def test_it_beats_the_forest_in_turnaround_on_tasks_that_neither_has_seen() -> None:
    tasks = WorkloadGenerator(77).generate_preset("mixed", 1200, load=0.9)
    mean = {
        name: Lane(registry.schedulers.create(name, seed=1), VirtualMultiGPU()).run(tasks).turnaround.mean()
        for name in ("attention_agent", "hybrid_ml", "greedy")
    }
    assert mean["attention_agent"] < mean["hybrid_ml"] * 1.02
    assert mean["attention_agent"] < mean["greedy"] / 3


def test_tasks_that_only_one_class_can_run_go_there() -> None:
    tasks = [Task(n, 500.0, 0.5, 10.0, 0.01 * n, measured={"cpu": 0.1, "gpu": np.inf}) for n in range(30)]
    placements = Lane(AttentionAgent(), VirtualMultiGPU()).run(Tasks.from_iterable(tasks))
    check_schedule(placements)
    assert (placements.gpu == -1).all()


def test_within_a_graph_it_goes_by_the_means_of_what_has_ended() -> None:
    """Sizes say that both classes are alike; one device finds out that they are not."""
    slow = {"slow": {"kind": "cpu", "speed": 0.01}}
    cluster = Cluster.from_dict({"classes": slow, "nodes": [{"cpu": 2, "slow": 8}]})
    chain = [Task(n, 500.0, 0.2, 10.0, 0.0, (n - 4,) if n >= 4 else ()) for n in range(80)]
    placements = VirtualMultiGPU(cluster=cluster).run(Tasks.from_iterable(chain), AttentionAgent())
    check_schedule(placements)
    begun = placements.cpu_start[placements.cpu >= 2]
    assert 0 < len(begun) <= 10, "those that ran there while nothing was known, and hardly any later"


@pytest.mark.parametrize("taught", [False, True])
def test_a_batch_of_which_nothing_is_known_keeps_every_machine_at_work(taught: bool) -> None:
    """Means of unrelated times differ by chance, and what was learnt on other machines says nothing of these."""
    columns = {f"m{number:02d}": {"kind": "cpu"} for number in range(16)}
    cluster = Cluster.from_dict({"classes": columns, "nodes": [dict.fromkeys(columns, 1)]})
    batch, other = (draw_matrix(seed, 512, sorted(columns)) for seed in (1, 2))
    agent = AttentionAgent()
    if taught:
        agent.pretrain(other, cluster, measured=True)
    placements = Lane(agent, VirtualMultiGPU(cluster=cluster)).run(batch)
    check_schedule(placements)
    rule = VirtualMultiGPU(cluster=cluster).run(batch, registry.schedulers.create("work_stealing"))
    assert placements.turnaround.mean() < 1.2 * rule.turnaround.mean()


def draw_matrix(seed: int, count: int, machines: list[str]) -> Tasks:
    """Draw a batch of times as Braun et al. 2001 do: every other machine is faster than the next."""
    generator, alike = np.random.default_rng(seed), np.ones(count)
    times = generator.uniform(1, 3000, count)[:, None] * generator.uniform(1, 1000, (count, len(machines)))
    times[:, ::2] = np.sort(times[:, ::2], axis=1)
    seconds = {name: times[:, column] for column, name in enumerate(machines)}
    return Tasks.build(size=alike, compute_intensity=0.5 * alike, memory_required=alike, measured=seconds)


def test_it_decides_without_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from hybrid_scheduler.core.simulator import VirtualMultiGPU\n"
        "from hybrid_scheduler.schedulers.attention_agent import AttentionAgent\n"
        "from hybrid_scheduler.workloads import WorkloadGenerator\n"
        "placed = VirtualMultiGPU().run(WorkloadGenerator(1).generate_preset('mixed', 50), AttentionAgent())\n"
        "sys.exit(0 if placed.ran.all() else 1)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_training_resumes_where_it_was_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "ROLLOUT", 8)  # decisions of a round, seen once: rounds of full length take long
    monkeypatch.setattr(attention, "EPOCHS", 1)
    file = tmp_path / "checkpoint.pt"
    few: dict[str, Any] = {"imitation": 1, "workloads": 4, "held_out": 2}
    first = AttentionTrainer(seed=1, rounds=2, **few)
    first.train(file)
    assert [point.steps for point in first.curve] == [1, 2], "a round of imitation, and one of PPO"
    assert first.best == max(point.reward for point in first.curve)
    again = AttentionTrainer(seed=1, rounds=3, **few)
    again.train(file)
    assert again.curve[:2] == first.curve
    assert [point.steps for point in again.curve] == [1, 2, 3]
    again.seed = 2
    with pytest.raises(InputError, match="other settings"):
        again.train(file)
    file.write_text("no checkpoint")
    with pytest.raises(InputError, match="is no checkpoint"):
        again.train(file)


def test_the_rule_is_what_training_shows() -> None:
    generator = np.random.default_rng(3)
    play = Play([draw_workload(generator) for _ in range(4)], 8)
    for _ in range(50):
        seen = play.see()
        assert seen["allowed"].gather(1, torch.from_numpy(play.answer)[:, None]).all(), "the rule's answer is allowed"
        play.step(play.answer)


def test_files_that_hold_something_else_are_refused(tmp_path: Path) -> None:
    agent, file = AttentionAgent(), tmp_path / "agent.model"
    agent.set_weights(agent.weights._replace(score=np.zeros(3)))
    agent.save(file)
    with pytest.raises(InputError, match="another shape"):
        AttentionAgent(model=str(file))
