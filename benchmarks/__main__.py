"""Run all benchmarks, or those named: `python -m benchmarks eft_vs_c linear_time`."""

from __future__ import annotations

import importlib
import sys

from rich.console import Console

from benchmarks import report
from benchmarks.rows import BenchmarkError, Row

BENCHMARKS = {
    "eft_vs_simpy": "against_simpy:eft_vs_simpy",
    "eft_vs_c": "against_c:eft_vs_c",
    "spt_vs_c": "against_c:spt_vs_c",
    "linear_time": "scaling:linear_time",
    "growth_in_devices": "scaling:growth_in_devices",
    "policies_vs_eft": "policies:policies_vs_eft",
    "memory_per_task": "memory:memory_per_task",
    "million_jobs": "wide_jobs:million_jobs",
    "bound_vs_race": "bound:bound_vs_race",
    "turnaround_bound_vs_race": "bound:turnaround_bound_vs_race",
    "min_min_vs_python": "batch:min_min_vs_python",
    "search_vs_bound": "batch_search:search_vs_bound",
    "interpreted_loop": "interpreted:interpreted_loop",
    "forest_decision": "learners:forest_decision",
    "dqn_decision": "learners:dqn_decision",
    "agent_on_a_matrix": "learners:agent_on_a_matrix",
    "dqn_learning": "dqn_learning:dqn_learning",
    "dqn_gradient": "dqn_learning:dqn_gradient",
    "vector_env": "vector_env:vector_env",
    "ppo_learning": "ppo_learning:ppo_learning",
    "hierarchy": "hierarchy:hierarchy",
    "attention_decision": "attention:attention_decision",
    "live_decisions": "live_decisions:live_decisions",
    "recorder_vs_raw": "recorder:recorder_vs_raw",
    "engine_speed": "live:engine_speed",
    "idle_service": "live:idle_service",
    "resume_after_kill": "live:resume_after_kill",
    "rest_reads": "rest:rest_reads",
    "reads_under_exports": "rest:reads_under_exports",
    "websocket_fan_out": "fan_out:websocket_fan_out",
    "sweep_two_processes": "sweeps:sweep_two_processes",
    "import_vs_pandas": "importing:import_vs_pandas",
    "dashboard": "dashboard:dashboard",
    "local_overhead": "execution:local_overhead",
    "ray_overhead": "execution:ray_overhead",
    "first_result": "execution:first_result",
    "millisecond_calls": "execution:millisecond_calls",
    "wide_machine": "execution:wide_machine",
    "expert_rule": "expert:expert_rule",
    "large_chains": "data_flow:large_chains",
    "shared_fits": "data_flow:shared_fits",
    "block_cholesky": "data_flow:block_cholesky",
}
"""What can be measured, as module:function in this package; a function returns one row or more."""


def main(names: list[str]) -> int:
    """Measure, print the table, write the results; 2 for a wrong name, 1 if a row could not be measured."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"unknown benchmark {', '.join(unknown)}: known are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    rows, errors = _measure_all(names or list(BENCHMARKS))
    report.show(rows)
    report.write(rows, merge=bool(names), failed=errors)
    for name, error in errors.items():
        print(f"FAILED {name}: {error}", file=sys.stderr)
    return 1 if errors else 0


def _measure_all(names: list[str]) -> tuple[list[Row], dict[str, str]]:
    rows: list[Row] = []
    errors: dict[str, str] = {}
    with Console(stderr=True).status("") as status:
        for name in names:
            status.update(f"measuring {name} …")
            try:
                rows += _measure(name)
            except BenchmarkError as error:
                errors[name] = str(error)
    return rows, errors


def _measure(name: str) -> list[Row]:
    module, _, function = BENCHMARKS[name].partition(":")
    try:
        found = importlib.import_module(f"benchmarks.{module}")
    except ModuleNotFoundError as error:
        raise BenchmarkError(f"needs the package {error.name}: pip install -e '.[bench]'") from error
    rows: list[Row] = getattr(found, function)()
    return rows


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
