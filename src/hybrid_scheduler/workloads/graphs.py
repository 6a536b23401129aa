"""Task graphs: random layers, fork-join stages, and the tiled Cholesky, LU and QR factorisations of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from hybrid_scheduler.core.tasks import Floats

Tile = tuple[int, ...]
INTENSITIES = {"potrf": 0.1, "trsm": 0.6, "syrk": 0.8, "gemm": 1.0}
"""Compute intensity of Cholesky kernels, 0 … 1 of the preset's range: POTRF is mostly serial."""


@dataclass(frozen=True)
class Graph:
    """Parents of every task; a graph may also fix sizes and intensities (0 … 1 of their ranges)."""

    parents: list[list[int]]
    size: Floats | None = None
    intensity: Floats | None = None


GraphBuilder = Callable[[np.random.Generator, int], Graph]


def build_layered(generator: np.random.Generator, count: int) -> Graph:
    """Build layers of random width; every task depends on one to three tasks of the previous layer."""
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


def build_fork_join(generator: np.random.Generator, count: int) -> Graph:
    """Build a sequence of stages: a fork, parallel tasks, a join."""
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


def build_cholesky(generator: np.random.Generator, count: int) -> Graph:  # noqa: ARG001  # its shape is fixed
    """Build the largest tiled Cholesky factorisation with at most `count` tasks."""
    tiles = 1
    while (tiles + 1) * (tiles + 2) * (tiles + 3) // 6 <= count:
        tiles += 1
    steps = list(cholesky(tiles))
    parents, _ = find_dependencies(steps)
    intensity = np.array([INTENSITIES[step.kernel] for step in steps])
    return Graph(parents, size=np.full(len(steps), 0.5), intensity=intensity)


@dataclass(frozen=True)
class Step:
    """One kernel call of a factorisation: it reads `reads`, and reads and writes `writes`."""

    kernel: str
    writes: tuple[Tile, ...]
    reads: tuple[Tile, ...] = ()


def cholesky(tiles: int) -> Iterator[Step]:
    """Factorise the lower half of a symmetric matrix, right-looking: t·(t+1)·(t+2)/6 kernels."""
    for k in range(tiles):
        yield Step("potrf", ((k, k),))
        for i in range(k + 1, tiles):
            yield Step("trsm", ((i, k),), ((k, k),))
        for i in range(k + 1, tiles):
            yield Step("syrk", ((i, i),), ((i, k),))
            for j in range(k + 1, i):
                yield Step("gemm", ((i, j),), ((i, k), (j, k)))


def lu(tiles: int) -> Iterator[Step]:
    """Factorise a matrix without pivoting, right-looking: t·(t+1)·(2t+1)/6 kernels."""
    for k in range(tiles):
        yield Step("getrf", ((k, k),))
        for j in range(k + 1, tiles):
            yield Step("trsm_ll", ((k, j),), ((k, k),))
        for i in range(k + 1, tiles):
            yield Step("trsm_ru", ((i, k),), ((k, k),))
        for i in range(k + 1, tiles):
            for j in range(k + 1, tiles):
                yield Step("gemm", ((i, j),), ((i, k), (k, j)))


def qr(tiles: int) -> Iterator[Step]:
    """Factorise into Q and R with a flat tree, tile below tile: t·(t+1)·(2t+1)/6 kernels."""
    for k in range(tiles):
        # Reflectors lie below R in the diagonal tile; they count as a tile of their own, read while R is written.
        reflectors = (k, k, 1)
        yield Step("geqrt", ((k, k), reflectors))
        for j in range(k + 1, tiles):
            yield Step("ormqr", ((k, j),), (reflectors,))
        for i in range(k + 1, tiles):
            yield Step("tsqrt", ((k, k), (i, k)))
            for j in range(k + 1, tiles):
                yield Step("tsmqr", ((k, j), (i, j)), ((i, k),))


FACTORISATIONS: dict[str, Callable[[int], Iterator[Step]]] = {"cholesky": cholesky, "lu": lu, "qr": qr}


def find_dependencies(steps: Iterable[Step]) -> tuple[list[list[int]], list[list[int]]]:
    """Return the parents of every step, the last writers of its tiles, and how many tiles each of them supplies."""
    parents: list[list[int]] = []
    counts: list[list[int]] = []
    writer: dict[Tile, int] = {}
    for row, step in enumerate(steps):
        sources = [writer[tile] for tile in (*step.reads, *step.writes) if tile in writer]
        before = sorted(set(sources))
        parents.append(before)
        counts.append([sources.count(each) for each in before])
        writer.update(dict.fromkeys(step.writes, row))
    return parents, counts
