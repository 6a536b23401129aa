"""Your own work on devices that a policy chooses: `python examples/own_tasks.py [local|ray] [devices]`.

Without a GPU `gpu=emulated` stands for one: a CPU worker that is slow at some tasks and fast at others.
"""

# ruff: noqa: T201  # an example that prints what it finds

import sys
from concurrent.futures import as_completed

from hybrid_scheduler import HybridScheduler, task


@task(size=lambda count: count, intensity=0.9)
def inside(count: int) -> int:
    """Count the points of a square of `count` × `count` that lie in its circle."""
    return _rows(0, count, count)


@inside.on("gpu")  # the implementation for GPUs, with torch in real life
def inside_on_gpu(count: int) -> int:
    """Count the same points another way."""
    return _rows(0, count // 2, count) + _rows(count // 2, count, count)


@inside.share  # with these two a policy may split a task between a GPU and a CPU
def some_rows(begin: float, end: float, count: int) -> int:
    """Count the points of some of the rows."""
    return _rows(round(begin * count), round(end * count), count)


@inside.combine
def add_parts(gpu_part: int, cpu_part: int) -> int:
    """Combine both parts into one result."""
    return gpu_part + cpu_part


def _rows(first: int, last: int, count: int) -> int:
    middle, limit = (count - 1) / 2, (count / 2) ** 2
    return sum((x - middle) ** 2 + (y - middle) ** 2 <= limit for x in range(first, last) for y in range(count))


def main(backend: str = "local", devices: str = "cpu,gpu=emulated:slowdown=1") -> None:
    """Run tasks of several sizes and print where the next one would run."""
    with HybridScheduler(policy="eft", backend=backend, devices=devices) as scheduler:
        sizes = {scheduler.submit(inside, count): count for count in (100, 200, 300, 100, 200, 300)}
        for future in as_completed(sizes, timeout=120):
            count = sizes[future]
            print(f"{count:4} × {count}: pi is about {4 * future.result() / count**2:.3f}")
        total = scheduler.submit(sum, [1, 2, 3])
        print("futures are arguments too:", scheduler.submit(max, total, 5).result(timeout=60))
        explained = scheduler.explain(inside, 250)
        names = [each.label for each in scheduler.devices]
        print(f"250 would go to {names[explained.device]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
