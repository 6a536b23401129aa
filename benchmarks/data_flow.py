"""Data that stays where it was made: chains of large arrays, fits on one array, Cholesky of blocks."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import psutil
from sklearn.linear_model import Ridge

from benchmarks.rows import BenchmarkError, Row, require
from hybrid_scheduler import HybridScheduler
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.runtime.ray_backend import connect_ray, import_ray

WORKERS, REPEATS = 2, 3
CHAINS, CHAIN_BYTES = 200, 8_000_000
FITS, FIT_SHAPE = 60, (20_000, 100)  # 16 MB
BLOCKS = ((8, 256), (6, 768))
MAX_DRIVER_MB = 200.0
Submit = Callable[..., Any]


@dataclass
class Cost:
    """Best wall and CPU seconds of all processes, and the most MB that the driver grew by."""

    wall: float = float("inf")
    cpu: float = float("inf")
    driver_mb: float = 0.0

    def add(self, wall: float, cpu: float, driver_mb: float) -> None:
        self.wall, self.cpu = min(self.wall, wall), min(self.cpu, cpu)
        self.driver_mb = max(self.driver_mb, driver_mb)


def _cpu_seconds(process: psutil.Process) -> float:
    """Return the CPU seconds of a process and of those that it has started, dead ones included."""
    own = process.cpu_times()
    total = own.user + own.system + own.children_user + own.children_system
    for child in process.children():
        try:
            total += _cpu_seconds(child)
        except psutil.NoSuchProcess:
            continue
    return float(total)


def _measure(costs: dict[str, Cost], name: str, work: Callable[[], Any]) -> Any:
    process = psutil.Process()
    memory, cpu, begin = process.memory_info().rss, _cpu_seconds(process), time.perf_counter()
    result = work()
    wall = time.perf_counter() - begin
    grown = (process.memory_info().rss - memory) / 1e6
    costs.setdefault(name, Cost()).add(wall, _cpu_seconds(process) - cpu, grown)
    return result


def _compare(sides: dict[str, Callable[[], Any]], check: Callable[[Any, Any], bool]) -> dict[str, Cost]:
    """Run the sides in turns; all must come to the result of the first."""
    for work in sides.values():
        work()  # imports, compiles and learns
    costs = dict[str, Cost]()
    for _ in range(REPEATS):
        found = {name: _measure(costs, name, work) for name, work in sides.items()}
        for name, result in found.items():
            require(check(result, next(iter(found.values()))), f"{name} has another result")
    return costs


@contextmanager
def _ours() -> Iterator[HybridScheduler]:
    with HybridScheduler(devices=f"cpu*{WORKERS}") as scheduler:
        yield scheduler


@contextmanager
def _dask() -> Iterator[Any]:
    import dask
    from distributed import Client

    dask.config.set({"distributed.admin.tick.limit": "1h", "distributed.logging.distributed": "error"})
    with Client(  # type: ignore[no-untyped-call]  # Dask is typed in parts
        n_workers=WORKERS, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR, memory_limit=0
    ) as client:
        yield client


@contextmanager
def _ray() -> Iterator[Any]:
    try:
        connect_ray("local", num_cpus=WORKERS)
    except InputError as error:
        raise BenchmarkError(str(error)) from error
    ray = import_ray()
    try:
        yield ray
    finally:
        ray.shutdown()


# --- 200 arrays of 8 MB in three stages ----------------------------------------------------------------------------


def make_array(seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.arange(CHAIN_BYTES // 8, dtype=np.float64) + seed


def scale_array(array: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return array * 0.5


def sum_arrays(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    return float((one + other).sum())


def _run_chains(submit: Submit, gather: Callable[[Sequence[Any]], list[float]]) -> list[float]:
    made = [submit(make_array, seed) for seed in range(CHAINS)]
    scaled = [submit(scale_array, each) for each in made]
    sums = [submit(sum_arrays, one, other) for one, other in zip(scaled, made, strict=True)]
    del made, scaled
    return gather(sums)


def _results(futures: Sequence[Future[Any]]) -> list[Any]:
    return [each.result() for each in futures]


def large_chains() -> list[Row]:
    """Run 200 chains of 8 MB in three stages with futures as arguments: CPU, wall time and memory of the driver."""
    with _ours() as scheduler, _dask() as client:

        def run_dask() -> list[float]:
            return _run_chains(lambda *call: client.submit(*call, pure=False), client.gather)

        sides = {"ours": lambda: _run_chains(scheduler.submit, _results), "dask": run_dask}
        costs = _compare(sides, lambda one, other: bool(one == other))
    ours, dask = costs["ours"], costs["dask"]
    return [
        Row("large_chains_wall", ours.wall, dask.wall, "s", 1.0, at_most=True),
        Row("large_chains_cpu", ours.cpu, dask.cpu, "CPU s", 1.0, at_most=True),
        Row("large_chains_driver", ours.driver_mb, MAX_DRIVER_MB, "MB", 1.0, at_most=True),
    ]


# --- 60 fits on one array of 16 MB ---------------------------------------------------------------------------------


def fit(features: np.ndarray[Any, Any], target: np.ndarray[Any, Any], alpha: float) -> float:
    return float(Ridge(alpha=alpha).fit(features, target).coef_.sum())


def shared_fits() -> list[Row]:
    """Fit 60 models on one array of 16 MB: through our backend of joblib, and through loky."""
    from joblib import Parallel, delayed, parallel_config

    from hybrid_scheduler.runtime import joblib_backend  # noqa: F401  # registers it

    rng = np.random.default_rng(0)
    features, alphas = rng.standard_normal(FIT_SHAPE), np.linspace(0.1, 9.0, FITS)
    target = features @ rng.standard_normal(FIT_SHAPE[1])

    def run(backend: str, **options: Any) -> Any:
        with parallel_config(backend, n_jobs=WORKERS, **options):
            return Parallel()(delayed(fit)(features, target, alpha) for alpha in alphas)

    with _ours() as scheduler:
        sides = {
            "loky": lambda: run("loky"),
            "ours": lambda: run("hybrid_scheduler", scheduler=scheduler),
            "submit": lambda: _results([scheduler.submit(fit, features, target, alpha) for alpha in alphas]),
        }
        costs = _compare(sides, lambda one, other: bool(np.allclose(one, other)))
    return [
        Row("shared_fits_joblib", costs["ours"].wall, costs["loky"].wall, "s", 1.1, at_most=True),
        Row("shared_fits_submit", costs["submit"].wall, costs["loky"].wall, "s", 1.1, at_most=True),
    ]


# --- Cholesky of real blocks ---------------------------------------------------------------------------------------


def factor(diagonal: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.linalg.cholesky(diagonal)


def solve(block: np.ndarray[Any, Any], lower: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    from scipy.linalg import solve_triangular

    solved: np.ndarray[Any, Any] = solve_triangular(lower, block.T, lower=True).T
    return np.ascontiguousarray(solved)


def update(
    block: np.ndarray[Any, Any], left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    updated: np.ndarray[Any, Any] = block - left @ right.T
    return updated


def make_blocks(count: int, edge: int) -> dict[tuple[int, int], np.ndarray[Any, Any]]:
    """Return the blocks on and below the diagonal of a positive definite matrix."""
    rng = np.random.default_rng(0)
    blocks = {(row, column): rng.random((edge, edge)) for row in range(count) for column in range(row + 1)}
    for each in range(count):
        blocks[each, each] = (blocks[each, each] + blocks[each, each].T) / 2 + count * edge * np.eye(edge)
    return blocks


def factorize(submit: Submit, blocks: dict[tuple[int, int], Any], count: int) -> dict[tuple[int, int], Any]:
    """Submit the tasks of a tiled Cholesky factorisation; return what stands for its blocks."""
    found = dict(blocks)
    for step in range(count):
        found[step, step] = submit(factor, found[step, step])
        for row in range(step + 1, count):
            found[row, step] = submit(solve, found[row, step], found[step, step])
        for row in range(step + 1, count):
            for column in range(step + 1, row + 1):
                found[row, column] = submit(update, found[row, column], found[row, step], found[column, step])
    return found


def _sum_blocks(found: dict[tuple[int, int], Any], gather: Callable[[list[Any]], list[Any]]) -> float:
    return float(sum(each.sum() for each in gather(list(found.values()))))


def block_cholesky() -> list[Row]:
    """Factor matrices of real blocks: against Dask and against Ray."""
    rows = list[Row]()
    with _ours() as scheduler, _dask() as client, _ray() as ray:
        remote = {each: ray.remote(each) for each in (factor, solve, update)}
        for count, edge in BLOCKS:
            blocks = make_blocks(count, edge)

            def run_ours() -> float:
                return _sum_blocks(factorize(scheduler.submit, blocks, count), _results)  # noqa: B023  # called now

            def run_dask() -> float:
                found = factorize(lambda *call: client.submit(*call, pure=False), blocks, count)  # noqa: B023
                return _sum_blocks(found, client.gather)

            def run_ray() -> float:
                found = factorize(lambda function, *call: remote[function].remote(*call), blocks, count)  # noqa: B023
                return _sum_blocks(found, ray.get)

            costs = _compare(
                {"ours": run_ours, "dask": run_dask, "ray": run_ray}, lambda a, b: bool(np.isclose(a, b))
            )
            name = f"cholesky_{count}x{count}_of_{edge}"
            rows += [
                Row(f"{name}_vs_dask", costs["ours"].wall, costs["dask"].wall, "s", 0.9, at_most=True),
                Row(f"{name}_vs_ray", costs["ours"].wall, costs["ray"].wall, "s", 1.2, at_most=True),
            ]
    return rows
