"""What figures are drawn from: a kept comparison with what can be computed from it, or a kept experiment."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hybrid_scheduler import runs, studies
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.experiments import Study
from hybrid_scheduler.race import Result
from hybrid_scheduler.reports.forest_check import Check, check_forest
from hybrid_scheduler.reports.kept import kept_devices, kept_replay
from hybrid_scheduler.reports.replay import Replay, replay

SCORE = "makespan_over_bound"  # not a number where no task ran


@dataclass(frozen=True)
class RunMaterial:
    """A comparison; its replay and its forests are made when the first figure needs them, and once."""

    result: Result
    manifest: dict[str, Any]
    directory: Path = Path()

    @cached_property
    def replay(self) -> Replay:
        """One seed, run again; of a measured run, as it was kept."""
        return kept_replay(self.result, self.directory) if self.measured else replay(self.result)

    @property
    def measured(self) -> bool:
        """Whether the tasks really ran."""
        return self.result.comparison.measured

    @cached_property
    def devices(self) -> list[str]:
        """Names of the devices of a measured run."""
        return kept_devices(self.directory)

    @cached_property
    def forests(self) -> Check:
        """Forests fitted on the comparison's workload."""
        return check_forest(self.result)


@dataclass(frozen=True)
class StudyMaterial:
    """An experiment."""

    study: Study
    manifest: dict[str, Any]


Material = RunMaterial | StudyMaterial


def load_material(directory: str | Path) -> Material:
    """Read a folder of `hms compare --out`, `hms run --out`, `hms experiment --out` or `hms capacity --out`."""
    if studies.is_study(directory):
        return StudyMaterial(*studies.load(directory))
    result = runs.load_result(directory)
    if not all(math.isfinite(value) for spec in result.comparison.schedulers for value in result.values(spec, SCORE)):
        raise InputError(f"{directory} has a seed in which no task ran: there is nothing to draw or report")
    return RunMaterial(result, runs.load_manifest(directory), Path(directory))
