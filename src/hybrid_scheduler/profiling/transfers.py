"""Host to device and back: times of several amounts, and the latency and bandwidth that explain them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hybrid_scheduler.profiling.devices import Device
from hybrid_scheduler.profiling.fits import line
from hybrid_scheduler.profiling.kernels import FLOAT, random_array
from hybrid_scheduler.profiling.profile import TO_DEVICE, TO_HOST, Link, Transfer
from hybrid_scheduler.profiling.timing import Sampling, measure


def measured_transfers(gpu: Device, sizes: Sequence[int], sampling: Sampling) -> tuple[Transfer, ...]:
    """Move an array of N × N floats there and back for every size."""
    found = []
    for size in sizes:
        for direction, run in _moves(gpu, size).items():
            timing = measure(run, gpu.settle, sampling)
            found.append(Transfer(direction, FLOAT * size * size / 1e6, timing))
    return tuple(found)


def _moves(gpu: Device, size: int) -> dict[str, Callable[[], object]]:
    import torch

    host = random_array("cpu", size, size)
    there = torch.empty_like(host, device=gpu.place)
    back = torch.empty_like(host)
    return {TO_DEVICE: lambda: there.copy_(host), TO_HOST: lambda: back.copy_(there)}


def links_of(transfers: Sequence[Transfer]) -> tuple[Link, ...]:
    """Fit latency and bandwidth of every direction that was measured."""
    links = []
    for direction in dict.fromkeys(each.direction for each in transfers):
        chosen = [each for each in transfers if each.direction == direction]
        latency, per_mb, error = line([each.megabytes for each in chosen], [each.timing.seconds for each in chosen])
        links.append(Link(direction, 1.0 / per_mb, latency, error))
    return tuple(links)
