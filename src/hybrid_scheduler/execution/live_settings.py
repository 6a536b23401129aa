"""Settings of a live race whose tasks really run: the devices are what they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from hybrid_scheduler import registry
from hybrid_scheduler.engine.settings import LiveSettings
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.execution.device_spec import DeviceSpec
from hybrid_scheduler.execution.devices import cluster_of, devices_of
from hybrid_scheduler.model.cluster import Cluster

FOUR = ("round_robin", "greedy", "hybrid_ml", "eft")
"""Who takes part unless somebody is named: every lane more is time that the devices must find."""


@dataclass(frozen=True)
class MeasuredSettings(LiveSettings):
    """One state of the settings; `num_gpus` follows from the devices."""

    schedulers: tuple[str, ...] = FOUR
    backend: str = "local"
    devices: str = "auto"

    def _check_devices(self) -> None:
        if self.backend not in registry.backends.table:
            raise unknown_name("backend", self.backend, ["simulated", *registry.backends.table])
        object.__setattr__(self, "num_gpus", len(self.cluster.gpus))
        self._check_failed()

    def changed(self, **values: Any) -> MeasuredSettings:
        """Return settings with some values changed; devices cannot be made by wishing."""
        if values.get("num_gpus", self.num_gpus) != self.num_gpus:
            raise InputError(
                f"num_gpus stays {self.num_gpus}: tasks really run here; start the server with other --devices"
            )
        changed = super().changed(**values)
        assert isinstance(changed, MeasuredSettings)  # noqa: S101  # replace keeps the class
        return changed

    @property
    def specs(self) -> tuple[DeviceSpec, ...]:
        """The devices."""
        return _found(self.devices)[0]

    @property
    def cluster(self) -> Cluster:
        """The cluster that policies see."""
        return _found(self.devices)[1]

    @property
    def block(self) -> int:
        """Tasks that are decided together: one, because the next decision knows how long it took."""
        return 1


@cache
def _found(devices: str) -> tuple[tuple[DeviceSpec, ...], Cluster]:
    """Return devices and their cluster; this machine is looked at once."""
    specs = devices_of(devices)
    return specs, cluster_of(specs)
