"""Tiled factorisations: which kernel reads and writes which tile, and the graph that follows from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

Tile = tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """One kernel of a factorisation: it reads `reads`, and reads and writes `writes`."""

    kernel: str
    writes: tuple[Tile, ...]
    reads: tuple[Tile, ...] = ()


Factorisation = Callable[[int], Iterator[Step]]


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
    """Factorise into Q and R with a flat tree, tile below tile: t·(t+1)·(2t+1)/6 kernels.

    A diagonal tile holds reflectors below R. They are told apart, as the one is read while the other is written.
    """
    for k in range(tiles):
        reflectors = (k, k, 1)
        yield Step("geqrt", ((k, k), reflectors))
        for j in range(k + 1, tiles):
            yield Step("ormqr", ((k, j),), (reflectors,))
        for i in range(k + 1, tiles):
            yield Step("tsqrt", ((k, k), (i, k)))
            for j in range(k + 1, tiles):
                yield Step("tsmqr", ((k, j), (i, j)), ((i, k),))


FACTORISATIONS: dict[str, Factorisation] = {"cholesky": cholesky, "lu": lu, "qr": qr}


def dependencies(steps: Iterable[Step]) -> tuple[list[list[int]], list[list[int]]]:
    """Return who waits for whom, and how many tiles each parent hands on: a kernel needs what was written last."""
    parents: list[list[int]] = []
    handed: list[list[int]] = []
    writer: dict[Tile, int] = {}
    for row, step in enumerate(steps):
        sources = [writer[tile] for tile in (*step.reads, *step.writes) if tile in writer]
        before = sorted(set(sources))
        parents.append(before)
        handed.append([sources.count(each) for each in before])
        writer.update(dict.fromkeys(step.writes, row))
    return parents, handed
