"""Energy of a run: from meters where there are any, else busy seconds times configured watts; it says which."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module

from hybrid_scheduler.profiling.timing import Meter, NvmlMeter, find_cpu_meter, find_gpu_meter
from hybrid_scheduler.runtime.devices import DeviceSpec, build_cluster
from hybrid_scheduler.runtime.record import RunRecord

READ_SECONDS = 60.0  # between two readings at most: a counter of RAPL wraps around after some minutes


@dataclass(frozen=True)
class EnergyReading:
    """Joules of a part of the machine since the scheduler started, and where they are from."""

    part: str
    joules: float
    is_measured: bool
    source: str


@dataclass
class _Counter:
    """A meter and its reading at the start; `covers` are the numbers of the devices that it stands for."""

    part: str
    meter: Meter | None
    reason: str
    covers: list[int]
    first: float = 0.0

    def __post_init__(self) -> None:
        reading = self.meter.joules() if self.meter is not None else None
        self.first = reading or 0.0


class EnergyAccount:
    """Counts the energy of a run; RAPL counts all of the CPU, the work of others included."""

    def __init__(
        self,
        record: RunRecord,
        find_cpu: Callable[[], tuple[Meter | None, str]] = find_cpu_meter,
        find_gpu: Callable[[DeviceSpec], tuple[Meter | None, str]] | None = None,
    ) -> None:
        self._record, self._last = record, time.monotonic()
        cpus = [number for number, each in enumerate(record.devices) if each.torch_device == "cpu"]
        real = [number for number in cpus if not record.devices[number].is_emulated]
        self._counters = [_Counter("CPU", *find_cpu(), real)] if real else []
        for number, spec in enumerate(record.devices):
            if number not in real:
                found = (None, "an emulated device") if spec.is_emulated else (find_gpu or _find_gpu)(spec)
                self._counters.append(_Counter(spec.label, *found, [number]))
        self._watts = {each.name: each.watts for each in build_cluster(record.devices).classes}
        if any(each.meter is not None for each in self._counters):
            record.listeners.append(self._read_now_and_then)

    def _read_now_and_then(self) -> None:
        now = time.monotonic()
        if now - self._last >= READ_SECONDS:
            self._last = now
            for each in self._counters:
                if each.meter is not None:
                    each.meter.joules()

    def readings(self) -> list[EnergyReading]:
        """Return a reading for the CPU and one for every other device."""
        busy = defaultdict[int, float](float)
        for event in self._record.events:
            for device, _, start, end in event.spans:
                if end >= start:
                    busy[device] += end - start
        return [self._read(each, busy) for each in self._counters]

    def _read(self, counter: _Counter, busy: Mapping[int, float]) -> EnergyReading:
        now = counter.meter.joules() if counter.meter is not None else None
        if counter.meter is not None and now is not None:
            return EnergyReading(counter.part, now - counter.first, True, counter.meter.name)
        watts = [self._watts[self._record.devices[number].device_class] for number in counter.covers]
        joules = sum(busy.get(number, 0.0) * each for number, each in zip(counter.covers, watts, strict=True))
        source = f"busy seconds × {watts[0]:g} W as configured: {counter.reason}"
        return EnergyReading(counter.part, float(joules), False, source)


def _find_gpu(spec: DeviceSpec) -> tuple[Meter | None, str]:
    kind, _, index = spec.torch_device.partition(":")
    meter, reason = find_gpu_meter(kind)
    if meter is None or not int(index or 0):
        return meter, reason
    return NvmlMeter(import_module("pynvml"), int(index)), ""
