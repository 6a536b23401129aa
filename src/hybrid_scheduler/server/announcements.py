"""What a frame of the race tells people: where its newest task went, and that a model was fitted again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from hybrid_scheduler.live.snapshot import Snapshot

NOTICE_SECONDS = 10.0
"""Between two notices of refits: at full speed a forest is fitted again several times a second."""


class Announcer:
    """Finds news in the snapshots of one race."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._task = -1
        self._fits: dict[str, int] = {}
        self._noticed = -NOTICE_SECONDS

    def describe_placements(self, snapshot: Snapshot) -> Iterator[str]:
        """Yield where each scheduler sent the newest task, unless that was told before."""
        latest = snapshot.latest
        if latest is None or latest.task_id == self._task:
            return
        self._task = latest.task_id
        names = {device.index: device.name for device in snapshot.devices}  # a GPU may be gone since
        for scheduler, result in latest.results.items():
            if result.device in names:
                yield f"Task {latest.task_id} assigned to {_spell(names[result.device])} by {scheduler}"

    def describe_fits(self, snapshot: Snapshot) -> list[str]:
        """Return a line for every model that has been fitted again since the snapshot before."""
        fits = {each.name: int(getattr(each.insight, "retrains", 0)) for each in snapshot.schedulers}
        before, self._fits = self._fits, fits
        return [
            f"Model Retrained: {name}, fit {count}" for name, count in fits.items() if count > before.get(name, count)
        ]

    def is_due(self) -> bool:
        """Whether people may be told of a refit now; counts from the last time."""
        now = self._clock()
        if now - self._noticed < NOTICE_SECONDS:
            return False
        self._noticed = now
        return True


def _spell(device: str) -> str:
    """Return 'GPU 3' for 'gpu3'; other names as they are."""
    kind, number = device.rstrip("0123456789"), device[len(device.rstrip("0123456789")) :]
    return f"{kind.upper()} {number}".strip() if kind in ("cpu", "gpu") else device
