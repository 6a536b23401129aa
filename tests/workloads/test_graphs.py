"""Tiled factorisations have the kernels and edges of their closed forms, and those that the maths needs."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from hybrid_scheduler.workloads.graphs import FACTORISATIONS, build_cholesky, cholesky, find_dependencies, lu, qr

SIZES = [1, 2, 3, 5, 9]


def squares(below: int) -> int:
    """Return 1² + 2² + … up to, not with, `below`²."""
    return (below - 1) * below * (2 * below - 1) // 6 if below > 0 else 0


def cholesky_edges(t: int) -> int:
    return (t - 1) + 2 * (comb(t, 2) + comb(t - 1, 2)) + 2 * comb(t, 3) + comb(t - 1, 3)


def square_edges(t: int) -> int:
    return (t - 1) + 2 * (comb(t, 2) + comb(t - 1, 2)) + 2 * squares(t) + squares(t - 1)


@pytest.mark.parametrize("tiles", SIZES)
def test_cholesky_has_the_counts_of_its_closed_forms(tiles: int) -> None:
    parents, _ = find_dependencies(cholesky(tiles))
    assert len(parents) == tiles * (tiles + 1) * (tiles + 2) // 6
    assert sum(map(len, parents)) == cholesky_edges(tiles)


@pytest.mark.parametrize("name", ["lu", "qr"])
@pytest.mark.parametrize("tiles", SIZES)
def test_lu_and_qr_have_the_counts_of_their_closed_forms(name: str, tiles: int) -> None:
    parents, _ = find_dependencies(FACTORISATIONS[name](tiles))
    assert len(parents) == tiles * (tiles + 1) * (2 * tiles + 1) // 6
    assert sum(map(len, parents)) == square_edges(tiles)


@pytest.mark.parametrize("name", FACTORISATIONS)
def test_parents_come_first_and_hand_on_a_tile_for_every_operand(name: str) -> None:
    steps = list(FACTORISATIONS[name](6))
    parents, handed = find_dependencies(steps)
    for row, (step, before, tiles) in enumerate(zip(steps, parents, handed, strict=True)):
        assert all(parent < row for parent in before)
        assert len(before) == len(tiles)
        assert all(count > 0 for count in tiles)
        assert sum(tiles) <= len(step.reads) + len(step.writes)


@pytest.mark.parametrize("name", FACTORISATIONS)
def test_the_first_kernel_waits_for_none_and_the_last_is_alone_at_the_end(name: str) -> None:
    parents, _ = find_dependencies(FACTORISATIONS[name](5))
    assert [row for row, before in enumerate(parents) if not before] == [0]
    waited_for = {parent for before in parents for parent in before}
    assert len(parents) - 1 not in waited_for


def test_two_by_two_tiles_of_each_are_the_textbook_graphs() -> None:
    assert [step.kernel for step in cholesky(2)] == ["potrf", "trsm", "syrk", "potrf"]
    assert find_dependencies(cholesky(2))[0] == [[], [0], [1], [2]]
    assert [step.kernel for step in lu(2)] == ["getrf", "trsm_ll", "trsm_ru", "gemm", "getrf"]
    assert find_dependencies(lu(2))[0] == [[], [0], [0], [1, 2], [3]]
    assert [step.kernel for step in qr(2)] == ["geqrt", "ormqr", "tsqrt", "tsmqr", "geqrt"]
    assert find_dependencies(qr(2))[0] == [[], [0], [0], [1, 2], [3]]


def test_the_preset_is_built_from_the_same_graph() -> None:
    drawn = build_cholesky(np.random.default_rng(0), 60)
    assert drawn.parents == find_dependencies(cholesky(6))[0]
    assert drawn.intensity is not None
    assert drawn.intensity[:3].tolist() == [0.1, 0.6, 0.6]
