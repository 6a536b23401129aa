"""Hypothesis draws the same examples every time; `HMS_FUZZ=1 make test` draws new ones, for those who hunt."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from ray_nodes import ray_cluster as ray_cluster  # here, so that all folders share one

settings.register_profile("steady", derandomize=True)
settings.register_profile("hunt", derandomize=False, print_blob=True)
settings.load_profile("hunt" if os.environ.get("HMS_FUZZ") else "steady")


@pytest.hookimpl(tryfirst=True)  # before the groups are read
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one worker have all tests of a file, which often share what is dear, and all tests of Ray: one cluster."""
    for item in items:
        uses_ray = "ray_cluster" in getattr(item, "fixturenames", ()) or "[ray]" in item.name
        item.add_marker(pytest.mark.xdist_group("ray" if uses_ray else item.path.stem))
