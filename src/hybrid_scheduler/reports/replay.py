"""One seed of a comparison, run again: measures are kept, placements are not, and a seed repeats to the last bit."""

from __future__ import annotations

from dataclasses import dataclass

from hybrid_scheduler.model.placements import Placements
from hybrid_scheduler.model.tasks import Tasks
from hybrid_scheduler.race import Result, race

MOST_TASKS = 4000
"""Tasks of a replay: what comes later decides nothing about these, and a learner takes milliseconds for each."""


@dataclass(frozen=True)
class Replay:
    """The tasks of one seed and what every scheduler did with them."""

    seed: int
    tasks: Tasks
    placements: dict[str, Placements]
    whole: bool  # all tasks of the seed, not only the first ones
    same: bool  # whole, and every makespan is the kept one to the last bit
    measured: bool = False  # it really ran, and its placements were kept

    @property
    def how(self) -> str:
        """How it came about, in a word."""
        return "measured" if self.measured else "simulated"

    @property
    def ranking(self) -> list[str]:
        """Schedulers, shortest makespan first."""
        return sorted(self.placements, key=lambda spec: self.placements[spec].makespan)


def replay(result: Result, seed: int | None = None) -> Replay:
    """Run one seed of a comparison again, the first one by default."""
    comparison = result.comparison
    number = comparison.seeds[0] if seed is None else seed
    tasks = comparison.source.tasks(number, comparison.cluster)
    whole = tasks.has_edges or len(tasks) <= MOST_TASKS
    tasks = tasks if whole else tasks.part(0, MOST_TASKS)
    raced = race(tasks, comparison.schedulers, comparison.cluster, comparison.mode, number)
    placements = {spec: each[0] for spec, each in raced.items()}
    return Replay(number, tasks, placements, whole, whole and _same(result, number, placements))


def _same(result: Result, seed: int, placements: dict[str, Placements]) -> bool:
    kept = next((each for each in result.outcomes if each.seed == seed), None)
    return kept is not None and all(
        each.makespan == kept.measures[spec]["makespan"] for spec, each in placements.items()
    )


def replayed(found: Result | Replay) -> Replay:
    """Return a replay, running one if a comparison was given."""
    return found if isinstance(found, Replay) else replay(found)
