"""Libraries that are given our scheduler: joblib and scikit-learn, asyncio, SciPy, tqdm, Dask; the real ones."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator

import joblib
import numpy as np
import pytest
from scipy.optimize import differential_evolution
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

from hybrid_scheduler import HybridScheduler
from hybrid_scheduler.runtime import joblib_backend

DEADLINE = 300.0


@pytest.fixture(scope="module")
def scheduler() -> Iterator[HybridScheduler]:
    with HybridScheduler(devices="cpu*2") as scheduler:
        yield scheduler


def process_number(_: int) -> int:
    return os.getpid()


def fail(number: int) -> int:
    raise ValueError(f"no {number}")


def sphere(point: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    return float((point**2).sum())


def test_n_jobs_of_scikit_learn_uses_the_workers(scheduler: HybridScheduler) -> None:
    rng = np.random.default_rng(0)
    features = rng.random((300, 5))
    search = GridSearchCV(Ridge(), {"alpha": [1e-3, 1.0, 1e3]}, n_jobs=-1)
    with joblib.parallel_config(backend=joblib_backend.NAME, scheduler=scheduler):
        search.fit(features, features @ np.arange(5.0))
    assert search.best_params_ == {"alpha": 1e-3}
    assert any(name.startswith("joblib:sklearn") for name, _ in scheduler.times.histories)


def test_calls_of_joblib_run_in_workers_and_their_errors_come_back(scheduler: HybridScheduler) -> None:
    with joblib.parallel_config(backend=joblib_backend.NAME, n_jobs=2, scheduler=scheduler):
        pids = joblib.Parallel()(joblib.delayed(process_number)(number) for number in range(40))
        assert set(pids) <= set(scheduler.backend.pids)
        with pytest.raises(ValueError, match="no "):
            joblib.Parallel()(joblib.delayed(fail)(number) for number in range(10))
        squares = joblib.Parallel(return_as="generator")(joblib.delayed(pow)(number, 2) for number in range(9))
        assert list(squares) == [number**2 for number in range(9)]
    assert len(pids) == 40


def test_without_a_scheduler_joblib_gets_a_common_one(
    scheduler: HybridScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joblib_backend, "_default_scheduler", lambda: scheduler)
    with joblib.parallel_config(backend=joblib_backend.NAME):
        assert joblib.effective_n_jobs(-1) == 2
        assert joblib.Parallel(n_jobs=-1)(joblib.delayed(abs)(-number) for number in range(5)) == list(range(5))


def test_asyncio_runs_calls_in_it(scheduler: HybridScheduler) -> None:
    async def run() -> int:
        return await asyncio.get_running_loop().run_in_executor(scheduler, process_number, 0)

    assert asyncio.run(run()) in scheduler.backend.pids


def test_asyncio_takes_it_as_its_default_executor_which_leaves_it_open(scheduler: HybridScheduler) -> None:
    async def run() -> list[int]:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(scheduler.as_thread_pool())
        return [await loop.run_in_executor(None, process_number, 0), await asyncio.to_thread(process_number, 0)]

    assert set(asyncio.run(run())) <= set(scheduler.backend.pids)
    assert scheduler.submit(process_number, 0).result(DEADLINE) in scheduler.backend.pids


@pytest.mark.parametrize(("before", "after"), [("import joblib", ""), ("", "import joblib")])
def test_a_scheduler_is_known_to_joblib_whichever_is_imported_first(before: str, after: str) -> None:
    program = (
        f"{before}\nfrom hybrid_scheduler import HybridScheduler\n"
        "with HybridScheduler(devices='cpu') as scheduler:\n"
        f"  {after}\n"
        "  with joblib.parallel_config(backend='hybrid_scheduler', scheduler=scheduler):\n"
        "    print(joblib.Parallel(n_jobs=1)(joblib.delayed(abs)(-each) for each in range(3)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=DEADLINE
    )
    assert run.stdout == "[0, 1, 2]\n", run.stderr


def test_scipy_takes_its_map_as_workers(scheduler: HybridScheduler) -> None:
    found = differential_evolution(
        sphere, [(-1, 1)] * 2, workers=scheduler.map, updating="deferred", maxiter=3, popsize=4, polish=False, rng=0
    )
    assert found.fun < 0.2


def test_tqdm_counts_results_of_map(scheduler: HybridScheduler) -> None:
    from tqdm import tqdm

    with tqdm(scheduler.map(abs, range(-5, 0)), total=5, disable=None) as bar:
        assert list(bar) == [5, 4, 3, 2, 1]
