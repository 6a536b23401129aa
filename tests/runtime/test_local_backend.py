"""Workers of the local backend: pinned to cores, replaced when they are killed."""

from __future__ import annotations

from benchmarks.killed_workers import stress
from hybrid_scheduler.runtime.devices import parse_devices
from hybrid_scheduler.runtime.local_backend import assign_cores


def test_cores_are_assigned_round_robin() -> None:
    assigned = assign_cores(parse_devices("cpu,gpu=emulated,gpu=emulated"))
    assert all(len(each) <= 1 for each in assigned)


def test_tasks_are_accounted_for_while_workers_are_killed() -> None:
    account = stress(900, every=0.6)
    assert account.adds_up, str(account)
    assert account.killed >= 1
    assert account.restarts == account.killed
