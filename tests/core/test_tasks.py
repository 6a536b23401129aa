"""Tasks are validated once: an error names the row; valid columns come back bit-identical."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawn import examples
from hybrid_scheduler.core import Task, Tasks
from hybrid_scheduler.core.tasks import (
    MAX_MEMORY,
    MAX_SECONDS,
    MAX_SIZE,
    Edges,
    base_duration,
    concatenate_tasks,
    edges_from_ids,
    no_edges,
    topological_order,
)
from hybrid_scheduler.errors import InputError, RowError, SchedulerError

GOOD: dict[str, Any] = {"size": [100.0, 200.0], "compute_intensity": [0.0, 1.0], "memory_required": [0.0, 10.0]}

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a size of 0": ({"size": [1.0, 0.0]}, r"row 1: size is 0, expected a number above 0"),
    "a negative size": ({"size": [1.0, -2.5]}, r"row 1: size is -2\.5, expected a number above 0"),
    "an infinite size": ({"size": [math.inf, 1.0]}, r"row 0: size is inf, expected a number above 0"),
    "a size that is NaN": ({"size": [1.0, math.nan]}, r"row 1: size is nan, expected a number above 0"),
    "an intensity above 1": ({"compute_intensity": [0.5, 1.5]}, r"row 1: compute_intensity is 1\.5, .* from 0 to 1"),
    "an intensity below 0": ({"compute_intensity": [-0.1, 0]}, r"row 0: compute_intensity is -0\.1, .* from 0 to 1"),
    "an intensity of -0.5": ({"compute_intensity": [-0.5, 0]}, r"row 0: compute_intensity is -0\.5, .* from 0 to 1"),
    "an intensity of NaN": ({"compute_intensity": [0.5, math.nan]}, r"row 1: compute_intensity is nan"),
    "negative memory": ({"memory_required": [1, -1]}, r"row 1: memory_required is -1, expected megabytes, 0 or more"),
    "infinite memory": ({"memory_required": [math.inf, 1]}, r"row 0: memory_required is inf"),
    "a negative arrival": ({"arrival_time": [0, -1]}, r"row 1: arrival_time is -1, expected seconds, 0 or more"),
    "an infinite arrival": ({"arrival_time": [0, math.inf]}, r"row 1: arrival_time is inf"),
    "an arrival that is NaN": ({"arrival_time": [math.nan, 1]}, r"row 0: arrival_time is nan"),
    "a duration of 0": ({"duration_estimate": [1, 0]}, r"row 1: duration_estimate is 0, expected seconds above 0"),
    "an infinite duration": ({"duration_estimate": [1, math.inf]}, r"row 1: duration_estimate is inf"),
    "a measured time of 0": ({"measured": {"gpu": [1, 0]}}, r"row 1: time_gpu is 0, .* above 0, .*inf or empty"),
    "a negative measured time": ({"measured": {"gpu": [-1, 1]}}, r"row 0: time_gpu is -1, "),
    "the same id twice": ({"task_id": [7, 7]}, r"row 1: task_id 7 appears twice: ids must be unique"),
    "a short column": ({"memory_required": [1.0]}, r"column 'memory_required' has shape \(1,\), expected \(2,\)"),
    "a long column": ({"arrival_time": [1.0, 2.0, 3.0]}, r"column 'arrival_time' has shape \(3,\), expected \(2,\)"),
    "a table as a column": ({"size": [[1.0], [2.0]]}, r"column 'size' has shape \(2, 1\)"),
    "a short measured column": ({"measured": {"gpu": [1.0]}}, r"column 'time_gpu' has shape \(1,\), expected \(2,\)"),
    "too few ids": ({"task_id": [7]}, r"task_id.*\(1,\)"),
    "too many ids": ({"task_id": [7, 8, 9]}, r"task_id.*\(3,\)"),
    "ids that are fractions": ({"task_id": [0.25, 0.75]}, r"task_id.*whole number"),
    "edges of other tasks": ({"edges": no_edges(5)}, r"edges"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_column_is_refused_with_its_row_and_what_is_expected(name: str) -> None:
    change, says = BAD[name]
    with pytest.raises(InputError, match=says):
        Tasks.build(**{**GOOD, **change})


def test_an_error_of_a_row_carries_the_row_for_readers_of_files() -> None:
    with pytest.raises(RowError) as caught:
        Tasks.build(size=[1, 2, -3, -4], compute_intensity=[0] * 4, memory_required=[0] * 4)
    assert caught.value.row == 2
    assert caught.value.reason.startswith("size is -3")


def test_the_edges_of_what_is_allowed_are_allowed() -> None:
    tasks = Tasks.build(
        size=[5e-324**0.25, MAX_SIZE],
        compute_intensity=[0.0, 1.0],
        memory_required=[0.0, MAX_MEMORY],
        arrival_time=[0.0, MAX_SECONDS],
        measured={"gpu": [math.inf, math.nan], "cpu": [MAX_SECONDS, 5e-324]},
    )
    assert len(tasks) == 2
    assert np.all(tasks.duration_estimate > 0)


def test_a_missing_duration_follows_the_formula_and_a_given_one_is_kept() -> None:
    tasks = Tasks.build(**GOOD, duration_estimate=[math.nan, 42.0])
    assert tasks.duration_estimate[0] == pytest.approx(1e-6 * 100.0**1.5 / 0.5, rel=1e-15)
    assert tasks.duration_estimate[1] == 42.0
    assert base_duration(np.array([400.0]), np.array([0.5]))[0] == pytest.approx(1e-6 * 8000.0, rel=1e-15)


def test_columns_are_the_tasks_own_and_can_be_written_whatever_they_came_from() -> None:
    frozen = np.array([1.0, 2.0])
    frozen.flags.writeable = False
    tasks = Tasks.build(frozen, [0.1, 0.2], frozen, arrival_time=frozen, duration_estimate=frozen)
    for column in (tasks.size, tasks.memory_required, tasks.arrival_time, tasks.duration_estimate):
        assert column.flags.writeable
        assert column.flags.c_contiguous
        assert column.dtype == np.float64


def test_ids_are_counted_from_0_unless_given() -> None:
    assert Tasks.build(**GOOD).task_id.tolist() == [0, 1]
    assert Tasks.build(**GOOD, task_id=[9, 3]).task_id.tolist() == [9, 3]


def test_no_tasks_are_tasks_too() -> None:
    tasks = Tasks.from_iterable([])
    assert len(tasks) == 0
    assert list(tasks) == []
    assert tasks.in_order
    assert not tasks.has_edges


def test_a_list_of_tasks_becomes_columns_and_comes_back_the_same() -> None:
    rows = [
        Task(5, 100.0, 0.25, 10.0, 1.5, (), 0.125, {"cpu": 3.0, "gpu": math.inf}),
        Task(2, 0.1 + 0.2, 1.0, 0.0, 0.0, (5,), 1 / 3, {"gpu": 0.1}),
        Task(9, 1e-3, 0.0, 5.5, 0.75, (2, 5), 7.0, {}),
    ]
    tasks = Tasks.from_iterable(rows)
    assert list(tasks) == rows
    assert tasks[1] == rows[1]
    assert tasks.task_id.tolist() == [5, 2, 9]
    assert [tasks.edges.neighbours(row).tolist() for row in range(3)] == [[], [0], [1, 0]]
    assert sorted(tasks.measured) == ["cpu", "gpu"]


def test_columns_pass_through_unchanged() -> None:
    tasks = Tasks.build(**GOOD)
    assert Tasks.from_iterable(tasks) is tasks


def test_a_generator_of_tasks_is_taken_too() -> None:
    tasks = Tasks.from_iterable(Task(number, 1.0 + number, 0.5, 1.0) for number in range(4))
    assert tasks.size.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_a_task_without_a_duration_gets_the_formula() -> None:
    assert Tasks.from_iterable([Task(0, 100.0, 0.5, 1.0)])[0].duration_estimate == pytest.approx(1e-3, rel=1e-15)


def test_a_task_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Task(0, 1.0, 0.5, 1.0).size = 2.0  # type: ignore[misc]


@pytest.mark.parametrize("task_id", [2**63, -(2**63) - 1])
def test_an_id_that_no_column_can_hold_is_refused(task_id: int) -> None:
    with pytest.raises(InputError, match="task_id"):
        Tasks.from_iterable([Task(task_id, 1.0, 0.5, 1.0)])


# --- edges ---------------------------------------------------------------------------------------------------


def test_an_unknown_parent_is_named_with_its_child() -> None:
    with pytest.raises(RowError, match=r"row 1: task 7 depends on task 99, which does not exist: add that task"):
        Tasks.from_iterable([Task(5, 1.0, 0.5, 1.0), Task(7, 1.0, 0.5, 1.0, dependencies=(5, 99))])


def test_a_cycle_is_named_by_a_task_on_it_or_behind_it() -> None:
    with pytest.raises(RowError, match=r"cycle through task (3|4|5): remove one dependency"):
        Tasks.from_iterable([Task(k, 1.0, 0.5, 1.0, dependencies=(3 + (k - 2) % 3,)) for k in (3, 4, 5)])


def test_a_task_named_in_a_cycle_is_on_the_cycle_and_not_only_behind_it() -> None:
    behind = Task(1, 1.0, 0.5, 1.0, dependencies=(2,))
    cycle = [Task(2, 1.0, 0.5, 1.0, dependencies=(3,)), Task(3, 1.0, 0.5, 1.0, dependencies=(2,))]
    with pytest.raises(RowError, match=r"cycle through task (2|3)"):
        Tasks.from_iterable([behind, *cycle])


def test_a_task_that_waits_for_itself_is_a_cycle() -> None:
    with pytest.raises(RowError, match="cycle through task 4"):
        Tasks.from_iterable([Task(4, 1.0, 0.5, 1.0, dependencies=(4,))])


def test_edges_know_parents_children_and_weights() -> None:
    edges = edges_from_ids([10, 20, 30], [[], [10], [10, 20]], [[], [1.5], [2.5, 3.5]])
    assert edges.start.tolist() == [0, 0, 1, 3]
    assert edges.parents.tolist() == [0, 0, 1]
    assert edges.child.tolist() == [1, 2, 2]
    assert edges.megabytes.tolist() == [1.5, 2.5, 3.5]
    turned = edges.transpose()
    assert [turned.neighbours(row).tolist() for row in range(3)] == [[1, 2], [2], []]
    assert turned.megabytes.tolist() == [1.5, 2.5, 3.5]


def test_tasks_with_edges_cannot_be_cut_and_others_can() -> None:
    tasks = Tasks.build(**GOOD, task_id=[4, 2], measured={"gpu": [1.0, math.nan]})
    part = tasks.part(1, 2)
    assert list(part) == [tasks[1]]
    graph = Tasks.from_iterable([Task(0, 1.0, 0.5, 1.0), Task(1, 1.0, 0.5, 1.0, dependencies=(0,))])
    with pytest.raises(InputError, match="dependencies cannot be cut"):
        graph.part(0, 1)


def test_other_arrival_times_change_nothing_else() -> None:
    tasks = Tasks.build(**GOOD, arrival_time=[5.0, 1.0])
    assert not tasks.in_order
    moved = tasks.with_arrival_times([1.0, 5.0])
    assert moved.in_order
    assert [dataclasses.replace(each, arrival_time=0.0) for each in moved] == [
        dataclasses.replace(each, arrival_time=0.0) for each in tasks
    ]


@pytest.mark.parametrize("arrival", [[-1.0, 2.0], [math.nan, 1.0], [math.inf, 1.0]])
def test_other_arrival_times_are_checked_like_the_first_ones(arrival: list[float]) -> None:
    with pytest.raises(InputError, match="row 0: arrival_time is"):
        Tasks.build(**GOOD).with_arrival_times(arrival)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[int], list[list[int]]]:
    """Draw ids in any order and parents without cycles: a parent comes earlier in some hidden order."""
    count = draw(st.integers(1, 25))
    ids = draw(st.lists(st.integers(-50, 1000), min_size=count, max_size=count, unique=True))
    hidden = draw(st.permutations(range(count)))
    parents: list[list[int]] = [[] for _ in range(count)]
    for position, row in enumerate(hidden):
        if position:
            chosen = draw(st.lists(st.sampled_from(hidden[:position]), max_size=3, unique=True))
            parents[row] = [ids[each] for each in chosen]
    return ids, parents


@examples(200)
@given(graphs())
def test_in_topological_order_every_parent_comes_before_its_children(
    graph: tuple[list[int], list[list[int]]],
) -> None:
    ids, parents = graph
    edges = edges_from_ids(ids, parents)
    order = topological_order(edges, np.array(ids, np.int64)).tolist()
    assert sorted(order) == list(range(len(ids)))
    place = {ids[row]: position for position, row in enumerate(order)}
    assert all(place[parent] < place[ids[row]] for row in range(len(ids)) for parent in parents[row])


@examples(200)
@given(graphs())
def test_edges_turned_twice_are_the_same_edges(graph: tuple[list[int], list[list[int]]]) -> None:
    edges = edges_from_ids(*graph)
    twice = edges.transpose().transpose()
    assert twice.start.tolist() == edges.start.tolist()
    assert [sorted(twice.neighbours(row).tolist()) for row in range(len(graph[0]))] == [
        sorted(edges.neighbours(row).tolist()) for row in range(len(graph[0]))
    ]


@examples(200)
@given(graphs(), st.data())
def test_one_edge_back_from_a_descendant_is_found_as_a_cycle(
    graph: tuple[list[int], list[list[int]]], data: st.DataObject
) -> None:
    ids, parents = graph
    waiting = [row for row in range(len(ids)) if parents[row]]
    if not waiting:
        parents[0] = [ids[0]]
    else:
        row = data.draw(st.sampled_from(waiting))
        parents[ids.index(parents[row][0])].append(ids[row])
    with pytest.raises(RowError, match="cycle"):
        topological_order(edges_from_ids(ids, parents), np.array(ids, np.int64))


@examples(200)
@given(
    st.lists(
        st.builds(
            Task,
            task_id=st.integers(-(2**62), 2**62),
            size=st.floats(),
            compute_intensity=st.floats(),
            memory_required=st.floats(),
            arrival_time=st.floats(),
            duration_estimate=st.none() | st.floats(),
            measured=st.dictionaries(st.sampled_from(["cpu", "gpu"]), st.floats()),
        ),
        max_size=4,
    )
)
def test_any_numbers_become_checked_tasks_or_an_error_for_the_user(rows: list[Task]) -> None:
    try:
        tasks = Tasks.from_iterable(rows)
    except SchedulerError:
        return
    assert np.all((tasks.size > 0) & np.isfinite(tasks.size))
    assert np.all((tasks.compute_intensity >= 0) & (tasks.compute_intensity <= 1))
    assert np.all((tasks.duration_estimate > 0) & np.isfinite(tasks.duration_estimate))
    assert np.all(np.isfinite(tasks.arrival_time) & (tasks.arrival_time >= 0))
    assert len(set(tasks.task_id.tolist())) == len(tasks)


def test_edges_between_rows_are_plain_columns() -> None:
    edges = Edges(np.array([0, 0, 1]), np.array([0]), np.array([0.0]))
    tasks = Tasks.build(**GOOD, edges=edges)
    assert tasks.has_edges
    assert tasks.topological.tolist() == [0, 1]
    assert tasks.children.neighbours(0).tolist() == [1]


def test_expected_times_and_features_survive_rows_and_parts() -> None:
    tasks = Tasks.build(
        **GOOD,
        measured={"cpu": [1.0, 1.0], "gpu": [5.0, np.inf]},
        expected={"cpu": [9.0, np.nan]},
        features={"loads": [3.0, 4.0]},
    )
    again = Tasks.from_iterable(list(tasks))
    assert np.array_equal(again.expected["cpu"], [9.0, np.nan], equal_nan=True)
    assert again.part(1, 2).features["loads"].tolist() == [4.0]
    assert again.select(np.array([1, 0])).features["loads"].tolist() == [4.0, 3.0]
    assert tasks[1] == Task(1, 200.0, 1.0, 10.0, 0.0, (), tasks[1].duration_estimate,
                            {"cpu": 1.0, "gpu": np.inf}, {}, {"loads": 4.0})  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "features", "words"),
    [({"cpu": [1.0, -1.0]}, {}, "expected_cpu is -1"), ({}, {"loads": [1.0, np.inf]}, "feature_loads is inf")],
)
def test_columns_that_make_no_sense_are_named(
    expected: dict[str, list[float]], features: dict[str, list[float]], words: str
) -> None:
    with pytest.raises(RowError, match=words):
        Tasks.build(**GOOD, expected=expected, features=features)


def test_traits_go_with_their_tasks() -> None:
    tasks = Tasks.build([1.0, 2.0], [0.5, 0.5], [0.0, 0.0], traits={"indivisible": [1.0, np.nan]})
    assert tasks.divisible.tolist() == [False, True]
    assert tasks[0].traits == {"indivisible": 1.0}
    assert Tasks.from_iterable(list(tasks)).divisible.tolist() == [False, True]
    assert tasks.part(1, 2).divisible.tolist() == [True]
    plain = Tasks.build([1.0], [0.5], [0.0], task_id=[7])
    assert plain.divisible.tolist() == [True]
    assert concatenate_tasks([tasks, plain]).divisible.tolist() == [False, True, True]


@pytest.mark.parametrize(("name", "value"), [("indivisible", 2.0), ("serialised", 0.5)])
def test_a_trait_that_cannot_be_is_refused(name: str, value: float) -> None:
    with pytest.raises(RowError, match=f"{name} is {value:g}, expected"):
        Tasks.build([1.0], [0.5], [0.0], traits={name: [value]})
