"""The benchmark kernels in NumPy, for machines without torch: the same work on the CPU, in the same precision."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

Float32s = npt.NDArray[np.float32]
Call = Callable[[], object]

FILTERS, FILTER_EDGE = 16, 5
PER_ROW = 16  # non-zeros in a row of the sparse matrix


def _random(*shape: int) -> Float32s:
    return np.random.default_rng(0).random(shape, np.float32)


def _matmul(size: int) -> Call:
    left, right = _random(size, size), _random(size, size)
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


def _convolution(size: int) -> Call:
    return partial(convolve, _random(size, size), _random(FILTERS, FILTER_EDGE, FILTER_EDGE))


def _sort(size: int) -> Call:
    return _random(size * size).argsort


def _sparse(size: int) -> Call:
    rows = max(1, size * size // PER_ROW)
    columns = np.sort(np.random.default_rng(0).integers(0, rows, (rows, PER_ROW)), axis=1)
    values, vector = _random(rows, PER_ROW), _random(rows)
    return lambda: np.einsum("ij,ij->i", values, vector[columns])


def _elementwise(size: int) -> Call:
    left, right = _random(size, size), _random(size, size)
    out = np.empty_like(left)
    return lambda: np.add(left, np.multiply(left, right, out=out), out=out)


def _fft(size: int) -> Call:
    return partial(np.fft.rfft2, _random(size, size))


def _copy(size: int) -> Call:
    source = _random(size, size)
    return partial(np.copyto, np.empty_like(source), source)


BUILDERS: dict[str, Callable[[int], Call]] = {
    "matmul": _matmul,
    "convolution": _convolution,
    "sort": _sort,
    "sparse": _sparse,
    "elementwise": _elementwise,
    "fft": _fft,
    "copy": _copy,
}
"""By the names of `KERNELS`: allocate the arrays of a size and return the call to time."""
