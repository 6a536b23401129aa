"""From a task to its result: task function, job, call, answer.

A job is one submitted call to a task function; its future gets the result. It is sent to a worker as one call, or to
two as two if a GPU and a CPU share it. A worker runs a call and sends an answer.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType
from typing import Any

from hybrid_scheduler.errors import InputError, SchedulerError

VALUE, ERROR, LOST, CANCELLED = 0, 1, 2, 3
"""Outcomes of a call: a value, an exception, every worker died, cancelled before it began."""
SMALL_SECONDS = 0.01  # calls expected to take less are sent in batches
NAN = float("nan")
KINDS = ("cpu", "gpu")
FEATURES = {"size": "a number above 0", "intensity": "a number from 0 to 1", "memory": "megabytes, 0 or more"}
"""Features of a task and what is expected of them."""
Feature = float | Callable[..., float]
Function = Callable[..., Any]
_PLAIN_TYPES = {bool, int, float, str, bytes, type(None)}
_FUNCTION_TYPES = {FunctionType, BuiltinFunctionType}


class TaskFunction:
    """A function that can be submitted, with its features and its implementations.

    `size`, `intensity` and `memory` (MB) are numbers, or functions of the arguments of the call. `only` restricts it
    to one kind of device.
    """

    def __init__(
        self,
        function: Function,
        size: Feature = 1.0,
        intensity: Feature = 0.5,
        memory: Feature = 0.0,
        only: str | None = None,
        name: str = "",
    ) -> None:
        if not callable(function):
            raise InputError(f"{function!r} cannot be called: submit a function, a @task or a Command")
        if only is not None and only not in KINDS:
            raise InputError(f"task '{function!r}': only is {only!r}, expected cpu or gpu")
        self.function = function
        self.name = name or getattr(function, "task_name", "") or _find_name(function)  # for its measured times
        self._features = {"size": size, "intensity": intensity, "memory": memory}
        self._constant: tuple[float, float, float] | None = None  # the features if no argument changes them
        self.kinds = set(KINDS) if only is None else {only}  # of devices that can run it
        self._by_kind: dict[str, Function] = {}
        self._share: Function | None = None
        self.combine_parts: Function = lambda gpu_part, cpu_part: (gpu_part, cpu_part)
        self._bytes: dict[Function, bytes] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, in this process."""
        return self.function(*args, **kwargs)

    def on(self, kind: str) -> Callable[[Function], Function]:
        """Mark the implementation for a kind of device: `@f.on("gpu")`."""
        if kind not in KINDS:
            raise InputError(f"task '{self.name}': no kind of device is called '{kind}', expected cpu or gpu")

        def register(function: Function) -> Function:
            self.kinds.add(kind)
            self._by_kind[kind] = function
            return function

        return register

    def share(self, function: Function) -> Function:
        """Mark the function `f(begin, end, *args)` that runs the part from `begin` to `end`, 0 to 1, of the work."""
        self._share = function
        return function

    def combine(self, function: Function) -> Function:
        """Mark the function that combines the GPU's part, which comes first, and the CPU's into one result."""
        self.combine_parts = function
        return function

    @property
    def can_split(self) -> bool:
        """Whether a GPU and a CPU can each run a part."""
        return self._share is not None

    def create_job(self, number: int, args: tuple[Any, ...], kwargs: dict[str, Any], arrival: float) -> Job:
        """Return the job of a call with these arguments."""
        return Job(number, self, args, kwargs, *self.features(args, kwargs), arrival, arrival)

    def features(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[float, float, float]:
        """Return size, intensity and memory of a call."""
        if self._constant is not None:
            return self._constant
        size, intensity, memory = [self._evaluate(name, args, kwargs) for name in FEATURES]
        if not any(map(callable, self._features.values())):
            self._constant = size, intensity, memory
        return size, intensity, memory

    def _evaluate(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> float:
        given = self._features[name]
        value = given(*args, **kwargs) if callable(given) else given
        low, high = (0.0, 1.0) if name == "intensity" else (0.0, float("inf"))
        if not isinstance(value, int | float) or not low <= value <= high or (name == "size" and not value > 0):
            raise InputError(f"task '{self.name}': {name} is {value!r}, expected {FEATURES[name]}")
        return float(value)

    def serialize(self, kind: str, is_part: bool) -> bytes:
        """Return the pickled implementation for a kind of device, or the function that runs a part; pickled once."""
        function = self._share if is_part and self._share else self._by_kind.get(kind, self.function)
        if function not in self._bytes:
            try:
                self._bytes[function] = serialize(function)
            except Exception as error:
                raise InputError(
                    f"task '{self.name}' cannot be sent to a worker ({error}): it must be picklable"
                ) from error
        return self._bytes[function]


def _find_name(function: Function) -> str:
    """Return module and name of a function."""
    inner = getattr(function, "func", function)  # functools.partial
    name = getattr(inner, "__qualname__", type(inner).__qualname__)
    return f"{getattr(inner, '__module__', '') or ''}.{name}".lstrip(".")


class WorkerLostError(SchedulerError):
    """A task whose worker died every time it was tried, or for which no device is left."""


class RemoteTraceback(Exception):  # noqa: N818  # named as in concurrent.futures: it carries text, it is no error
    """The traceback of a worker, as the cause of the exception that reaches the caller."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


@dataclass(slots=True)
class Answer:
    """The outcome of a call, its start and end by the clock of this machine, and the pickled value or exception."""

    outcome: int
    start: float = NAN
    end: float = NAN
    payload: bytes = b""

    def value(self) -> Any:
        """Return the value; only for the outcome VALUE."""
        return pickle.loads(self.payload)  # noqa: S301  # written by our own worker

    def error(self) -> BaseException:
        """Return the exception of the task, with the worker's traceback as its cause."""
        error: BaseException
        error, text = pickle.loads(self.payload)  # noqa: S301  # written by our own worker
        error.__cause__ = RemoteTraceback(text)
        return error


@dataclass(slots=True, eq=False)
class Call:
    """A pickled function and its arguments for one device.

    `begin` is called once, before the call is first sent; if it returns False, the call was cancelled.
    """

    number: int
    device: int
    function: bytes
    arguments: bytes
    intensity: float
    expected: float  # seconds; NaN if unknown
    begin: Callable[[], bool] | None = None
    attempts: int = 0  # ended by the death of a worker
    batch: int = 0  # number of the batch in which it went to its worker
    tag: Any = field(default=None, repr=False)  # for the sender

    @property
    def num_bytes(self) -> int:
        """Size of the message."""
        return len(self.function) + len(self.arguments)

    @property
    def is_small(self) -> bool:
        """Whether it is expected to take a moment only."""
        return self.expected < SMALL_SECONDS


@dataclass(slots=True, eq=False)
class Share:
    """The part of a job that one device runs, and when it ran."""

    device: int
    part: float  # 0 to 1
    on_gpu: bool
    start: float = NAN
    end: float = NAN
    answer: Answer | None = None


@dataclass(slots=True, eq=False)
class Job:
    """One submitted task; times are seconds since the dispatcher started."""

    number: int
    task: TaskFunction
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    size: float
    intensity: float
    memory: float
    arrival: float
    ready: float
    future: Future[Any] = field(default_factory=Future)
    gpu_fraction: float = NAN
    shares: list[Share] = field(default_factory=list)
    status: int = 0  # as in Placements
    failed: bool = False  # it ran and raised
    attempts: int = 1
    device_intensity: float | None = None  # by which an emulated device is slow, if not the task's own
    is_measured: list[bool] = field(default_factory=list)  # by class: whether its task was timed there
    trains_policy: bool = True
    saved: dict[str, Any] = field(default_factory=dict)  # attributes that the policy needs again for training
    error: BaseException | None = None  # why it was not sent, or not completed
    began: bool | None = None  # None: not asked yet

    @property
    def finish(self) -> float:
        """When the last share ended."""
        return max(share.end for share in self.shares)

    @property
    def is_done(self) -> bool:
        """Whether all shares are back."""
        return all(share.answer is not None for share in self.shares)

    def begin(self) -> bool:
        """Mark the future as running; False if it was cancelled before."""
        if self.began is None:
            self.began = self.future.set_running_or_notify_cancel()
        return self.began

    def create_call(self, share: Share, number: int, expected: float) -> Call:
        """Return the call that runs a share on its device."""
        args, is_part = self.args, share.part < 1.0
        if is_part:
            bounds = (0.0, self.gpu_fraction) if share.on_gpu else (self.gpu_fraction, 1.0)
            args = (*bounds, *args)
        function = self.task.serialize("gpu" if share.on_gpu else "cpu", is_part)
        arguments = serialize_arguments(args, self.kwargs)
        intensity = self.intensity if self.device_intensity is None else self.device_intensity
        return Call(number, share.device, function, arguments, intensity, expected, self.begin, tag=(self, share))

    def resolve(self) -> None:
        """Give the future its result; called once, when the job has ended."""
        if not self.begin():
            return  # it was cancelled
        if self.error is not None:
            self.future.set_exception(self.error)
            return
        try:
            self.future.set_result(self._result())
        except BaseException as error:  # noqa: BLE001  # any exception belongs to the caller
            self.future.set_exception(error)

    def _result(self) -> Any:
        answers = [share.answer for share in self.shares if share.answer is not None]
        failed = next((each for each in answers if each.outcome != VALUE), None)
        if failed is None:
            values = [each.value() for each in answers]
            return values[0] if len(values) == 1 else self.task.combine_parts(*values)
        if failed.outcome == ERROR:
            raise failed.error()
        raise WorkerLostError(
            f"task '{self.task.name}' was tried {self.attempts} times and its worker died each time: "
            "run it by itself to see why"
        )


def serialize_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    """Pickle arguments; plain ones the quick way."""
    if not kwargs and all(type(each) in _PLAIN_TYPES for each in args):
        return pickle.dumps((args, kwargs), protocol=5)
    return serialize((args, kwargs))


def serialize(value: Any) -> bytes:
    """Pickle a value, objects of the main script included, which a worker could not import."""
    if type(value) in _PLAIN_TYPES:
        return pickle.dumps(value, protocol=5)
    import cloudpickle

    is_function = type(value) in _FUNCTION_TYPES
    if is_function and value.__module__ != "__main__" and not cloudpickle.list_registry_pickle_by_value():
        with suppress(pickle.PicklingError, AttributeError):  # a closure must be pickled by value
            return pickle.dumps(value, protocol=5)  # by name, as cloudpickle would, but faster
    blob: bytes = cloudpickle.dumps(value, protocol=5)
    return blob


def serialize_error(error: BaseException) -> bytes:
    """Pickle an exception with its traceback; one that cannot be pickled is replaced by its name and message."""
    text = "".join(traceback.format_exception(error))
    error.__traceback__ = None
    try:
        blob = serialize((error, text))
        pickle.loads(blob)  # noqa: S301  # our own bytes; an exception with its own constructor may not come back
    except Exception:  # noqa: BLE001  # third-party reduce methods may raise anything
        return serialize((SchedulerError(f"{type(error).__name__}: {error} (it cannot be pickled itself)"), text))
    return blob
