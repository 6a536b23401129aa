"""The benchmark kernels: their work on an array of N × N floats, and the operations and bytes that it takes.

Size N always means N² elements, so equal sizes mean equal memory. The same code runs on every torch device; without
torch, NumPy does the same work on the CPU, in the same precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.registry import is_installed

if TYPE_CHECKING:
    import torch

FLOAT = 4
RIDGE = 10.0
"""Operations per byte at which intensity is 1/2, between the ridge points of CPUs (about 5) and GPUs (about 20)."""

FILTERS, FILTER_EDGE = 16, 5
PER_ROW = 16  # non-zeros in a row of the sparse matrix

Float32s = npt.NDArray[np.float32]
Call = Callable[[], object]
Build = Callable[[int, str], Call]
Count = Callable[[int], float]
Figures = TypeVar("Figures", float, Floats)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel, and how torch and NumPy do it: they allocate the arrays of a size and return the call to time."""

    name: str
    summary: str
    on_torch: Build
    on_numpy: Callable[[int], Call]
    operations: Count
    traffic: Count  # bytes: every array once
    unit: str = "flop"

    def build(self, size: int, place: str) -> Call:
        """Allocate the arrays on a device and return the call to time."""
        return self.on_torch(size, place) if is_installed("torch") else self.on_numpy(size)


def normalise_intensity(operations: Figures, traffic: Figures) -> Figures:
    """Return the compute intensity of the execution model, 0 to 1, from operations and bytes."""
    per_byte = operations / traffic
    return per_byte / (per_byte + RIDGE)


def random_array(place: str, *shape: int) -> torch.Tensor:
    """Return random numbers from 0 to 1, the same on every device."""
    import torch

    return torch.rand(*shape, generator=torch.Generator().manual_seed(0)).to(place)


def _matmul(size: int, place: str) -> Call:
    import torch

    left, right = random_array(place, size, size), random_array(place, size, size)
    out = torch.empty_like(left)
    return lambda: torch.mm(left, right, out=out)


def _convolution(size: int, place: str) -> Call:
    import torch

    image = random_array(place, 1, 1, size, size)
    filters = random_array(place, FILTERS, 1, FILTER_EDGE, FILTER_EDGE)
    return lambda: torch.nn.functional.conv2d(image, filters, padding=FILTER_EDGE // 2)


def _sort(size: int, place: str) -> Call:
    return random_array(place, size * size).sort


def _sparse(size: int, place: str) -> Call:
    import torch

    rows = max(1, size * size // PER_ROW)
    columns = torch.randint(0, rows, (rows, PER_ROW), generator=torch.Generator().manual_seed(0)).sort(dim=1).values
    indices = torch.stack([torch.arange(rows).repeat_interleave(PER_ROW), columns.flatten()])
    values = random_array("cpu", rows * PER_ROW)
    matrix = torch.sparse_coo_tensor(
        indices.to(place), values.to(place), (rows, rows), check_invariants=False, is_coalesced=True
    )
    vector = random_array(place, rows, 1)
    return lambda: torch.sparse.mm(matrix, vector)


def _elementwise(size: int, place: str) -> Call:
    import torch

    left, right = random_array(place, size, size), random_array(place, size, size)
    out = torch.empty_like(left)
    return lambda: torch.addcmul(left, left, right, out=out)


def _fft(size: int, place: str) -> Call:
    import torch

    values = random_array(place, size, size)
    return lambda: torch.fft.rfft2(values)


def _copy(size: int, place: str) -> Call:
    source = random_array(place, size, size)
    return partial(source.clone().copy_, source)


def _random_in_numpy(*shape: int) -> Float32s:
    """Return random numbers from 0 to 1: without torch, NumPy does the same work in the same precision."""
    return np.random.default_rng(0).random(shape, np.float32)


def _matmul_in_numpy(size: int) -> Call:
    left, right = _random_in_numpy(size, size), _random_in_numpy(size, size)
    return partial(np.matmul, left, right, out=np.empty_like(left))


def convolve(image: Float32s, filters: Float32s) -> Float32s:
    """Return a picture per filter, zero beyond the edges; row by row, since all windows at once fill the memory."""
    edge = filters.shape[-1]
    padded, flat = np.pad(image, edge // 2), filters.reshape(len(filters), -1)
    out = np.empty((len(filters), *image.shape), np.float32)
    for row in range(len(image)):
        windows = sliding_window_view(padded[row : row + edge], (edge, edge))[0]
        np.matmul(flat, windows.reshape(len(windows), -1).T, out=out[:, row])
    return out


def _convolution_in_numpy(size: int) -> Call:
    return partial(convolve, _random_in_numpy(size, size), _random_in_numpy(FILTERS, FILTER_EDGE, FILTER_EDGE))


def _sort_in_numpy(size: int) -> Call:
    return _random_in_numpy(size * size).argsort


def _sparse_in_numpy(size: int) -> Call:
    rows = max(1, size * size // PER_ROW)
    columns = np.sort(np.random.default_rng(0).integers(0, rows, (rows, PER_ROW)), axis=1)
    values, vector = _random_in_numpy(rows, PER_ROW), _random_in_numpy(rows)
    return lambda: np.einsum("ij,ij->i", values, vector[columns])


def _elementwise_in_numpy(size: int) -> Call:
    left, right = _random_in_numpy(size, size), _random_in_numpy(size, size)
    out = np.empty_like(left)
    return lambda: np.add(left, np.multiply(left, right, out=out), out=out)


def _fft_in_numpy(size: int) -> Call:
    return partial(np.fft.rfft2, _random_in_numpy(size, size))


def _copy_in_numpy(size: int) -> Call:
    source = _random_in_numpy(size, size)
    return partial(np.copyto, np.empty_like(source), source)


def _n_log_n(size: int) -> float:
    return size**2 * 2 * math.log2(max(size, 2))


KERNELS: dict[str, Kernel] = {
    each.name: each
    for each in (
        Kernel(
            "matmul",
            "N × N times N × N",
            _matmul,
            _matmul_in_numpy,
            lambda n: 2.0 * n**3,
            lambda n: 3.0 * FLOAT * n**2,
        ),
        Kernel(
            "convolution",
            f"{FILTERS} filters of {FILTER_EDGE} × {FILTER_EDGE} over an image of N × N",
            _convolution,
            _convolution_in_numpy,
            lambda n: 2.0 * FILTERS * FILTER_EDGE**2 * n**2,
            lambda n: (1.0 + FILTERS) * FLOAT * n**2,
        ),
        # Traffic: values in and out, and an index of eight bytes for each.
        Kernel(
            "sort",
            "N² values, with their indices",
            _sort,
            _sort_in_numpy,
            _n_log_n,
            lambda n: 16.0 * n**2,
            "comparison",
        ),
        # Traffic: a value and two indices of eight bytes for each non-zero, and the two vectors.
        Kernel(
            "sparse",
            f"matrix of N² non-zeros, {PER_ROW} in a row, times a vector",
            _sparse,
            _sparse_in_numpy,
            lambda n: 2.0 * n**2,
            lambda n: (20.0 + 2 * FLOAT / PER_ROW) * n**2,
        ),
        Kernel(
            "elementwise",
            "a + a·b",
            _elementwise,
            _elementwise_in_numpy,
            lambda n: 2.0 * n**2,
            lambda n: 3.0 * FLOAT * n**2,
        ),
        Kernel(
            "fft",
            "two-dimensional, real",
            _fft,
            _fft_in_numpy,
            lambda n: 2.5 * _n_log_n(n),
            lambda n: 2.0 * FLOAT * n**2,
        ),
        Kernel("copy", "memory to memory", _copy, _copy_in_numpy, lambda _: 0.0, lambda n: 2.0 * FLOAT * n**2),
    )
}
