"""What a Ray actor does for a device: performs batches of calls, and tells its clock."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace

from hybrid_scheduler.execution.device_spec import DeviceSpec
from hybrid_scheduler.execution.performing import Performer

Request = tuple[int, bytes, bytes, float]
Reply = tuple[int, int, float, float, bytes]


class DeviceActor:
    """The worker of one device on some node of a cluster."""

    def __init__(self, spec: DeviceSpec, paths: list[str]) -> None:
        sys.path += [path for path in paths if path not in sys.path]
        kind, _, number = spec.place.partition(":")
        # Ray hides all GPUs but the one that it gave to this actor, which is number 0 here.
        self._performer = Performer(replace(spec, place=f"{kind}:0") if number else spec)

    def clock(self) -> tuple[float, int]:
        """Return the time by the clock that answers are stamped with, and the number of this process."""
        return time.perf_counter(), os.getpid()

    def perform(self, batch: list[Request]) -> list[Reply]:
        """Perform calls one after another."""
        return [
            (number, *self._performer.perform(function, arguments, intensity))
            for number, function, arguments, intensity in batch
        ]
