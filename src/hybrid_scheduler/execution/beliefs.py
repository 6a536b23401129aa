"""What is believed of devices at work: when each will be free, by the learnt seconds of what it was sent."""

from __future__ import annotations

from hybrid_scheduler.model.tasks import Floats

ENOUGH = 2  # calls: one that a device is at and one for the moment when that has ended


class Beliefs:
    """Seconds of work before every device, as far as anyone can tell from outside."""

    def __init__(self, count: int) -> None:
        self._sent: list[dict[int, float]] = [{} for _ in range(count)]  # calls by number, oldest first
        self._total = [0.0] * count
        self._since = [0.0] * count  # when the first of them began, at the earliest
        self.hungry = count  # devices that have fewer than two calls
        self._calls = 0

    def send(self, device: int, number: int, seconds: float, now: float) -> None:
        """Note a call that a device was sent."""
        if not self._sent[device]:
            self._total[device], self._since[device] = 0.0, now
        self._sent[device][number] = seconds
        self._total[device] += seconds
        self._calls += 1
        self.hungry -= len(self._sent[device]) == ENOUGH

    def end(self, device: int, number: int, now: float) -> None:
        """Note that a call is back; the next one began at that moment."""
        if number in self._sent[device]:
            self._calls -= 1
            self.hungry += len(self._sent[device]) == ENOUGH
            self._total[device] -= self._sent[device].pop(number)
        self._since[device] = now

    def recall(self, device: int, number: int) -> None:
        """Note that a call which a device has not begun is not to run there."""
        since = self._since[device]
        self.end(device, number, since)

    @property
    def are_all_hungry(self) -> bool:
        """Whether no device has two calls."""
        return self.hungry == len(self._sent)

    @property
    def seconds_per_call(self) -> float:
        """What a call that was sent takes on average; NaN if none is under way."""
        return sum(self._total) / self._calls if self._calls else float("nan")

    def fill(self, free: Floats, now: float) -> None:
        """Write when each device will be free; a call that takes longer than believed may end any moment."""
        for device, sent in enumerate(self._sent):
            if not sent:
                free[device] = now
                continue
            first = next(iter(sent.values()))
            passed = min(now - self._since[device], first)
            free[device] = now + max(self._total[device] - passed, 0.0)
