"""Fixtures of this folder."""

from __future__ import annotations

from ray_nodes import ray_cluster as ray_cluster
