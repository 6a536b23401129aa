"""Graphs of tasks: who waits for whom in a layered, a fork-join and a tiled Cholesky computation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hybrid_scheduler.model.tasks import Floats


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


def cholesky(generator: np.random.Generator, count: int) -> Graph:  # noqa: ARG001  # its shape is fixed
    """Return the largest tiled Cholesky factorisation with at most `count` tasks (t·(t+1)·(t+2)/6 of them)."""
    tiles = 1
    while (tiles + 1) * (tiles + 2) * (tiles + 3) // 6 <= count:
        tiles += 1
    parents: list[list[int]] = []
    intensity: list[float] = []
    writer: dict[tuple[int, int], int] = {}  # the last task that wrote a tile

    def add(tile: tuple[int, int], reads: list[tuple[int, int]], parallel: float) -> None:
        before = {writer[each] for each in [*reads, tile] if each in writer}
        writer[tile] = len(parents)
        parents.append(sorted(before))
        intensity.append(parallel)

    for k in range(tiles):
        add((k, k), [], 0.1)  # POTRF, mostly serial
        for i in range(k + 1, tiles):
            add((i, k), [(k, k)], 0.6)  # TRSM
        for i in range(k + 1, tiles):
            add((i, i), [(i, k)], 0.8)  # SYRK
            for j in range(k + 1, i):
                add((i, j), [(i, k), (j, k)], 1.0)  # GEMM
    return Graph(parents, size=np.full(len(parents), 0.5), intensity=np.array(intensity))
