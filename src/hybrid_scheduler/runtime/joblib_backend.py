"""The backend `hybrid_scheduler` of joblib, registered by importing this module: `n_jobs` of scikit-learn uses it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from typing import Any

from joblib import register_parallel_backend
from joblib.parallel import AutoBatchingMixin, ParallelBackendBase, SequentialBackend

from hybrid_scheduler.runtime.executor import HybridScheduler
from hybrid_scheduler.runtime.jobs import TaskFunction

NAME = "hybrid_scheduler"


@cache
def _default_scheduler() -> HybridScheduler:
    """Return the scheduler of all calls that name none; its workers end with the interpreter."""
    return HybridScheduler()


class HybridBackend(AutoBatchingMixin, ParallelBackendBase):  # type: ignore[misc]  # joblib has no types
    """Runs the batches of joblib on a scheduler; times are learnt by the function inside."""

    supports_retrieve_callback = True
    supports_inner_max_num_threads = False
    default_n_jobs = -1

    def __init__(self, scheduler: HybridScheduler | None = None, nesting_level: int | None = None, **_: Any) -> None:
        super().__init__(nesting_level=nesting_level)
        self._scheduler = scheduler
        self._futures: set[Future[Any]] = set()

    @property
    def scheduler(self) -> HybridScheduler:
        """The scheduler that was named, or a common one with the devices of this machine."""
        return self._scheduler or _default_scheduler()

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """Return how many calls run at once."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        workers = len(self.scheduler.devices)
        wanted = 1 if n_jobs is None else n_jobs
        return max(1, workers + 1 + wanted) if wanted < 0 else min(wanted, workers)

    def submit(self, func: Any, callback: Callable[[Future[Any]], None] | None = None) -> Future[Any]:
        """Submit a batch of calls."""
        name = TaskFunction(func.items[0][0]).name if func.items else NAME
        future = self.scheduler.submit(TaskFunction(_run_batch, size=len, name=f"joblib:{name}"), func)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, out: Future[Any]) -> Any:
        """Return the results of a batch, or raise what it raised."""
        return out.result()

    def get_nested_backend(self) -> tuple[Any, int | None]:
        """Return what parallel calls inside of a call use: a worker has one thread."""
        return SequentialBackend(nesting_level=(self.nesting_level or 0) + 1), None

    def abort_everything(self, ensure_ready: bool = True) -> None:  # the scheduler stays as it is
        """Cancel what has not begun."""
        for each in list(self._futures):
            each.cancel()


def _run_batch(batch: Callable[[], list[Any]]) -> list[Any]:
    return batch()


register_parallel_backend(NAME, HybridBackend)
