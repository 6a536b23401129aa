"""A backend whose workers are played by the test: what was sent is listed, answers and deaths are method calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from hybrid_scheduler.runtime.backend import Backend, DeviceQueue
from hybrid_scheduler.runtime.devices import parse_devices
from hybrid_scheduler.runtime.jobs import VALUE, Answer, Call, serialize


class ScriptedBackend(Backend):
    """Answers when the test says so; every value is 1."""

    name: ClassVar[str] = "scripted"

    def __init__(self, devices: str = "cpu", *, answers_in_batches: bool = False) -> None:
        super().__init__(parse_devices(devices))
        self.answers_in_batches = answers_in_batches  # type: ignore[misc]  # of this one, not of its class
        self.batches: list[list[int]] = []
        self.ended: list[tuple[int, int]] = []

    @classmethod
    def open(cls, *, answers_in_batches: bool = False) -> ScriptedBackend:
        backend = cls(answers_in_batches=answers_in_batches)
        backend.listen(backend._note_ended)
        return backend

    def _open(self) -> None:
        for queue in self.queues:
            self._on_ready(queue)

    def _send_batch(self, queue: DeviceQueue, calls: list[Call]) -> None:
        self.batches.append([call.number for call in calls])

    def _note_ended(self, ended: Sequence[tuple[Call, Answer]]) -> None:
        self.ended += [(call.number, answer.outcome) for call, answer in ended]

    def answer(self, *numbers: int, device: int = 0, seconds: float = 1e-5) -> None:
        answers = [(number, Answer(VALUE, 0.0, seconds, serialize(1))) for number in numbers]
        self._on_answers(self.queues[device], answers)

    def answer_all(self) -> None:
        while any(queue.in_flight for queue in self.queues):
            for queue in self.queues:
                self.answer(*(call.number for call in queue.in_flight), device=queue.device)

    def die(self) -> None:
        self._on_death(self.queues[0])
        self._on_ready(self.queues[0])
