"""Shared servers, scheduling of tests, and Hypothesis, which draws new examples only with `HMS_FUZZ=1 make test`."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

# Imported here, so that all folders share one server of each kind.
from databases import empty_url as empty_url
from databases import postgres as postgres
from databases import postgres_url as postgres_url
from databases import redis_server as redis_server
from databases import redis_url as redis_url
from databases import sqlite_store as sqlite_store
from databases import store as store
from databases import url as url
from pictures import blank_pictures as blank_pictures
from ray_nodes import ray_cluster as ray_cluster

# Processes that learn or compare beside a race let others go first; tests would only wait for them.
os.environ |= {"HMS_LEARNER_NICE": "0", "HMS_EXPERIMENT_NICE": "0"}
# Every worker and what it starts would take all cores for products of small matrices, and wait for the others.
for library in ("OPENBLAS", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

settings.register_profile("steady", derandomize=True)
settings.register_profile("hunt", derandomize=False, print_blob=True)
settings.load_profile("hunt" if os.environ.get("HMS_FUZZ") else "steady")

RAY = ("[ray]", "/test_ray_backend.py", "/test_sweep_on_ray.py")
"""What the names of tests that need a Ray cluster hold."""
LONGEST = (
    "conformance/test_every_scheduler.py",
    "deploy/test_soak.py",
    "server/test_lifecycle.py",
    "test_notebooks.py",
    "server/test_state_machine.py",
    "server/test_experiments.py",
    "test_docs.py",
    "server/test_openapi.py",
    "schedulers/test_rl_agent.py",
    "schedulers/test_attention_agent.py",
)
"""Files that take about a minute or more: begun last, one would keep a worker busy while others have nothing to do.

The first one compiles the loops of all schedulers; those behind it need few of them at first, or find them compiled.
"""


class ByFile(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types for the checker
    """Lets a worker have all tests of a file, which often share what is dear, and all of Ray, and all of reports."""

    def _split_scope(self, nodeid: str) -> str:
        if any(word in nodeid for word in RAY):
            return "ray"
        return "reports" if nodeid.startswith("tests/reports/") else super()._split_scope(nodeid)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files; the order within a file stays."""
    tests = Path(__file__).parent
    begin = {tests / name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: begin.get(item.path, len(begin)))


def pytest_collection_finish() -> None:
    gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """After a file, keep what stays (modules, compiled loops) out of later collections, which else take seconds."""
    done = yield
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()
    return done


def pytest_xdist_auto_num_workers() -> int:
    """Take one more than there are cores: many tests wait for processes, connections and disks."""
    return (os.cpu_count() or 1) + 1


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    return ByFile(config, log)
