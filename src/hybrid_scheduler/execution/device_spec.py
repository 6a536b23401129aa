"""A device spec says what a worker is: its name, class and kind, where torch runs, how many threads, how slow."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hybrid_scheduler.errors import InputError


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """One device and how its worker runs.

    An emulated device is a CPU worker that sleeps after each task until it has taken `slowdown / (1 + slope · I)`
    times as long.
    """

    name: str
    device_class: str
    kind: str
    place: str = "cpu"  # torch's name of the device
    threads: int = 1
    slowdown: float = 0.0  # above 0: emulated
    slope: float = 0.0
    memory: float = math.inf  # MB
    node: int = 0

    def __post_init__(self) -> None:
        if self.kind not in ("cpu", "gpu"):
            raise InputError(f"device '{self.name}': kind is '{self.kind}', expected cpu or gpu")
        if self.threads < 1:
            raise InputError(f"device '{self.name}': threads is {self.threads}, expected a whole number above 0")
        if self.slope < 0 or (self.emulated and self.slowdown < 1 + self.slope):
            raise InputError(
                f"device '{self.name}': slowdown {self.slowdown:g} with slope {self.slope:g} would be faster than "
                "this machine at intensity 1; make slowdown at least 1 + slope"
            )

    @property
    def emulated(self) -> bool:
        """Whether this is a CPU worker that only plays its class."""
        return self.slowdown > 0

    @property
    def label(self) -> str:
        """The name as a person should read it: nobody shall take an emulated device for a real one."""
        return f"{self.name} (emulated)" if self.emulated else self.name

    @property
    def signature(self) -> str:
        """What times measured on it depend on: equal for devices of one class only."""
        how = f"emulated:{self.slowdown:g}:{self.slope:g}" if self.emulated else self.place.partition(":")[0]
        return f"{self.device_class}={how}:threads={self.threads}"

    def stretch(self, intensity: float) -> float:
        """Return by how much an emulated device multiplies the time of a task."""
        return self.slowdown / (1.0 + self.slope * intensity) if self.emulated else 1.0
