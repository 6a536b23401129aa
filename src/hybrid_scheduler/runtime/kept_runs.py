"""What other policies would have made of a kept run: each simulates its very tasks, several at a time.

Simulating takes little; compiling what a policy needs takes seconds. So what takes longest begins, and a loop is
interpreted where that is cheaper, which gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from hybrid_scheduler import registry
from hybrid_scheduler.bounds.makespan import lower_bound, verify_bound
from hybrid_scheduler.core.compiler import limit_cores
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.processes import run_jobs
from hybrid_scheduler.runtime.record import KeptRun
from hybrid_scheduler.schedulers.scheduler import plans_batches
from hybrid_scheduler.studies.pretraining import load_or_train

Progress = Callable[[int, int, str], None]
"""Called with how much is done, of how much, and what is at work."""
BOUND = "bound"
"""What is computed beside the policies; none of them is called so."""
POLICIES_FOR_PROCESSES = 8
"""Policies from which starting processes, which takes seconds, pays off."""
TIME_LIMIT = 3600.0
"""Seconds after which a policy that is not done in its process is run again in the caller's."""


class Certificate(NamedTuple):
    """The bound of the makespan; `verified`: other code has checked it."""

    makespan: float
    verified: bool


def simulate_kept_run(
    run: KeptRun, specs: Iterable[str], seed: int = 0, processes: int = 1, progress: Progress | None = None
) -> tuple[Certificate, dict[str, Placements]]:
    """Return the certified bound of a kept run, and what every policy makes of its tasks."""
    specs = tuple(dict.fromkeys(specs))
    parts = [BOUND, *sort_longest_first(specs)]
    tell = progress or (lambda _done, _total, _what: None)
    compute = _compute_in_processes if processes > 1 and len(specs) >= POLICIES_FOR_PROCESSES else _compute_here
    found = dict(compute(run, seed, parts, processes, tell))
    return found[BOUND], {spec: found[spec] for spec in specs}


def sort_longest_first(specs: Sequence[str]) -> list[str]:
    """Return policies as several processes take them: what is compiled longest goes first, nothing of it twice."""

    def rank(spec: str) -> int:
        policy, entry = registry.schedulers.create(spec), registry.schedulers.table.get(spec.partition(":")[0])
        if entry is not None and entry.kind == "clairvoyant search":
            return 0
        if policy.learn_every:
            return 1
        return 2 if plans_batches(policy) or hasattr(policy, "pick") else 3

    ranks = {spec: rank(spec) for spec in specs}
    first, *others = sorted(specs, key=ranks.__getitem__)
    searches = [spec for spec in others if ranks[spec] == 0]  # by then the first one has compiled what all need
    return [first, *(spec for spec in others if ranks[spec] > 0), *searches]


def _compute_here(
    run: KeptRun, seed: int, parts: Sequence[str], _processes: int, tell: Progress
) -> Iterator[tuple[str, Any]]:
    """Yield every part with its result, one after another."""
    for done, part in enumerate(parts):
        tell(done, len(parts), part)
        yield part, _compute(run, seed, part)
    tell(len(parts), len(parts), "")


def _compute_in_processes(
    run: KeptRun, seed: int, parts: Sequence[str], processes: int, tell: Progress
) -> Iterator[tuple[str, Any]]:
    """Yield every part with its result as it comes."""
    left = list(parts)
    tell(0, len(parts), ", ".join(left[:processes]))
    for outcome in run_jobs(partial(_compute_alone, run, seed), parts, processes, TIME_LIMIT):
        part = parts[outcome.number]
        # What failed in a process fails again here, with its own error.
        yield part, _compute(run, seed, part) if outcome.value is None else outcome.value
        left.remove(part)
        tell(len(parts) - len(left), len(parts), ", ".join(left[:processes]))


def _compute_alone(run: KeptRun, seed: int, part: str) -> Certificate | Placements:
    """Compute a part in a process that shares the machine with others."""
    limit_cores(1)
    return _compute(run, seed, part)


def _compute(run: KeptRun, seed: int, part: str) -> Certificate | Placements:
    if part == BOUND:
        bound = lower_bound(run.tasks, run.cluster)
        return Certificate(bound.makespan, verify_bound(bound, run.tasks, run.cluster))
    lane = Lane(load_or_train(part, run.cluster, seed), VirtualMultiGPU(cluster=run.cluster))
    return lane.run(run.tasks)  # a learner learns from what has ended
