"""Tasks of the user: functions marked `@task`, with an implementation per kind of device, command lines, kernels."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, overload

from hybrid_scheduler.errors import InputError, SchedulerError, unknown_name
from hybrid_scheduler.runtime.jobs import Job, serialize

KINDS = ("cpu", "gpu")
FEATURES = {"size": "a number above 0", "intensity": "a number from 0 to 1", "memory": "megabytes, 0 or more"}
"""Features of a task and what is expected of them."""
KERNEL_ORDER = ("copy", "sparse", "elementwise", "sort", "fft", "convolution", "matmul")
"""The kernels by growing compute intensity."""
MIN_EDGE = 4  # below which a kernel measures nothing but its own overhead
Feature = float | Callable[..., float]
Function = Callable[..., Any]


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
        self.name = name or _find_name(function)  # measured times are kept under it
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
    """Return module and name of a function, or the program of a command."""
    if isinstance(function, Command):
        return f"command:{function.words[0]}"
    inner = getattr(function, "func", function)  # functools.partial
    name = getattr(inner, "__qualname__", type(inner).__qualname__)
    return f"{getattr(inner, '__module__', '') or ''}.{name}".lstrip(".")


@overload
def task(function: Function, /) -> TaskFunction: ...


@overload
def task(
    *, size: Feature = 1.0, intensity: Feature = 0.5, memory: Feature = 0.0, only: str | None = None
) -> Callable[[Function], TaskFunction]: ...


def task(
    function: Function | None = None,
    /,
    *,
    size: Feature = 1.0,
    intensity: Feature = 0.5,
    memory: Feature = 0.0,
    only: str | None = None,
) -> TaskFunction | Callable[[Function], TaskFunction]:
    """Mark a function as a task: `@task` or `@task(size=len, intensity=0.9)`; it can still be called as before."""

    def mark(marked: Function) -> TaskFunction:
        return TaskFunction(marked, size, intensity, memory, only)

    return mark if function is None else mark(function)


class CommandError(SchedulerError):
    """A command line that failed."""


@dataclass(frozen=True)
class Command:
    """A command line as a task; calling it runs it, arguments are appended, the result is its standard output."""

    words: Sequence[str]
    timeout: float | None = None
    environment: dict[str, str] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.words, str) or not self.words or not all(isinstance(each, str) for each in self.words):
            raise InputError(f"a command is a list of words, got {self.words!r}: write Command(['prog', 'word'])")

    def __hash__(self) -> int:
        return hash(tuple(self.words))

    def __call__(self, *arguments: object) -> str:
        """Run it without a shell; an exit code other than 0 is an error that quotes the end of standard error."""
        line = [*self.words, *(str(each) for each in arguments)]
        try:
            done = subprocess.run(  # noqa: S603  # words of the caller's own program, no shell
                line, capture_output=True, text=True, timeout=self.timeout, env=self.environment, check=False
            )
        except subprocess.TimeoutExpired:
            raise CommandError(
                f"command '{self.words[0]}' took longer than {self.timeout:g} s: raise timeout"
            ) from None
        except OSError as error:
            raise CommandError(
                f"command '{self.words[0]}' cannot be run ({error.strerror}): check its name"
            ) from None
        if done.returncode != 0:
            raise CommandError(
                f"command '{self.words[0]}' ended with {done.returncode}: {done.stderr.strip()[-300:]}"
            )
        return done.stdout


def choose_kernel(intensity: float) -> str:
    """Return the kernel that stands for tasks of this compute intensity."""
    return KERNEL_ORDER[min(int(intensity * len(KERNEL_ORDER)), len(KERNEL_ORDER) - 1)]


def nominal_intensity(kernel: str) -> float:
    """Return the middle of the intensities that a kernel stands for."""
    return (KERNEL_ORDER.index(kernel) + 0.5) / len(KERNEL_ORDER)


def run_kernel(kernel: str, edge: int) -> int:
    """Run a kernel once on arrays of edge × edge on the device of this worker; return the edge."""
    from hybrid_scheduler.profiling.kernels import KERNELS
    from hybrid_scheduler.runtime.worker import current_device

    KERNELS[kernel].build(edge, current_device())()
    return edge


def run_kernel_part(begin: float, end: float, kernel: str, edge: int) -> int:
    """Run a part of a kernel's operations."""
    return run_kernel(kernel, part_edge(kernel, edge, end - begin))


def part_edge(kernel: str, edge: int, share: float) -> int:
    """Return the edge with that share of the operations: they grow with the cube for matmul, else with the square."""
    power = 1 / 3 if kernel == "matmul" else 1 / 2
    return max(MIN_EDGE, round(edge * float(share**power)))


@cache
def kernel_task(kernel: str) -> TaskFunction:
    """Return the task that runs a kernel: submit it with the kernel's name and an edge."""
    if kernel not in KERNEL_ORDER:
        raise unknown_name("kernel", kernel, KERNEL_ORDER)
    function = TaskFunction(
        run_kernel, size=lambda _, edge: float(edge), intensity=nominal_intensity(kernel), name=f"kernel:{kernel}"
    )
    function.share(run_kernel_part)
    return function


def create_kernel_job(
    number: int,
    kernel: str,
    edge: int,
    size: float,
    *,
    intensity: float | None = None,
    memory: float = 0.0,
    arrival: float = 0.0,
) -> Job:
    """Return a job that runs a kernel on arrays of edge × edge; policies see `size`, `intensity` and `memory`."""
    nominal = nominal_intensity(kernel)
    seen = nominal if intensity is None else intensity
    arguments = (kernel, edge)
    return Job(
        number, kernel_task(kernel), arguments, {}, size, seen, memory, arrival, arrival, device_intensity=nominal
    )
