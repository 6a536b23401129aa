"""Options of the pipeline, with type, default, help and what `--quick` makes of them."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from loguru import logger
from pydantic import BaseModel, ConfigDict, Field, SecretStr, Strict, ValidationError

from hybrid_scheduler import registry
from hybrid_scheduler.core import Cluster
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.profiling.profiler import QUICK_SIZES, SIZES
from hybrid_scheduler.settings import CONFIG_FILE, PIPELINE, AppSettings, read_yaml
from hybrid_scheduler.workloads.generator import PRESETS, find_preset
from hybrid_scheduler.workloads.source import Source

Whole = Annotated[int, Strict()]  # without it, `true` would be the number 1
Words = tuple[str, ...]
OFFLINE = "offline_forest"
"""The name of phase 3's model, never retrained, as a policy; only the pipeline knows it."""


def option(default: Any, text: str, *, quick: Any = None, **limits: Any) -> Any:
    """Describe an option; `quick` is its value with `--quick`."""
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
    file: str | None = option(None, "use this profile instead of measuring")


class Workload(Section):
    """Phase 2: the tasks to train on, and those to schedule online."""

    preset: str = option("mixed", "kind of workload, for training, scheduling and evaluation")
    trace: str | None = option(
        None, "your own tasks instead: a file that hms compare takes; its last fifth is kept to judge by"
    )
    load: float = option(1.0, "offered load; 1 is all that the cluster can do at best", gt=0, le=1000)
    num_tasks: Whole = option(10_000, "tasks to train on", quick=2000, ge=100, le=1_000_000)
    test_tasks: Whole = option(1000, "tasks that phase 4 schedules", ge=1, le=1_000_000)


class Training(Section):
    """Phase 3: the model of the best GPU share."""

    model: Literal["random_forest", "xgboost", "svm", "neural_network"] = option(
        "random_forest", "random_forest, xgboost, svm or neural_network"
    )
    n_estimators: Whole = option(100, "trees", quick=40, ge=1, le=10_000)
    max_depth: Whole = option(15, "depth of the trees", ge=1, le=1000)


class Scheduling(Section):
    """Phase 4: tasks are scheduled online, and the agent is pretrained."""

    energy_weight: float = option(0.0, "weight of energy against time, 0 (time only) to 1", ge=0, le=1)
    agent_tasks: Whole = option(6000, "tasks that the agent is pretrained on; 0 leaves it out", quick=600, ge=0)


class Evaluation(Section):
    """Phase 5: all policies on the same new tasks, over several seeds."""

    schedulers: Words = option(
        ("round_robin", "random", "greedy", OFFLINE, "hybrid_ml", "rl_agent", "oracle", "eft", "price"),
        f"who takes part; {OFFLINE} is the model of phase 3, never retrained; hybrid_ml starts from it and learns on",
        min_length=1,
    )
    seeds: Whole = option(10, "seeds of the comparison, each with new tasks", quick=3, ge=1, le=1000)
    num_tasks: Whole = option(2000, "tasks of each seed", quick=500, ge=1, le=1_000_000)
    shift_seeds: Whole = option(3, "seeds of the distribution shift; 0 leaves it out", quick=0, ge=0, le=1000)
    figures: bool = option(True, "draw all figures", quick=False)
    report: Literal["both", "html", "pdf", "none"] = option("both", "both, html, pdf or none", quick="html")


class Options(Section):
    """All options of the pipeline."""

    seed: Whole = option(42, "everything random follows from it", ge=0)
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


def flatten(options: Section, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every option by its dotted name."""
    for name in type(options).model_fields:
        value = getattr(options, name)
        if isinstance(value, Section):
            yield from flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def shrink(options: Any) -> Any:
    """Return options for a first look: numbers are lowered, other values change only where they are the default."""
    changed = {}
    for name, field in type(options).model_fields.items():
        value, extra = getattr(options, name), field.json_schema_extra
        quick = extra.get("quick") if isinstance(extra, dict) else None
        if isinstance(value, Section):
            changed[name] = shrink(value)
        elif isinstance(quick, int) and not isinstance(quick, bool):
            changed[name] = min(value, quick)
        elif quick is not None and value == field.default:
            changed[name] = quick
    return options.model_copy(update=changed)


WIDTH = 118


def read_options(
    path: Path | None = None, *, quick: bool = False, seed: int | None = None, trace: Path | None = None
) -> Options:
    """Read the options of a file, `config.yaml` if there is one; a wrong option is an error before any work."""
    if path is not None and not path.is_file():
        raise InputError(f"{path} does not exist: check the path, or leave --config out to take the defaults")
    file = path or CONFIG_FILE
    options = _parse(read_yaml(file), file)
    options = shrink(options) if quick else options
    if seed is not None:
        options = _validate({**options.model_dump(), "seed": seed}, "--seed")
    options = _choose_trace(options, str(trace) if trace else None)
    if options.workload.trace is None and find_preset(options.workload.preset).graph is not None:
        raise InputError(f"preset '{options.workload.preset}' is a graph: the pipeline learns from independent tasks")
    known = [*registry.schedulers.table, OFFLINE]
    kept = registry.schedulers.leave_out_missing(options.evaluation.schedulers)
    if kept != options.evaluation.schedulers:  # then no agent is trained either; with torch the phases are run again
        logger.warning(registry.schedulers.describe_missing(options.evaluation.schedulers))
        evaluation = options.evaluation.model_copy(update={"schedulers": kept})
        scheduling = options.scheduling.model_copy(update={"agent_tasks": 0})
        options = options.model_copy(update={"evaluation": evaluation, "scheduling": scheduling})
    for spec in options.evaluation.schedulers:
        if spec.partition(":")[0] not in known and ".py" not in spec:
            raise unknown_name("scheduler", spec, known)
        if spec != OFFLINE:
            registry.schedulers.create(spec)
    return options


def _choose_trace(options: Options, given: str | None) -> Options:
    """Return the options with the user's own tasks, if there are any: given here, as `trace` or as `preset`."""
    workload = options.workload
    is_path = workload.preset not in PRESETS and ("." in workload.preset or "/" in workload.preset)
    trace = given or workload.trace or (workload.preset if is_path else None)
    if trace is None:
        return options
    if Source.of(trace).tasks(0, Cluster.default()).has_edges:
        raise InputError(f"the tasks of {trace} depend on each other: the pipeline learns from independent tasks")
    preset = Workload().preset if is_path else workload.preset
    return options.model_copy(update={"workload": workload.model_copy(update={"trace": trace, "preset": preset})})


def _parse(data: dict[str, Any], file: Path) -> Options:
    known = [*AppSettings.model_fields, PIPELINE]
    for key in data:
        if key not in known:
            raise unknown_name(f"key in {file}:", str(key), known)
    given = data.get(PIPELINE) or {}
    _require_known(Options, given, PIPELINE, file)
    if given.get("gpus") is None and data.get("num_gpus") is not None:
        given = {**given, "gpus": data["num_gpus"]}
    return _validate(given, str(file))


def _require_known(section: type[Section], given: Any, where: str, file: Path) -> None:
    if not isinstance(given, Mapping):
        raise InputError(f"{file}: {where} is {given!r}, expected options below it, such as seed: 42")
    for key, value in given.items():
        if key not in section.model_fields:
            raise unknown_name(f"key in {file}, {where}:", str(key), section.model_fields)
        inner = section.model_fields[key].annotation
        if isinstance(inner, type) and issubclass(inner, Section) and value is not None:
            _require_known(inner, value, f"{where}.{key}", file)


def _validate(given: Mapping[str, Any], file: str) -> Options:
    # A section whose options are all commented out is null in YAML.
    values = {key: value for key, value in given.items() if value is not None}
    try:
        return Options.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name, message = ".".join(map(str, first["loc"])), str(first["msg"])
        reason = f"{message[0].lower()}{message[1:]}"
        raise InputError(f"{file}: {PIPELINE}.{name} is {first['input']!r}: {reason}") from None


# --- the file ------------------------------------------------------------------------------------------------

HEAD = """\
# All options with their defaults. `hms pipeline` (or `python main.py`) and `hms serve` read this file from the folder
# in which they are started; an option that is not named keeps its default, an unknown one is refused.
# num_gpus, schedulers and preset are the defaults of hms compare and the other commands in that folder too, load is
# that of those which generate tasks.
#
# --- the live service, hms serve; docs/service.md; the environment and .env override this file
"""
MIDDLE = f"""
# --- the five phases, hms pipeline; docs/pipeline.md; (quick: …) is the value with --quick
{PIPELINE}:
"""


def render_config() -> str:
    """Return a file with every option at its default; those of the service are commented out."""
    service = list[str]()
    for name, field in AppSettings.model_fields.items():
        value = field.default.get_secret_value() if isinstance(field.default, SecretStr) else field.default
        service += _with_comment(f"# {name}: {_yaml(value)}", str(field.description))
    return HEAD + "\n".join(service) + "\n" + MIDDLE + "\n".join(_lines(Options(), "  ")) + "\n"


def _lines(section: Section, indent: str) -> Iterator[str]:
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if isinstance(value, Section):
            yield ""
            yield f"{indent}{name}:  # {(type(value).__doc__ or '').rstrip('.')}"
            yield from _lines(value, indent + "  ")
            continue
        extra = field.json_schema_extra
        quick = f" (quick: {_yaml(extra['quick'])})" if isinstance(extra, dict) and "quick" in extra else ""
        yield from _with_comment(f"{indent}{name}: {_yaml(value)}", f"{field.description}{quick}")


def _with_comment(line: str, text: str) -> Iterator[str]:
    """Yield a line with its help behind it if there is room, else above it."""
    if len(line) + len(text) + 4 <= WIDTH:
        yield f"{line}  # {text}"
        return
    margin = " " * (len(line) - len(line.lstrip()))
    yield from textwrap.wrap(text, WIDTH, initial_indent=f"{margin}# ", subsequent_indent=f"{margin}# ")
    yield line


def _yaml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_yaml(each) for each in value)}]"
    plain = isinstance(value, str) and value.replace("_", "").isalnum()
    return str(value) if plain else json.dumps(str(value) if isinstance(value, Path) else value)
