"""Graphs of tasks: who waits for whom in a layered, a fork-join and a tiled Cholesky computation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.workloads.factorisations.tiles import cholesky as factorised
from hybrid_scheduler.workloads.factorisations.tiles import dependencies


@dataclass(frozen=True)
class Graph:
    """Parents of every task; a graph may also fix sizes and intensities (0 … 1 of their ranges)."""

    parents: list[list[int]]
    size: Floats | None = None
    intensity: Floats | None = None


GraphBuilder = Callable[[np.random.Generator, int], Graph]


def layered(generator: np.random.Generator, count: int) -> Graph:
    """Return layers of random width; every task waits for one to three tasks of the layer before."""
    width = max(2, round(np.sqrt(count)))
    parents: list[list[int]] = []
    previous: list[int] = []
    while len(parents) < count:
        size = min(int(generator.integers(max(1, width // 2), 2 * width)), count - len(parents))
        first = len(parents)
        for _ in range(size):
            wanted = min(int(generator.integers(1, 4)), len(previous))
            chosen = generator.permutation(len(previous))[:wanted]
            parents.append(sorted(previous[position] for position in chosen))
        previous = list(range(first, first + size))
    return Graph(parents)


def fork_join(generator: np.random.Generator, count: int) -> Graph:
    """Return stages one after another: a fork, parallel tasks, a join."""
    width = max(2, round(np.sqrt(count)))
    parents: list[list[int]] = []
    while len(parents) < count:
        fork = len(parents)
        parents.append([fork - 1] if fork else [])
        branches = min(int(generator.integers(max(1, width // 2), 2 * width)), count - len(parents))
        parents.extend([fork] for _ in range(branches))
        if len(parents) < count:
            parents.append(list(range(fork + 1, fork + 1 + branches)) or [fork])
    return Graph(parents)


PARALLEL = {"potrf": 0.1, "trsm": 0.6, "syrk": 0.8, "gemm": 1.0}
"""Intensity of the kernels of a Cholesky factorisation, 0 … 1 of its range: POTRF is mostly serial."""


def cholesky(generator: np.random.Generator, count: int) -> Graph:  # noqa: ARG001  # its shape is fixed
    """Return the largest tiled Cholesky factorisation with at most `count` tasks (t·(t+1)·(t+2)/6 of them)."""
    tiles = 1
    while (tiles + 1) * (tiles + 2) * (tiles + 3) // 6 <= count:
        tiles += 1
    steps = list(factorised(tiles))
    parents, _ = dependencies(steps)
    return Graph(
        parents, size=np.full(len(steps), 0.5), intensity=np.array([PARALLEL[step.kernel] for step in steps])
    )
