"""`Turns`: lanes take turns on one backend, one task at a time, so that no policy disturbs another."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.execution.backend import Backend
from hybrid_scheduler.execution.calls import ERROR, VALUE, Answer, Call
from hybrid_scheduler.execution.execution_lane import SCALE
from hybrid_scheduler.execution.jobs import Job, Share
from hybrid_scheduler.execution.kernel_tasks import LEAST, kernel_of, kernel_work, nominal_intensity
from hybrid_scheduler.execution.measured_times import MeasuredTimes

MOST_EDGE = 2000  # of a kernel's arrays, 16 MB each: tasks that come over HTTP must not fill the memory
PATIENCE = 120.0  # seconds after which a device that does not answer is given up

Parts = Sequence[tuple[int, float]]


@dataclass(frozen=True)
class Turn:
    """How a task went: seconds of each share as if its device had run the whole task; none if it was lost."""

    parts: Parts
    seconds: tuple[float, ...]
    deaths: int = 0  # workers that died at it

    @property
    def is_lost(self) -> bool:
        """Whether no device has brought it to an end."""
        return not self.seconds


def edge_of(size: float) -> int:
    """Return the edge of a kernel's arrays for a task's size."""
    return max(LEAST, min(MOST_EDGE, round(size * SCALE)))


class Turns:
    """Runs the kernel of one task after another; every measured time is learnt."""

    def __init__(self, backend: Backend, times: MeasuredTimes) -> None:
        self.backend, self.times = backend, times
        self._heard: SimpleQueue[tuple[Call, Answer]] = SimpleQueue()
        self._new_workers: SimpleQueue[int] = SimpleQueue()
        self._numbers = itertools.count()
        self._closed = False
        backend.listen(self._hear, cold=self._new_workers.put)

    def _hear(self, ended: Sequence[tuple[Call, Answer]]) -> None:
        for each in ended:
            self._heard.put(each)

    def run(self, size: float, intensity: float, parts: Parts) -> Turn:
        """Run a task, its shares side by side; a worker that dies is replaced by the backend and tries again."""
        kernel = kernel_of(intensity)
        job = Job(0, kernel_work(kernel), (kernel, edge_of(size)), {}, size, intensity, 0.0, 0.0, 0.0)
        job.nominal = nominal_intensity(kernel)
        job.shares = [Share(device, part, self.backend.devices[device].kind == "gpu") for device, part in parts]
        job.gpu_fraction = sum(share.part for share in job.shares if share.on_gpu)
        self.backend.send([job.call(share, next(self._numbers), float("nan")) for share in job.shares])
        deaths = sum(self._wait() for _ in job.shares)
        return self._told(job, parts, deaths)

    def _wait(self) -> int:
        """Wait for the answer to a call; return how many workers died at it."""
        try:
            call, answer = self._heard.get(timeout=PATIENCE)
        except Empty:
            raise SchedulerError(
                f"no device answered within {PATIENCE:g} s: look at its worker, start again"
            ) from None
        _, share = call.tag
        share.answer, share.start, share.end = answer, answer.start, answer.end
        return call.attempts

    def _told(self, job: Job, parts: Parts, deaths: int) -> Turn:
        answers = [share.answer for share in job.shares if share.answer is not None]
        if failed := next((each for each in answers if each.outcome == ERROR), None):
            raise SchedulerError(f"{job.work.name} cannot run here: {failed.error()}") from failed.error()
        self._cool()
        if any(each.outcome != VALUE for each in answers):
            return Turn(parts, (), deaths)
        seconds = tuple((share.end - share.start) / share.part for share in job.shares)
        for share, each in zip(job.shares, seconds, strict=True):
            spec = self.backend.devices[share.device]
            self.times.observe(job.work.name, spec.signature, spec.name, job.size, each)
        return Turn(parts, seconds, deaths)

    def _cool(self) -> None:
        """Note, here and not in the backend's thread, which workers are new."""
        while not self._new_workers.empty():
            self.times.cool(self.backend.devices[self._new_workers.get()].name)

    def close(self) -> None:
        """End the workers; may be called again."""
        if not self._closed:
            self._closed = True
            self.backend.close()
