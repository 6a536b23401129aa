"""What travels between a backend and its workers: a call goes out, an answer comes back."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.tasks import Floats, Tasks, base_duration, no_edges
from hybrid_scheduler.runtime.calls import ERROR, VALUE, Answer, Call, WorkerLostError, packed_arguments
from hybrid_scheduler.runtime.user_tasks import Work

NAN = float("nan")


@dataclass(slots=True, eq=False)
class Share:
    """The part of a job that one device takes, and when it really ran."""

    device: int
    part: float  # 0 to 1
    on_gpu: bool
    start: float = NAN
    end: float = NAN
    answer: Answer | None = None


@dataclass(slots=True, eq=False)
class Job:
    """One task; `future` gets its result."""

    number: int
    work: Work
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    size: float
    intensity: float
    memory: float
    arrival: float  # seconds since the dispatcher began
    ready: float
    future: Future[Any] = field(default_factory=Future)
    gpu_fraction: float = NAN
    shares: list[Share] = field(default_factory=list)
    status: int = 0  # as in Placements
    failed: bool = False  # it ran and raised
    attempts: int = 1
    nominal: float | None = None  # intensity by which an emulated device is slow, if not the task's own
    teaches: bool = True  # whether the policy learns from it
    remembered: dict[str, Any] = field(default_factory=dict)  # what the policy wants to see when it learns
    error: BaseException | None = None  # why it was never sent, or not to the end
    begun: bool | None = None  # None: nobody has asked yet

    @classmethod
    def of(
        cls, number: int, work: Work, args: tuple[Any, ...], kwargs: dict[str, Any], now: float, arrival: float
    ) -> Job:
        """Make a job of work and its arguments."""
        return cls(number, work, args, kwargs, *work.figures(args, kwargs), arrival, now)

    @property
    def finish(self) -> float:
        """When the last share ended."""
        return max(share.end for share in self.shares)

    @property
    def is_done(self) -> bool:
        """Whether all shares are back."""
        return all(share.answer is not None for share in self.shares)

    def begin(self) -> bool:
        """Say that it runs from now on; False if it was cancelled before."""
        if self.begun is None:
            self.begun = self.future.set_running_or_notify_cancel()
        return self.begun

    def call(self, share: Share, number: int, expected: float) -> Call:
        """Return what to send to the share's device."""
        if share.part < 1.0:
            begin, end = (0.0, self.gpu_fraction) if share.on_gpu else (self.gpu_fraction, 1.0)
            function, arguments = self.work.share_bytes(), packed_arguments((begin, end, *self.args), self.kwargs)
        else:
            kind = "gpu" if share.on_gpu else "cpu"
            function, arguments = self.work.bytes_for(kind), packed_arguments(self.args, self.kwargs)
        intensity = self.intensity if self.nominal is None else self.nominal
        return Call(number, share.device, function, arguments, intensity, expected, self.begin, tag=(self, share))

    def resolve(self) -> None:
        """Give the future its result; called once, when all is over."""
        if not self.begin():
            return  # it was cancelled
        if self.error is not None:
            self.future.set_exception(self.error)
            return
        try:
            self.future.set_result(self._result())
        except BaseException as error:  # noqa: BLE001  # whatever went wrong belongs to the caller
            self.future.set_exception(error)

    def _result(self) -> Any:
        answers = [share.answer for share in self.shares if share.answer is not None]
        bad = next((each for each in answers if each.outcome != VALUE), None)
        if bad is None:
            values = [each.value() for each in answers]
            return values[0] if len(values) == 1 else self.work.together(*values)
        if bad.outcome == ERROR:
            raise bad.error()
        raise WorkerLostError(
            f"task '{self.work.name}' was tried {self.attempts} times and its worker died each time: "
            "run it by itself to see why"
        )


def tasks_of(jobs: Sequence[Job], arrival: Floats | None = None) -> Tasks:
    """Return jobs as tasks; their figures were checked when they were made."""
    size = np.array([job.size for job in jobs])
    intensity = np.array([job.intensity for job in jobs])
    return Tasks(
        size=size,
        compute_intensity=intensity,
        memory_required=np.array([job.memory for job in jobs]),
        arrival_time=np.array([job.arrival for job in jobs]) if arrival is None else arrival,
        task_id=np.array([job.number for job in jobs], np.int64),
        duration_estimate=base_duration(size, intensity),
        edges=no_edges(len(jobs)),
    )


def placements_of(
    jobs: Sequence[Job], cluster: Cluster, predicted: Floats, since: float = 0.0, tasks: Tasks | None = None
) -> Placements:
    """Return what became of jobs; `predicted` fills in the classes on which they did not run, `since` is time 0."""
    count, times = len(jobs), predicted.copy()
    fraction, status = np.full(count, np.nan), np.zeros(count, np.uint8)
    devices = np.full((2, count), -1, np.int32)
    starts = np.full((2, count), np.nan)
    for row, job in enumerate(jobs):
        status[row] = job.status
        if not job.shares:
            continue
        fraction[row] = job.gpu_fraction
        for share in job.shares:
            side = 0 if share.on_gpu else 1
            devices[side, row], starts[side, row] = share.device, share.start - since
            times[row, cluster.class_index[share.device]] = (share.end - share.start) / share.part
    placed = Placements(
        tasks=tasks_of(jobs, np.array([job.arrival - since for job in jobs])) if tasks is None else tasks,
        cluster=cluster,
        times=times,
        gpu_fraction=fraction,
        gpu=devices[0],
        cpu=devices[1],
        gpu_start=starts[0],
        cpu_start=starts[1],
        ready=np.array([job.ready - since for job in jobs]),
        finish=np.full(count, np.nan),
        status=status,
        measured=True,
    )
    # From the same sums as everywhere, so that a placement's end is its start plus its seconds to the last bit.
    ends = np.fmax(placed.gpu_start + placed.gpu_seconds, placed.cpu_start + placed.cpu_seconds)
    placed.finish[:] = np.where(placed.ran, ends, np.nan)
    return placed
