"""Tasks as users write them: functions marked `@task`, command lines, and the kernels that stand for workloads."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import overload

from hybrid_scheduler.errors import InputError, SchedulerError, unknown_name
from hybrid_scheduler.runtime.jobs import Feature, Function, Job, TaskFunction

KERNEL_ORDER = ("copy", "sparse", "elementwise", "sort", "fft", "convolution", "matmul")
"""The kernels by growing compute intensity."""
MIN_EDGE = 4  # below which a kernel measures nothing but its own overhead


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

    @property
    def task_name(self) -> str:
        """The program, under which times are kept."""
        return f"command:{self.words[0]}"

    def __call__(self, *arguments: object) -> str:
        """Run it without a shell; an exit code other than 0 is an error that quotes the end of standard error."""
        line, name = [*self.words, *(str(each) for each in arguments)], f"command '{self.words[0]}'"
        try:
            done = subprocess.run(  # noqa: S603  # words of the caller's own program, no shell
                line, capture_output=True, text=True, timeout=self.timeout, env=self.environment, check=False
            )
        except subprocess.TimeoutExpired:
            raise CommandError(f"{name} took longer than {self.timeout:g} s: raise timeout") from None
        except OSError as error:
            raise CommandError(f"{name} cannot be run ({error.strerror}): check its name") from None
        if done.returncode != 0:
            raise CommandError(f"{name} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
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
    nominal, task = nominal_intensity(kernel), kernel_task(kernel)
    seen = nominal if intensity is None else intensity
    return Job(number, task, (kernel, edge), {}, size, seen, memory, arrival, arrival, device_intensity=nominal)
