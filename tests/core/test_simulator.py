"""The loop: clocks, splits, memory, dependencies, data moves, and answers that cannot be carried out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from checks import check_schedule
from hybrid_scheduler.core import Cluster, DeviceClass, Node, Task, Tasks
from hybrid_scheduler.core.compiler import compiled
from hybrid_scheduler.core.placements import NO_DEVICE, NO_MEMORY, NO_PARENT
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import edges_from_ids
from hybrid_scheduler.errors import InputError, PolicyError
from hybrid_scheduler.schedulers.scheduler import Scheduler, from_function
from instances import TWO_NODES, workload


class Always(Scheduler):
    """Gives the same answer to every task."""

    name = "always"

    def __init__(self, gpu_fraction: Any = 0.0, device: Any = 0) -> None:
        self.gpu_fraction, self.device = gpu_fraction, device

    def choose(self, task: Any, view: Any) -> Any:
        return self.gpu_fraction, self.device


def tasks_of(*sizes: float, memory: float = 100.0, **columns: Any) -> Tasks:
    return Tasks.build(sizes, [0.5] * len(sizes), [memory] * len(sizes), **columns)


# N = 10 000 and I = 0.5: base 1 s, speed-up 2.5, so 0.4 s on a GPU and 1600 MB take 0.1 s to move.
ONE = 10_000.0


def test_a_whole_task_takes_its_formula() -> None:
    cpu = VirtualMultiGPU().run(tasks_of(ONE, memory=1600.0), Always(0.0, 0))
    gpu = VirtualMultiGPU().run(tasks_of(ONE, memory=1600.0), Always(1.0, 3))
    assert cpu.finish.tolist() == [1.0]
    assert gpu.finish.tolist() == [0.5]
    assert (cpu.energy.tolist(), gpu.energy.tolist()) == ([30.0], [25.0])
    assert np.allclose([cpu.cost[0], gpu.cost[0]], [2e-5, 5e-5])


def test_a_split_task_ends_when_both_shares_have_ended() -> None:
    placements = VirtualMultiGPU().run(tasks_of(ONE, memory=1600.0), Always(0.6, 1))
    assert np.isclose(placements.gpu_seconds[0], 0.3)
    assert np.isclose(placements.cpu_seconds[0], 0.4)
    assert np.isclose(placements.finish[0], 0.4)
    assert np.isclose(placements.energy[0], 0.3 * 50 + 0.4 * 30)


def test_shares_of_a_split_task_queue_on_their_own_devices() -> None:
    tasks = tasks_of(ONE, ONE, memory=1600.0)
    placements = VirtualMultiGPU().run(tasks, Always(0.5, 2))
    assert np.allclose(placements.gpu_start, [0.0, 0.25])
    assert np.allclose(placements.cpu_start, [0.0, 0.5])
    assert np.allclose(placements.finish, [0.5, 1.0])


def test_devices_are_first_in_first_out() -> None:
    tasks = tasks_of(ONE, ONE, ONE, memory=0.0, arrival_time=[0.0, 0.1, 5.0])
    placements = VirtualMultiGPU().run(tasks, Always(1.0, 1))
    assert np.allclose(placements.start, [0.0, 0.4, 5.0])
    assert np.allclose(placements.waiting, [0.0, 0.3, 0.0])
    assert np.allclose(placements.turnaround, [0.4, 0.7, 0.4])


def test_tasks_are_taken_in_order_of_arrival_whatever_the_order_of_rows() -> None:
    tasks = tasks_of(ONE, ONE, memory=0.0, arrival_time=[0.2, 0.0])
    assert np.allclose(VirtualMultiGPU().run(tasks, Always(1.0, 1)).start, [0.4, 0.0])


def test_a_second_block_finds_the_devices_as_the_first_left_them() -> None:
    machine = VirtualMultiGPU()
    machine.step(tasks_of(ONE, memory=0.0), Always(1.0, 1))
    assert machine.step(tasks_of(ONE, memory=0.0), Always(1.0, 1)).start.tolist() == [0.4]
    assert machine.run(tasks_of(ONE, memory=0.0), Always(1.0, 1)).start.tolist() == [0.0]


def test_isolated_devices_are_always_free() -> None:
    placements = VirtualMultiGPU(mode="isolated").run(tasks_of(ONE, ONE, memory=0.0), Always(1.0, 1))
    assert placements.start.tolist() == [0.0, 0.0]


def test_a_share_that_does_not_fit_the_gpu_spills_to_the_cpu() -> None:
    tasks = Tasks.build([ONE, ONE], [0.5, 0.5], [9000.0, 1000.0])
    placements = VirtualMultiGPU(memory_per_gpu=8000).run(tasks, Always(1.0, 1))
    assert placements.spilled.tolist() == [True, False]
    assert placements.cpu.tolist() == [0, -1]
    assert placements.gpu_fraction.tolist() == [0.0, 1.0]


def test_a_share_that_fits_is_not_spilled_although_the_whole_task_would_be() -> None:
    tasks = Tasks.build([ONE], [0.5], [9000.0])
    placements = VirtualMultiGPU(memory_per_gpu=8000).run(tasks, Always(0.8, 1))
    assert not placements.spilled.any()
    assert placements.gpu_fraction.tolist() == [0.8]


def small_cpu() -> Cluster:
    classes = (DeviceClass("cpu", kind="cpu", memory=100.0), DeviceClass("gpu", memory=200.0))
    return Cluster(classes, (Node({"cpu": 1, "gpu": 1}),))


def test_a_task_that_fits_nowhere_is_rejected_with_its_reason() -> None:
    tasks = Tasks.build([ONE] * 4, [0.5] * 4, [300.0, 150.0, 10.0, 10.0], measured={
        "cpu": [np.nan, np.nan, np.inf, np.nan], "gpu": [np.nan, np.nan, np.inf, np.nan],
    })  # fmt: skip
    placements = VirtualMultiGPU(cluster=small_cpu()).run(tasks, Always(0.0, 0))
    assert placements.status.tolist() == [NO_MEMORY, 1, NO_DEVICE, 0]
    assert "memory" in placements.reason(0)
    assert "no device class" in placements.reason(2)
    assert placements.reason(3) == ""
    assert np.isnan(placements.finish[[0, 2]]).all()
    check_schedule(placements)


def test_a_task_only_a_gpu_can_run_goes_there_when_it_is_sent_to_the_cpu() -> None:
    tasks = tasks_of(ONE, measured={"cpu": [np.inf], "gpu": [2.0]})
    placements = VirtualMultiGPU().run(tasks, Always(0.0, 0))
    assert placements.spilled.all()
    assert placements.finish.tolist() == [2.0]


def test_children_of_a_rejected_task_are_rejected_too() -> None:
    edges = edges_from_ids([0, 1, 2], [[], [0], [1]])
    tasks = Tasks.build([ONE] * 3, [0.5] * 3, [1e6, 1.0, 1.0], edges=edges)
    placements = VirtualMultiGPU(cluster=small_cpu()).run(tasks, Always(0.0, 0))
    assert placements.status.tolist() == [NO_MEMORY, NO_PARENT, NO_PARENT]
    assert placements.makespan == 0.0


def test_measured_times_replace_the_formula_of_their_class_only() -> None:
    nothing = [np.nan, np.nan]
    tasks = tasks_of(ONE, ONE, memory=0.0, measured={"cpu": nothing, "gpu": [0.123, np.nan]})
    placements = VirtualMultiGPU(mode="isolated").run(tasks, Always(1.0, 1))
    assert np.allclose(placements.finish, [0.123, 0.4])
    assert VirtualMultiGPU(mode="isolated").run(tasks, Always(0.0, 0)).finish.tolist() == [1.0, 1.0]


def test_a_class_without_a_column_of_times_runs_only_tasks_that_were_not_measured() -> None:
    tasks = tasks_of(ONE, ONE, memory=0.0, measured={"gpu": [0.123, np.nan]})
    placements = VirtualMultiGPU(mode="isolated").run(tasks, Always(0.0, 0))
    assert placements.spilled.tolist() == [True, False]
    assert placements.finish.tolist() == [0.123, 1.0]


def test_measured_times_of_classes_the_cluster_does_not_have_are_refused() -> None:
    with pytest.raises(InputError, match="measured times of tpu"):
        VirtualMultiGPU().run(tasks_of(ONE, measured={"tpu": [1.0]}), Always())


def test_children_start_when_their_last_parent_has_ended() -> None:
    edges = edges_from_ids([0, 1, 2], [[], [], [0, 1]])
    tasks = Tasks.build([ONE, ONE, ONE], [0.5] * 3, [0.0] * 3, edges=edges)
    placements = VirtualMultiGPU().run(tasks, from_function(lambda task, view: (1.0, 1) if task.row else (0.0, 0)))
    assert placements.finish[:2].tolist() == [1.0, 0.4]
    assert placements.start[2] == 1.0


def test_ready_tasks_of_a_graph_are_decided_in_order_of_readiness() -> None:
    asked: list[int] = []

    def choose(task: Any, view: Any) -> tuple[float, int]:
        asked.append(task.row)
        return 1.0, 1 + task.row % 4

    edges = edges_from_ids([0, 1, 2, 3], [[], [0], [], [2]])
    tasks = Tasks.build([2 * ONE, ONE, ONE, ONE], [0.5] * 4, [0.0] * 4, edges=edges)
    VirtualMultiGPU().run(tasks, from_function(choose))
    assert asked == [0, 2, 3, 1]


def test_data_moves_only_between_different_devices() -> None:
    edges = edges_from_ids([0, 1], [[], [0]], [[], [1600.0]])
    tasks = Tasks.build([ONE, ONE], [0.5] * 2, [0.0] * 2, edges=edges)
    same = VirtualMultiGPU().run(tasks, Always(1.0, 1))
    other = VirtualMultiGPU().run(tasks, from_function(lambda task, view: (1.0, 1 + task.row)))
    assert np.allclose(same.start, [0.0, 0.4])
    assert np.allclose(other.start, [0.0, 0.5])


def test_data_crosses_nodes_over_the_network() -> None:
    cluster = Cluster.from_dict({"nodes": [{"cpu": 1}, {"cpu": 1}], "network": 100.0})
    edges = edges_from_ids([0, 1], [[], [0]], [[], [50.0]])
    tasks = Tasks.build([ONE, ONE], [0.5] * 2, [0.0] * 2, edges=edges)
    placements = VirtualMultiGPU(cluster=cluster).run(tasks, from_function(lambda task, view: (0.0, task.row)))
    assert np.allclose(placements.start, [0.0, 1.5])


def test_the_cpu_share_goes_to_the_free_cpu_of_the_same_node() -> None:
    placements = VirtualMultiGPU(cluster=TWO_NODES).run(tasks_of(ONE, ONE, memory=1.0), Always(0.5, 4))
    assert placements.cpu.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((2.0, 1), "gpu_fraction 2 on device 1 for task 0 (row 0): gpu_fraction is a number from 0 to 1"),
        ((-0.1, 1), "from 0 to 1"),
        ((float("nan"), 1), "from 0 to 1"),
        ((1.0, 9), "devices are 0 to 4"),
        ((1.0, -1), "devices are 0 to 4"),
        ((0.5, 0), "is a CPU and takes no GPU share; GPUs are 1, 2, 3, 4"),
        ((None, 1), "choose returns (gpu_fraction, device)"),
        (("x", 1), "choose returns (gpu_fraction, device)"),
        ((0.5, 1.5), "choose returns (gpu_fraction, device)"),
    ],
)
def test_an_impossible_answer_is_an_error_of_one_line(answer: tuple[Any, Any], words: str) -> None:
    with pytest.raises(PolicyError) as error:
        VirtualMultiGPU().run(tasks_of(ONE), Always(*answer))
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    assert "'always'" in str(error.value)


def test_an_answer_that_is_no_pair_is_an_error_of_one_line() -> None:
    with pytest.raises(PolicyError, match=r"answered 0\.5"):
        VirtualMultiGPU().run(tasks_of(ONE), from_function(lambda task, view: 0.5))  # type: ignore[arg-type,return-value]


def test_an_impossible_answer_of_a_compiled_policy_is_the_same_error() -> None:
    @compiled
    def nine(task: Any, view: Any) -> tuple[float, int]:
        return 1.0, 9

    with pytest.raises(PolicyError, match="devices are 0 to 4"):
        VirtualMultiGPU().run(tasks_of(ONE), from_function(nine))


def test_modes_other_than_two_are_refused() -> None:
    with pytest.raises(InputError, match="queued or isolated"):
        VirtualMultiGPU(mode="turbo")


def test_no_tasks_give_no_placements() -> None:
    placements = VirtualMultiGPU().run(Tasks.build([], [], []), Always())
    assert len(placements) == 0
    assert placements.makespan == 0.0


def test_baselines_are_evaluated_as_the_guide_shows() -> None:
    tasks = list(workload("mixed", 50))
    assert isinstance(tasks[0], Task)
    results = VirtualMultiGPU(num_gpus=4, memory_per_gpu=8000).evaluate_baseline_schedulers(tasks)
    assert list(results) == ["round_robin", "random", "greedy"]
    for figures in results.values():
        assert figures["makespan"] >= figures["max_time"] >= figures["avg_time"] > 0
