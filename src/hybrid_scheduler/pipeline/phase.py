"""What a phase is: options it follows from, phases whose results it reads, results it owns, and the work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.pipeline.options import Options
from hybrid_scheduler.profiling.calibration import cluster_of
from hybrid_scheduler.profiling.profile_file import load_profile

PROFILE = "data/profiles/hardware_profile.json"
TRAINING_TRACE = "data/workload_traces/training_workload.csv"
TEST_TRACE = "data/workload_traces/test_workload.csv"
MODEL, FOREST, AGENT = "models/scheduler_model.pkl", "models/forest.model", "models/agent.pth"
RESULTS = "data/results"
DECISIONS, COMPARISON = f"{RESULTS}/scheduling_results.csv", f"{RESULTS}/comparison"
TRAINING_SEED, TEST_SEED = 1000, 2000
"""Added to the seed of the pipeline, so that nobody is judged on tasks that it has learnt from."""
COMMON = ("seed", "machine", "gpus", "mode")
Step = Callable[[int, int], None]


@dataclass(frozen=True)
class Work:
    """What a phase is handed: its options, finished results to read, an empty folder to write to."""

    options: Options
    root: Path
    made: Path
    step: Step = lambda _done, _total: None

    def source(self, place: str) -> Path:
        """Return the path of a result of an earlier phase."""
        return self.root / place

    def target(self, place: str) -> Path:
        """Return the path to which a result is written."""
        path = self.made / place
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    @property
    def cluster(self) -> Cluster:
        """The cluster that is simulated."""
        gpus = self.options.gpus
        if self.options.machine == "profile":
            return cluster_of(load_profile(self.source(PROFILE)), gpus)
        return Cluster.default(4 if gpus is None else gpus)


@dataclass(frozen=True)
class Found:
    """What came of a phase in figures: those that follow from the inputs, and those that a clock has told."""

    facts: dict[str, Any] = field(default_factory=dict)
    measured: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Phase:
    """One of the five."""

    name: str
    title: str
    options: tuple[str, ...]  # names of options or sections
    places: tuple[str, ...]  # files and folders that belong to it
    run: Callable[[Work], Found]
    reads: tuple[str, ...] = ()  # results of earlier phases
    brought: Callable[[Options], tuple[str, ...]] = lambda _options: ()  # files of the user that it reads

    def read_by(self, options: Options) -> tuple[str, ...]:
        """Return what is read with these options."""
        profiled = options.machine == "profile" and "machine" in self.options
        return (*self.reads, PROFILE) if profiled else self.reads
