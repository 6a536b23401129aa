"""What is believed of devices at work: when each will be free, by the learnt seconds of what it was sent."""

from __future__ import annotations

from hybrid_scheduler.model.tasks import Floats


class Beliefs:
    """Seconds of work before every device, as far as anyone can tell from outside."""

    def __init__(self, count: int) -> None:
        self._sent: list[dict[int, float]] = [{} for _ in range(count)]  # calls by number, oldest first
        self._total = [0.0] * count
        self._since = [0.0] * count  # when the first of them began, at the earliest

    def send(self, device: int, number: int, seconds: float, now: float) -> None:
        """Note a call that a device was sent."""
        if not self._sent[device]:
            self._total[device], self._since[device] = 0.0, now
        self._sent[device][number] = seconds
        self._total[device] += seconds

    def end(self, device: int, number: int, now: float) -> None:
        """Note that a call is back; the next one began at that moment."""
        self._total[device] -= self._sent[device].pop(number, 0.0)
        self._since[device] = now

    def waiting(self, device: int) -> int:
        """Return how many calls a device has."""
        return len(self._sent[device])

    def fill(self, free: Floats, now: float) -> None:
        """Write when each device will be free; a call that takes longer than believed may end any moment."""
        for device, sent in enumerate(self._sent):
            if not sent:
                free[device] = now
                continue
            first = next(iter(sent.values()))
            passed = min(now - self._since[device], first)
            free[device] = now + max(self._total[device] - passed, 0.0)
