"""Options of the pipeline, with type, default, help and what `--quick` makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict

from hybrid_scheduler.profiling.profiler import QUICK_SIZES, SIZES

Whole = Annotated[int, Strict()]  # without it, `true` would be the number 1
Words = tuple[str, ...]
OFFLINE = "offline_forest"
"""The model of phase 3, never retrained; only the pipeline knows a policy of this name."""


def option(default: Any, text: str, *, quick: Any = None, **limits: Any) -> Any:
    """Describe an option; `quick` is its value under `--quick`."""
    extra = {} if quick is None else {"quick": quick}
    return Field(default, description=text, json_schema_extra=extra, **limits)


class Section(BaseModel):
    """A group of options; a key that it does not have is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Profiling(Section):
    """Phase 1: what is measured of this machine."""

    device: str = option("auto", "auto, cpu, cuda, mps or xpu")
    sizes: tuple[Whole, ...] = option(SIZES, "edges of the arrays that are measured", quick=QUICK_SIZES, min_length=1)
    kernels: Words = option((), "kernels that are measured; none named: all")
    threads: Whole | None = option(None, "threads of a kernel on the CPU; null: all cores", ge=1)
    brief: bool = option(False, "few repeats: faster, less precise", quick=True)
    file: str | None = option(None, "take this profile instead of measuring")


class Workload(Section):
    """Phase 2: the tasks that are learnt from, and those that are scheduled online."""

    preset: str = option("mixed", "kind of workload, for learning, scheduling and evaluation")
    load: float = option(1.0, "offered load; 1 is all that the cluster can do at best", gt=0, le=1000)
    num_tasks: Whole = option(10_000, "tasks to learn from", quick=2000, ge=100, le=1_000_000)
    test_tasks: Whole = option(1000, "tasks that phase 4 schedules", ge=1, le=1_000_000)


class Training(Section):
    """Phase 3: the model of the best GPU share."""

    model: Literal["random_forest", "xgboost"] = option("random_forest", "random_forest or xgboost")
    n_estimators: Whole = option(100, "trees", quick=40, ge=1, le=10_000)
    max_depth: Whole = option(15, "depth of the trees", ge=1, le=1000)


class Scheduling(Section):
    """Phase 4: tasks are scheduled online, and the agent is pretrained."""

    energy_weight: float = option(0.5, "what energy counts against time, 0 to 1", ge=0, le=1)
    agent_tasks: Whole = option(6000, "tasks that the agent is pretrained on; 0 leaves it out", quick=600, ge=0)


class Evaluation(Section):
    """Phase 5: everybody on the same new tasks, over several seeds."""

    schedulers: Words = option(
        ("round_robin", "random", "greedy", OFFLINE, "hybrid_ml", "rl_agent", "oracle", "eft", "price"),
        f"who takes part; {OFFLINE} is the model of phase 3, never retrained; hybrid_ml starts from it and learns on",
        min_length=1,
    )
    seeds: Whole = option(10, "races, each on new tasks", quick=3, ge=1, le=1000)
    num_tasks: Whole = option(2000, "tasks of a race", quick=500, ge=1, le=1_000_000)
    shift_seeds: Whole = option(3, "seeds of the distribution shift; 0 leaves it out", quick=0, ge=0, le=1000)
    figures: bool = option(True, "draw all figures", quick=False)
    report: Literal["both", "html", "pdf", "none"] = option("both", "both, html, pdf or none", quick="html")


class Options(Section):
    """All options of the pipeline."""

    seed: Whole = option(42, "everything that is drawn by lot follows from it", ge=0)
    machine: Literal["reference", "profile"] = option(
        "reference",
        "reference: the model's cluster; profile: the machine of phase 1, so results depend on measurements",
    )
    gpus: Whole | None = option(None, "GPUs of the cluster; null: num_gpus above, or 4", ge=0, le=10_000)
    mode: Literal["queued", "isolated"] = option(
        "queued", "queued: tasks wait; isolated: every device is always free"
    )
    profiling: Profiling = option(Profiling(), "phase 1")
    workload: Workload = option(Workload(), "phase 2")
    training: Training = option(Training(), "phase 3")
    scheduling: Scheduling = option(Scheduling(), "phase 4")
    evaluation: Evaluation = option(Evaluation(), "phase 5")


def flat(options: Section, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every option by its dotted name."""
    for name in type(options).model_fields:
        value = getattr(options, name)
        if isinstance(value, Section):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def quickened(options: Any) -> Any:
    """Return options for a first look: smaller numbers count, other values only where nothing else was asked for."""
    changed = {}
    for name, field in type(options).model_fields.items():
        value, extra = getattr(options, name), field.json_schema_extra
        quick = extra.get("quick") if isinstance(extra, dict) else None
        if isinstance(value, Section):
            changed[name] = quickened(value)
        elif isinstance(quick, int) and not isinstance(quick, bool):
            changed[name] = min(value, quick)
        elif quick is not None and value == field.default:
            changed[name] = quick
    return options.model_copy(update=changed)
