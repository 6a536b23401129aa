"""Built-in work: the kernels of the profiler, sized by a task, on any device that torch knows.

Which kernel a task runs follows from its compute intensity: the kernels stand in order of theirs, each has an equal
part of the range. A share of a task is the same kernel with that share of the operations, so that both shares of a
split task really run, side by side, on a GPU and a CPU.
"""

from __future__ import annotations

from functools import cache

from hybrid_scheduler.errors import unknown_name
from hybrid_scheduler.execution.performing import current_device
from hybrid_scheduler.execution.user_tasks import Work

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
