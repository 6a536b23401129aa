"""Names of version 1.0 keep working for one release, each with a warning that says what to use instead."""

from __future__ import annotations

import importlib
import sys
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from hybrid_scheduler import Cluster, Scheduler, VirtualMultiGPU, WorkloadGenerator, deprecated, registry
from hybrid_scheduler.core.lane import Lane

TASKS = WorkloadGenerator(1).generate_preset("mixed", 60, cluster=Cluster.default())


def import_anew(module: str) -> ModuleType:
    sys.modules.pop(f"hybrid_scheduler.{module}", None)
    with pytest.warns(
        DeprecationWarning, match=rf"hybrid_scheduler\.{module} is deprecated .*: use hybrid_scheduler\."
    ):
        return importlib.import_module(f"hybrid_scheduler.{module}")


@pytest.mark.parametrize("old", deprecated.MODULES)
def test_every_old_module_can_be_imported(old: str) -> None:
    for number in range(old.count(".")):  # the packages above it warn too
        parent = ".".join(old.split(".")[: number + 1])
        if parent in deprecated.MODULES:
            import_anew(parent)
    module, home = import_anew(old), importlib.import_module(f"hybrid_scheduler.{deprecated.MODULES[old]}")
    public = [name for name in vars(home) if not name.startswith("_")]
    assert all(getattr(module, name) is getattr(home, name) for name in public)


OLD_NAMES = [(module, name, new) for module, names in deprecated.NAMES.items() for name, new in names.items()]


@pytest.mark.parametrize(("module", "name", "new"), OLD_NAMES)
def test_every_old_name_leads_to_the_new_one(module: str, name: str, new: str) -> None:
    where, _, attribute = new.partition(":")
    old = import_anew(module)
    with pytest.warns(
        DeprecationWarning, match=rf"{name} is deprecated .*: use hybrid_scheduler\.{where}\.{attribute}"
    ):
        found = getattr(old, name)
    assert found is getattr(importlib.import_module(f"hybrid_scheduler.{where}"), attribute)


def test_an_unknown_module_stays_unknown() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"hybrid_scheduler\.nowhere"):
        importlib.import_module("hybrid_scheduler.nowhere")


def test_a_policy_with_the_members_of_version_1_0_races_as_before() -> None:
    seen: list[Any] = []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")

        class Old(Scheduler):
            """Sends every task to the CPU, the last one first."""

            name = "old"
            sighted = False
            learn_every = 20

            def prepare(self, tasks: Any, times: Any, view: Any) -> None:
                self.order = np.arange(len(tasks))[::-1]

            def choose(self, task: Any, view: Any) -> tuple[float, int]:
                seen.append((task.row, float(np.isnan(task.times).all())))
                return 0.0, 0

            def learn(self, placements: Any) -> None:
                seen.append(len(placements))

            def scores(self, task: Any, view: Any) -> Any:
                return np.arange(len(view.free), dtype=float)

        policy = Old()
        Lane(policy, VirtualMultiGPU()).run(TASKS)
        explanation = policy.explain(policy_task(), VirtualMultiGPU().view)
    messages = [str(each.message) for each in told]
    assert any("Old.sighted is deprecated" in each and "use clairvoyant" in each for each in messages)
    assert any("Old.order is deprecated" in each for each in messages)
    assert not policy.clairvoyant
    assert seen[:3] == [(19, 1.0), (18, 1.0), (17, 1.0)]
    assert seen.count(20) == 3
    assert [each.score for each in explanation.candidates] == [0.0, 1.0, 2.0, 3.0, 4.0]


def policy_task() -> Any:
    from hybrid_scheduler import TaskView

    return TaskView(0, 100.0, 0.5, 10.0, 0.0, 1.0, 0.0, np.array([1.0, 2.0]))


def test_options_of_version_1_0_are_still_read() -> None:
    with pytest.warns(DeprecationWarning, match="option 'beside' is deprecated .*: use background"):
        policy = registry.schedulers.create("hybrid_ml:beside=7")
    assert policy._training._delay == 7
