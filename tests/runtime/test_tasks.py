"""Tasks: a marked function can still be called, and kernels stand for intensities."""

from __future__ import annotations

import pytest

import real_tasks
from hybrid_scheduler.profiling.kernels import KERNELS
from hybrid_scheduler.runtime.tasks import (
    KERNEL_ORDER,
    choose_kernel,
    kernel_task,
    nominal_intensity,
    part_edge,
    run_kernel,
    run_kernel_part,
)


def test_a_task_can_still_be_called_as_a_function() -> None:
    assert real_tasks.total([1, 2, 3]) == 6


def test_every_kernel_stands_for_an_equal_range_of_intensities() -> None:
    assert set(KERNEL_ORDER) == set(KERNELS)
    assert [choose_kernel(nominal_intensity(name)) for name in KERNEL_ORDER] == list(KERNEL_ORDER)
    assert (choose_kernel(0.0), choose_kernel(1.0)) == ("copy", "matmul")


def test_kernels_are_ordered_by_their_intensity() -> None:
    rates = [KERNELS[name].operations(512) / KERNELS[name].traffic(512) for name in KERNEL_ORDER]
    assert rates == sorted(rates)


@pytest.mark.parametrize("kernel", KERNEL_ORDER)
def test_two_shares_have_the_operations_of_the_whole(kernel: str) -> None:
    count = KERNELS[kernel].operations if kernel != "copy" else KERNELS[kernel].traffic
    parts = sum(count(part_edge(kernel, 1000, share)) for share in (0.3, 0.7))
    assert parts == pytest.approx(count(1000), rel=0.06)  # N log N is not quite a square


def test_kernels_run_here_too() -> None:
    assert run_kernel("matmul", 16) == 16
    assert run_kernel_part(0.0, 0.125, "matmul", 16) == 8
    assert kernel_task("fft").can_split
    with pytest.raises(LookupError, match="known: convolution"):
        kernel_task("sleep")
