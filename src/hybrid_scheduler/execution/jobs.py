"""A job is one task on its way: what it is, where it was sent, what came back."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from hybrid_scheduler.execution.calls import ERROR, VALUE, Answer, Call, WorkerLostError, packed_arguments
from hybrid_scheduler.execution.user_tasks import Work

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
