"""Finds the devices of this machine: its CPU, and every accelerator that torch knows."""

from __future__ import annotations

from typing import Any

from hybrid_scheduler.execution.device_spec import DeviceSpec
from hybrid_scheduler.execution.devices import checked
from hybrid_scheduler.profiling.devices import GPU_TYPES, find_gpu
from hybrid_scheduler.profiling.machine import cores


def found_devices() -> tuple[DeviceSpec, ...]:
    """Return one CPU worker and one worker for each accelerator; a core is left to each of the latter."""
    import torch

    gpus = [spec for kind in GPU_TYPES for spec in _accelerators(kind, torch)]
    cpu = DeviceSpec("cpu", "cpu", "cpu", threads=max(1, cores() - len(gpus)))
    return checked([cpu, *gpus])


def _accelerators(kind: str, torch: Any) -> list[DeviceSpec]:
    found, _ = find_gpu(kind, torch)
    if found is None:
        return []
    places = [found.place] if kind == "mps" else [f"{kind}:{number}" for number in range(found.count)]
    memory = found.memory_mb or float("inf")
    return [DeviceSpec(place, kind, "gpu", place=place, memory=memory) for place in places]
