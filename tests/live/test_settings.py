"""Settings of a live race are checked when they are built."""

from __future__ import annotations

from typing import Any

import pytest

from hybrid_scheduler.errors import InputError, SchedulerError, UnknownNameError
from hybrid_scheduler.live import LiveSettings
from hybrid_scheduler.live.settings import MEASURED_SCHEDULERS, MeasuredSettings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"schedulers": ()}, "no scheduler"),
        ({"schedulers": ("eft", "eft")}, "twice"),
        ({"schedulers": ("etf",)}, "eft"),
        ({"preset": "cholesky"}, "dependencies"),
        ({"preset": "mxied"}, "mixed"),
        ({"load": 0.0}, "load is 0"),
        ({"load": None}, "either"),
        ({"energy_weight": 2.0}, "energy_weight"),
        ({"num_gpus": -1}, "num_gpus"),
        ({"failed_gpus": (4,)}, "GPU 4"),
        ({"pace": 0.0}, "pace"),
        ({"max_queue": 0}, "max_queue"),
        ({"seed": -1}, "seed"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SchedulerError, match=message):
        LiveSettings(**settings)


def test_an_unknown_setting_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(SchedulerError, match="did you mean 'pace'"):
        LiveSettings().with_changes(pase=3.0)


def test_settings_name_known_backends_and_devices() -> None:
    assert MeasuredSettings(devices="emulated").schedulers == MEASURED_SCHEDULERS
    assert MeasuredSettings(devices="emulated").num_gpus == 1
    with pytest.raises(UnknownNameError, match="'locl'"):
        MeasuredSettings(backend="locl", devices="emulated")
    with pytest.raises(InputError, match="is not simulated"):
        LiveSettings(backend="local")
