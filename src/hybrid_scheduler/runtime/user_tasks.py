"""Work of one's own: functions marked `@task`, with an implementation per kind of device, and command lines."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, overload

from hybrid_scheduler.errors import InputError, SchedulerError, unknown_name
from hybrid_scheduler.runtime.calls import packed
from hybrid_scheduler.runtime.worker import current_device

KINDS = ("cpu", "gpu")
Figure = float | Callable[..., float]
Function = Callable[..., Any]


class Work:
    """What can be run: knows its type, its features and the function for a kind of device.

    `size`, `intensity` and `memory` (MB) are numbers, or functions of the arguments of the call.
    """

    def __init__(
        self,
        function: Function,
        size: Figure = 1.0,
        intensity: Figure = 0.5,
        memory: Figure = 0.0,
        only: str | None = None,
        name: str = "",
    ) -> None:
        if not callable(function):
            raise InputError(f"{function!r} cannot be called: submit a function, a @task or a Command")
        if only is not None and only not in KINDS:
            raise InputError(f"task '{function!r}': only is {only!r}, expected cpu or gpu")
        self.function = function
        self.name = name or type_of(function)
        self._figures = {"size": size, "intensity": intensity, "memory": memory}
        self._fixed: tuple[float, float, float] | None = None  # the figures if no call changes them, once checked
        self._by_kind: dict[str, Function] = {} if only is None else {only: function}
        self._anywhere = only is None
        self._share: Function | None = None
        self._combine: Function = lambda gpu_part, cpu_part: (gpu_part, cpu_part)
        self._packed: dict[Function, bytes] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, here and now."""
        return self.function(*args, **kwargs)

    def on(self, kind: str) -> Callable[[Function], Function]:
        """Mark the implementation for a kind of device: `@f.on("gpu")`."""
        if kind not in KINDS:
            raise InputError(f"task '{self.name}': no kind of device is called '{kind}', expected cpu or gpu")

        def keep(function: Function) -> Function:
            self._by_kind[kind] = function
            return function

        return keep

    def share(self, function: Function) -> Function:
        """Mark what runs the part from `begin` to `end`, 0 to 1, of the work: `f(begin, end, *args)`."""
        self._share = function
        return function

    def combine(self, function: Function) -> Function:
        """Mark what makes one result of the GPU's part, which comes first, and the CPU's."""
        self._combine = function
        return function

    @property
    def can_split(self) -> bool:
        """Whether a GPU and a CPU can each take a part."""
        return self._share is not None

    def runs_on(self, kind: str) -> bool:
        """Whether there is an implementation for a kind of device."""
        return self._anywhere or kind in self._by_kind

    @property
    def is_choosy(self) -> bool:
        """Whether some kind of device has no implementation."""
        return not self._anywhere and len(self._by_kind) < len(KINDS)

    def figures(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[float, float, float]:
        """Return size, intensity and memory of a call."""
        if self._fixed is not None:
            return self._fixed
        size, intensity, memory = (self._figure(name, args, kwargs) for name in EXPECTED)
        if not any(map(callable, self._figures.values())):
            self._fixed = size, intensity, memory
        return size, intensity, memory

    def _figure(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> float:
        given = self._figures[name]
        value = given(*args, **kwargs) if callable(given) else given
        low, high = (0.0, 1.0) if name == "intensity" else (0.0, float("inf"))
        if not isinstance(value, int | float) or not low <= value <= high or (name == "size" and not value > 0):
            raise InputError(f"task '{self.name}': {name} is {value!r}, expected {EXPECTED[name]}")
        return float(value)

    def bytes_for(self, kind: str) -> bytes:
        """Return the pickled implementation for a kind of device."""
        return self._bytes(self._by_kind.get(kind, self.function))

    def share_bytes(self) -> bytes:
        """Return the pickled function that runs a part."""
        return self._bytes(self._share or self.function)

    def _bytes(self, function: Function) -> bytes:
        if function not in self._packed:
            try:
                self._packed[function] = packed(function)
            except Exception as error:
                raise InputError(
                    f"task '{self.name}' cannot be sent to a worker ({error}): it must be picklable"
                ) from error
        return self._packed[function]

    def together(self, gpu_part: Any, cpu_part: Any) -> Any:
        """Make one result of two parts."""
        return self._combine(gpu_part, cpu_part)


EXPECTED = {"size": "a number above 0", "intensity": "a number from 0 to 1", "memory": "megabytes, 0 or more"}


def type_of(function: Function) -> str:
    """Return what times are remembered under: module and name."""
    if isinstance(function, Command):
        return f"command:{function.words[0]}"
    inner = getattr(function, "func", function)  # functools.partial
    name = getattr(inner, "__qualname__", type(inner).__qualname__)
    return f"{getattr(inner, '__module__', '') or ''}.{name}".lstrip(".")


@overload
def task(function: Function, /) -> Work: ...


@overload
def task(
    *, size: Figure = 1.0, intensity: Figure = 0.5, memory: Figure = 0.0, only: str | None = None
) -> Callable[[Function], Work]: ...


def task(
    function: Function | None = None,
    /,
    *,
    size: Figure = 1.0,
    intensity: Figure = 0.5,
    memory: Figure = 0.0,
    only: str | None = None,
) -> Work | Callable[[Function], Work]:
    """Mark a function as a task: `@task` or `@task(size=len, intensity=0.9)`; it can still be called as before."""

    def mark(marked: Function) -> Work:
        return Work(marked, size, intensity, memory, only)

    return mark if function is None else mark(function)


class CommandError(SchedulerError):
    """A command line that did not end well."""


@dataclass(frozen=True)
class Command:
    """A command line as a task; calling it runs it, further words may follow, the result is what it printed."""

    words: Sequence[str]
    timeout: float | None = None
    environment: dict[str, str] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.words, str) or not self.words or not all(isinstance(each, str) for each in self.words):
            raise InputError(f"a command is a list of words, got {self.words!r}: write Command(['prog', 'word'])")

    def __hash__(self) -> int:
        return hash(tuple(self.words))

    def __call__(self, *more: object) -> str:
        """Run it without a shell; an exit code other than 0 is an error that carries the end of what it said."""
        line = [*self.words, *(str(each) for each in more)]
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


ORDER = ("copy", "sparse", "elementwise", "sort", "fft", "convolution", "matmul")
"""The kernels by growing compute intensity."""
LEAST = 4  # edge below which a kernel is nothing but its own overhead


def kernel_of(intensity: float) -> str:
    """Return the kernel that a task of this compute intensity runs."""
    return ORDER[min(int(intensity * len(ORDER)), len(ORDER) - 1)]


def nominal_intensity(kernel: str) -> float:
    """Return the middle of a kernel's part of the range."""
    return (ORDER.index(kernel) + 0.5) / len(ORDER)


def run_kernel(kernel: str, edge: int) -> int:
    """Run a kernel once on arrays of edge × edge on the device of this worker; return the edge."""
    from hybrid_scheduler.profiling.kernels import KERNELS

    KERNELS[kernel].build(edge, current_device())()
    return edge


def run_part(begin: float, end: float, kernel: str, edge: int) -> int:
    """Run a share of a kernel's operations."""
    return run_kernel(kernel, part_edge(kernel, edge, end - begin))


def part_edge(kernel: str, edge: int, share: float) -> int:
    """Return the edge with that share of the operations: they grow with the cube for matmul, else with the square."""
    power = 1 / 3 if kernel == "matmul" else 1 / 2
    return max(LEAST, round(edge * float(share**power)))


@cache
def kernel_work(kernel: str) -> Work:
    """Return the work of a kernel: submit it with its name and an edge."""
    if kernel not in ORDER:
        raise unknown_name("kernel", kernel, ORDER)
    work = Work(
        run_kernel, size=lambda _, edge: float(edge), intensity=nominal_intensity(kernel), name=f"kernel:{kernel}"
    )
    work.share(run_part)
    work.combine(lambda gpu_part, cpu_part: (gpu_part, cpu_part))
    return work
