"""Devices that torch may know besides the CPU, behind one interface: CUDA (ROCm too), Apple's MPS, Intel's XPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hybrid_scheduler.errors import unknown_name

DEVICE_TYPES = ("auto", "cpu", "cuda", "mps", "xpu")
GPU_TYPES = DEVICE_TYPES[2:]


def _nothing_to_wait_for() -> None:
    """Return at once: calls on the CPU are done when they return."""


@dataclass(frozen=True)
class Device:
    """Where kernels run: torch's name of the place and how to wait until it has done its work."""

    type: str
    name: str
    place: str = "cpu"
    count: int = 1
    memory_mb: float | None = None
    settle: Callable[[], None] = _nothing_to_wait_for


CPU_DEVICE = Device("cpu", "CPU")


def _of_accelerator(kind: str, module: Any) -> Device | None:
    """CUDA and XPU have the same interface in torch."""
    if module is None or not module.is_available():
        return None
    figures = module.get_device_properties(0)
    memory = float(figures.total_memory // 1_000_000)
    return Device(kind, str(figures.name), f"{kind}:0", int(module.device_count()), memory, module.synchronize)


def _of_mps(torch: Any) -> Device | None:
    backend = getattr(torch.backends, "mps", None)
    if backend is None or not backend.is_available():
        return None
    # The GPU shares the machine's memory; torch says how much of it it may take.
    memory = float(torch.mps.recommended_max_memory() // 1_000_000)
    return Device("mps", "Apple GPU (Metal)", "mps", 1, memory, torch.mps.synchronize)


def _probe(kind: str, torch: Any) -> Device | None:
    return _of_mps(torch) if kind == "mps" else _of_accelerator(kind, getattr(torch, kind, None))


def check_type(device_type: str) -> None:
    """Refuse a device type that does not exist."""
    if device_type not in DEVICE_TYPES:
        raise unknown_name("device type", str(device_type), DEVICE_TYPES)


def find_gpu(device_type: str, torch: Any) -> tuple[Device | None, str]:
    """Return the GPU of a type (`auto`: the first there is), or None and why there is none."""
    check_type(device_type)
    if device_type == "cpu":
        return None, "only the CPU was asked for"
    wanted = GPU_TYPES if device_type == "auto" else (device_type,)
    found = next(filter(None, (_probe(kind, torch) for kind in wanted)), None)
    names = " or ".join(each.upper() for each in wanted)
    return found, "" if found else f"torch {torch.__version__} finds no {names} device"
