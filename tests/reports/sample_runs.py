"""Small runs that the tests of figures and reports share."""

from __future__ import annotations

from functools import cache

from hybrid_scheduler.reports.data import ExperimentData, JobsData, RunData
from hybrid_scheduler.reports.document import Document
from hybrid_scheduler.reports.reporting import build_document
from hybrid_scheduler.studies.compare import Comparison, Result, compare
from hybrid_scheduler.studies.experiments import ExperimentResult
from hybrid_scheduler.studies.jobs import JobStudy, run_jobs
from hybrid_scheduler.studies.results import describe_environment
from hybrid_scheduler.workloads.source import Source

SPECS = ("round_robin", "greedy", "oracle", "eft", "hybrid_ml:online=false")


@cache
def run_comparison(mode: str = "queued", seeds: int = 3, specs: tuple[str, ...] = SPECS) -> Result:
    """Run a small comparison."""
    return compare(Comparison(Source.of("mixed", 120), specs, mode=mode, seeds=tuple(range(seeds))))


@cache
def build_run_data(mode: str = "queued", seeds: int = 3, specs: tuple[str, ...] = SPECS) -> RunData:
    """Return the data behind figures of a comparison."""
    manifest = {
        "version": "0.1.0",
        "command": ["hms", "compare", "mixed", "-n", "120"],
        "sha256": {"measures.csv": "0" * 64},
        "environment": describe_environment(),
    }
    return RunData(run_comparison(mode, seeds, specs), manifest)


@cache
def build_run_document() -> Document:
    """Return the report of the comparison with all its figures, which take seconds to draw."""
    return build_document(build_run_data())


@cache
def build_experiment_data(name: str) -> ExperimentData:
    """Return an experiment with synthetic rows; real ones take minutes."""
    measures, x_name, places = EXPERIMENTS[name]
    experiment = ExperimentResult(name, x_name, measures)
    for seed in range(3):
        for number, x in enumerate(places):
            for position, series in enumerate(("hybrid_ml", "eft", "static forest")):
                value = 1.0 + 0.1 * position + 0.3 * number + 0.01 * seed
                experiment.add(series, x, seed, **dict.fromkeys(measures, value))
    manifest = {"version": "0.1.0", "command": ["hms", "experiment", name], "sha256": {}, "cluster": "1 node"}
    return ExperimentData(experiment, manifest)


@cache
def build_jobs_data() -> JobsData:
    """Return a small run of wide jobs, one of its policies with interruptions."""
    study = JobStudy.read(
        ["training_jobs"], orders=("fcfs", "las"), backfilling=("easy",), window_jobs=60, seeds=(0, 1)
    )
    manifest = {"version": "0.1.0", "command": ["hms", "jobs", "training_jobs"], "sha256": {}}
    return JobsData(run_jobs(study), manifest)


EXPERIMENTS: dict[str, tuple[tuple[str, ...], str, tuple[float | str, ...]]] = {
    "load": (("makespan_over_bound", "mean_turnaround"), "offered load", (0.2, 0.8, 1.2, 1.6, 2.0)),
    "turnaround": (("turnaround_over_bound",), "workload and load", ("long_tail, 0.9", "gpu_friendly, 0.9")),
    "learning": (("makespan_over_bound", "regret"), "tasks seen", (2000, 4000)),
    "pareto": (("mean_turnaround", "energy", "cost"), "energy weight", (0.0, 0.5, 1.0)),
    "capacity": (("capacity", "load"), "workload", ("mixed",)),
    "shift": (("total_time", "over_optimum", "static_over_this"), "phase", ("after the shift",)),
}
"""Measures, name of x and its values."""
