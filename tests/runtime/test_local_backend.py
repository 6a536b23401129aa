"""Workers of the local backend: pinned to cores, replaced when they are killed."""

from __future__ import annotations

from benchmarks.killed_graph import stress_graph
from benchmarks.killed_workers import stress
from hybrid_scheduler.runtime.backend import assign_cores
from hybrid_scheduler.runtime.devices import parse_devices


def test_cores_are_assigned_to_devices_that_are_to_be_pinned() -> None:
    first, *others = assign_cores(parse_devices("cpu:pin=1,gpu=emulated,gpu=emulated"))
    assert len(first) == 1
    assert others == [[], []], "not asked for"


def test_tasks_are_accounted_for_while_workers_are_killed() -> None:
    account = stress(900, every=0.1)
    assert account.adds_up, str(account)
    assert account.killed >= 1
    assert account.restarts == account.killed


def test_a_graph_of_large_results_is_right_while_workers_are_killed() -> None:
    account = stress_graph(240, every=0.05)
    assert account.adds_up, str(account)
    assert account.killed >= 1
