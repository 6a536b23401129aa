"""The way to a Ray cluster: one that runs somewhere, or one that is started on this machine and ended again."""

from __future__ import annotations

import logging
import os
from typing import Any

from hybrid_scheduler.errors import InputError

LOCAL = "local"
QUIET = {
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # actors without a GPU keep their environment; Ray's coming default
    "RAY_USAGE_STATS_ENABLED": "0",
}
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # a cluster of this machine alone listens to nobody else


def ray_module() -> Any:
    """Return Ray, told to keep quiet before it is imported."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise InputError(
            "this needs Ray: pip install 'hybrid-ml-scheduler[ray]', or use processes of this machine (local)"
        ) from None
    return ray


def connected(address: str, **of_a_local_one: Any) -> bool:
    """Connect to a cluster, or start one if the address is `local` or empty; False if this process was connected."""
    local = address in ("", LOCAL)
    if local:
        os.environ.update(LOOPBACK)  # read when Ray is imported
    ray = ray_module()
    if ray.is_initialized():
        return False
    options = {"address": LOCAL, "include_dashboard": False, **of_a_local_one} if local else {"address": address}
    try:
        ray.init(**options, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # noqa: BLE001  # Ray raises a plain Exception where a node does not start in time
        where = "on this machine" if local else f"at {address}"
        why = " ".join(str(error).split())[:200]
        raise InputError(f"no Ray cluster {where} ({why}): start one with ray start --head") from None
    return True
