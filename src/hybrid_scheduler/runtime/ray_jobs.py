"""Jobs on a Ray cluster: each is done once, on whichever node has a core, and a node that dies takes none with it."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.runtime.ray_backend import connected, ray_module
from hybrid_scheduler.workers import Outcome

AGAIN = 3  # times that a job is tried again whose node died
WAITING = 2  # jobs per core that are with the cluster at once: enough to keep it busy, few enough to stop


def on_ray(address: str) -> Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Outcome]]:
    """Do jobs on the cluster at an address; `local` starts one on this machine, `auto` finds the one that runs."""

    def carry(work: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[Outcome]:
        if not jobs:
            return
        started = connected(address)
        try:
            yield from _carried_out(ray_module(), work, jobs)
        finally:
            if started:
                ray_module().shutdown()

    return carry


def _carried_out(ray: Any, work: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[Outcome]:
    task = ray.remote(_performed).options(num_cpus=1, max_retries=AGAIN)
    room = max(1, int(WAITING * ray.cluster_resources().get("CPU", 1)))
    waiting, under_way = iter(enumerate(jobs)), dict[Any, int]()
    while True:
        while len(under_way) < room and (following := next(waiting, None)) is not None:
            under_way[task.remote(pickle.dumps((work, following[1])), sys.path)] = following[0]
        if not under_way:
            return
        for reference in ray.wait(list(under_way), num_returns=1)[0]:
            yield _outcome(ray, under_way.pop(reference), reference)


def _outcome(ray: Any, number: int, reference: Any) -> Outcome:
    try:
        value, problem = ray.get(reference)
    except ray.exceptions.RayError as error:
        return Outcome(number, problem=f"it failed on the cluster ({type(error).__name__}: {_first_line(error)})")
    return Outcome(number, value, problem)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), "")[:200]


def _performed(packed: bytes, path: list[str]) -> tuple[Any, str]:
    """Do a job on a node; `path` is where its modules are, for nodes of the same machine."""
    sys.path.extend(each for each in path if each not in sys.path)
    work, job = pickle.loads(packed)  # noqa: S301  # from our own driver; unpacked when its modules can be found
    try:
        return work(job), ""
    except SchedulerError as error:
        return None, str(error)
