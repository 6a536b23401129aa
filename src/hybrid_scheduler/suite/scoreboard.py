"""The scoreboard: policies × instances, each makespan over the best known value or the certified bound."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from hybrid_scheduler.files import written_whole
from hybrid_scheduler.suite.score import Score

BEST_KNOWN, BOUND = "best known", "bound"
TIE = 1e-9  # makespans that differ by less, relatively, share a win


@dataclass(frozen=True)
class Line:
    """What is said about an instance: where it is from, how large it is, and what makespans are held against."""

    instance: str
    format: str
    tasks: int
    edges: int
    rows: int  # of the file
    skipped: dict[str, int]
    cluster: str
    bound: float
    best_known: float = math.nan

    @property
    def against(self) -> str:
        """Which of the two values makespans are divided by."""
        return BOUND if math.isnan(self.best_known) else BEST_KNOWN

    @property
    def reference(self) -> float:
        """The value itself."""
        return self.bound if math.isnan(self.best_known) else self.best_known


@dataclass(frozen=True)
class Standing:
    """A policy over all instances on which it came to an end."""

    policy: str
    instances: int
    mean: float  # geometric mean of the ratios
    worst: float
    wins: int  # instances on which nobody was shorter
    seconds: float


@dataclass(frozen=True)
class Scoreboard:
    """All lines and all scores, in the order in which instances and policies were named."""

    lines: tuple[Line, ...]
    policies: tuple[str, ...]
    scores: tuple[Score, ...]

    def cell(self, policy: str, instance: str) -> list[Score]:
        """Return the scores of a policy on an instance, one a seed."""
        return [each for each in self.scores if (each.policy, each.instance) == (policy, instance)]

    def mean(self, policy: str, instance: str, name: str) -> float:
        """Return the mean of a measure over the seeds; NaN where the policy came to no end."""
        values = [float(getattr(each, name)) for each in self.cell(policy, instance)]
        return float(np.mean(values)) if values else math.nan

    def ratio(self, policy: str, line: Line) -> float:
        """Return makespan / best known value or bound."""
        return self.mean(policy, line.instance, "makespan") / line.reference if line.reference > 0 else math.nan

    def problem(self, policy: str, instance: str) -> str:
        """Return why a policy came to no end on an instance; empty if it did."""
        return next((each.problem for each in self.cell(policy, instance) if each.problem), "")

    def standings(self) -> list[Standing]:
        """Return the policies, best geometric mean first; who came to an end on fewer instances stands below."""
        found = [self._standing(policy) for policy in self.policies]
        return sorted(found, key=lambda each: (-each.instances, each.mean, each.policy))

    def _standing(self, policy: str) -> Standing:
        ratios = np.array([self.ratio(policy, line) for line in self.lines])
        ended = ratios[np.isfinite(ratios)]
        return Standing(
            policy,
            len(ended),
            float(np.exp(np.log(ended).mean())) if len(ended) else math.nan,
            float(ended.max(initial=0.0)) if len(ended) else math.nan,
            sum(self._wins(policy, line) for line in self.lines),
            float(np.nansum([self.mean(policy, line.instance, "seconds") for line in self.lines])),
        )

    def _wins(self, policy: str, line: Line) -> bool:
        everyone = [self.mean(each, line.instance, "makespan") for each in self.policies]
        return bool(self.mean(policy, line.instance, "makespan") <= np.nanmin(everyone, initial=np.inf) * (1 + TIE))


def write_csv(board: Scoreboard, path: str | Path) -> None:
    """Write one line for every instance, policy and seed."""
    lines = {line.instance: line for line in board.lines}
    own = [each.name for each in fields(Score)]
    with written_whole(path) as scratch, scratch.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*own[:3], "makespan_over_reference", "reference", "against", "bound", *own[3:]])
        for score in _sorted(board):
            line, values = lines[score.instance], list(asdict(score).values())
            ratio = score.makespan / line.reference if line.reference > 0 else math.nan
            writer.writerow([*values[:3], ratio, line.reference, line.against, line.bound, *values[3:]])


def _sorted(board: Scoreboard) -> Iterable[Score]:
    places = {line.instance: number for number, line in enumerate(board.lines)}
    ranks = {policy: number for number, policy in enumerate(board.policies)}
    return sorted(board.scores, key=lambda each: (places[each.instance], ranks[each.policy], each.seed))
