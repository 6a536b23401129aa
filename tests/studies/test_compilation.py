"""Loops that are not in the cache are compiled before the first seed, one process for each kind of loop."""

import pickle
from pathlib import Path

import pytest

from hybrid_scheduler.core import compiler
from hybrid_scheduler.core.simulator import VirtualMultiGPU, needs_compiling
from hybrid_scheduler.registry import schedulers
from hybrid_scheduler.studies import compilation
from hybrid_scheduler.studies.compare import Comparison
from hybrid_scheduler.workloads.source import Source

SOURCE = Source.of("mixed", 20, None, None, None, "", "", False)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[compilation.Sample]:
    """What child processes are given, in a machine of two cores that has compiled nothing yet."""
    given: list[compilation.Sample] = []
    monkeypatch.setenv("HMS_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiler, "_loops", {})
    monkeypatch.setattr(compilation, "core_count", lambda: 2)

    def keep_jobs(work: object, samples: list[compilation.Sample], *limits: object) -> list[object]:
        given.extend(samples)
        return []

    monkeypatch.setattr(compilation, "run_jobs", keep_jobs)
    return given


def prepare(*names: str, mode: str = "queued") -> None:
    comparison = Comparison(SOURCE, names, mode=mode)
    compilation.compile_loops(comparison, SOURCE.tasks(0, comparison.cluster))


def test_each_kind_of_loop_gets_a_process_and_one_of_them_the_bounds(jobs: list[compilation.Sample]) -> None:
    prepare("eft", "spt", "price")
    assert [(job.schedulers, job.certifies) for job in jobs] == [
        (("spt",), False),
        (("eft", "price", "oracle"), True),
    ]
    assert pickle.loads(pickle.dumps(jobs)) == jobs  # noqa: S301  # our own


def test_listeners_hear_of_it_once(jobs: list[compilation.Sample], monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    monkeypatch.setattr(compiler, "on_compile", [heard.append])
    prepare("eft", "spt")
    assert jobs
    assert heard == ["eft"]


@pytest.mark.parametrize(("names", "mode"), [(["eft", "price"], "queued"), (["eft", "spt"], "isolated")])
def test_loops_of_one_kind_are_compiled_by_the_comparison_itself(
    jobs: list[compilation.Sample], names: list[str], mode: str
) -> None:
    prepare(*names, mode=mode)
    assert jobs == []


def test_what_is_in_the_cache_is_not_compiled_again(jobs: list[compilation.Sample]) -> None:
    for name in ("eft", "oracle"):
        compiler._marker(*_key(name)).touch()
    prepare("eft", "spt")
    assert jobs == []


def test_a_loop_that_ran_needs_no_compiling() -> None:
    eft = schedulers.create("eft")
    VirtualMultiGPU(4).run(SOURCE.tasks(0, VirtualMultiGPU(4).cluster), eft)
    assert not needs_compiling(eft, ordered=False)


def _key(name: str) -> tuple[str, tuple[str, ...]]:
    from hybrid_scheduler.core.simulator import _find_loop

    policy = schedulers.create(name)
    return compiler._name_loop(*_find_loop(policy), policy, compiler._public_state(policy))
