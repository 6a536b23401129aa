"""The columns of our own tables of tasks, as text or as Parquet: what each means."""

from __future__ import annotations

from hybrid_scheduler.workload.formats.format import ASSUMED, IGNORED, MEASURED, Mapped

MAPPING = (
    Mapped("size, task_size", "size", MEASURED, "N, above 0"),
    Mapped("compute_intensity", "compute_intensity", MEASURED, "I, from 0 to 1"),
    Mapped("memory_required", "memory_required", MEASURED, "MB, 0 or more"),
    Mapped("task_id", "task_id", MEASURED, "whole number, unique; the row number if absent"),
    Mapped("arrival_time", "arrival_time", MEASURED, "seconds, 0 or more; 0 if absent"),
    Mapped("dependencies", "dependencies", MEASURED, "ids of parents, `1;2` or `[1, 2]`"),
    Mapped("dependency_megabytes", "dependencies", MEASURED, "MB from each parent, `0.5;3`; 0 if absent"),
    Mapped("duration_estimate", "duration_estimate", MEASURED, "seconds; the formula if absent or empty"),
    Mapped("time_<class>", "time_<class>", MEASURED, "seconds; `inf`: cannot run there; empty: the formula"),
    Mapped("expected_<class>", "expected_<class>", MEASURED, "seconds that policies are told; empty: the true ones"),
    Mapped("feature_<name>", "feature_<name>", MEASURED, "a further number that models may learn from, or empty"),
    Mapped("any other", "", IGNORED),
    Mapped("", "duration_estimate", ASSUMED, "k·N^1.5/(I + 0.5) where the file has none"),
)
