"""Names of version 1.0 that still work in this release, each with a DeprecationWarning; version 1.2 drops them."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Container, Mapping, Sequence
from functools import partial, wraps
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PACKAGE = "hybrid_scheduler"
MODULES = {
    "capacity": "studies.capacity",
    "clocks": "core.clocks",
    "compiling": "core.compiler",
    "engine": "live",
    "execution": "runtime",
    "execution.devices": "runtime.devices",
    "execution.hybrid_scheduler": "runtime.executor",
    "execution.user_tasks": "runtime.tasks",
    "experiments": "studies.experiments",
    "graph_bound": "bounds.graph",
    "lane": "core.lane",
    "learning.agent_lessons": "learning.dqn",
    "learning.beside": "learning.background",
    "learning.forest_lessons": "learning.forest",
    "learning.known": "learning.features",
    "learning.learnt_times": "learning.durations",
    "learning.model_file": "learning.model_files",
    "learning.offline_trainer": "learning.predictors",
    "local_search": "bounds.local_search",
    "loop": "core.loop",
    "measured_experiments": "studies.experiments",
    "metrics": "core.metrics",
    "ml_models": "learning.predictors",
    "model": "core",
    "model.cluster": "core.cluster",
    "model.placements": "core.placements",
    "model.tasks": "core.tasks",
    "offline_trainer": "learning.predictors",
    "online_scheduler": "studies.online_scheduler",
    "optimum": "bounds.optimum",
    "physics": "core.physics",
    "profiler": "profiling.profiler",
    "race": "studies.compare",
    "reports.figures.learning_curve": "reports.figures.learning",
    "reports.figures.makespan_over_bound": "reports.figures.bars",
    "runs": "studies.results",
    "schedulers.optimal": "schedulers.search",
    "simulator": "core.simulator",
    "suite": "studies.suite",
    "training": "studies.pretraining",
    "view": "core.view",
    "workload": "workloads",
    "workload.formats": "workloads.formats",
    "workload.formats.format": "workloads.formats.reader",
    "workload.formats.reader": "workloads.formats.reader",
    "workload.generator": "workloads.generator",
    "workload.source": "workloads.source",
    "workload_generator": "workloads",
}
"""Old module → the module that has its names."""
NAMES: dict[str, dict[str, str]] = {
    "capacity": {"capacity": "studies.capacity:find_capacity"},
    "execution.devices": {
        "cluster_of": "runtime.devices:build_cluster",
        "devices_of": "runtime.devices:parse_devices",
    },
    "experiments": {"Study": "studies.experiments:ExperimentResult", "run": "studies.experiments:run_experiment"},
    "learning.learnt_times": {"LearntTimes": "learning.durations:DurationModel"},
    "metrics": {"paired": "core.metrics:bootstrap_paired"},
    "model.placements": {"joined": "core.placements:concatenate_placements"},
    "physics": {"fastest": "core.physics:best_split_times"},
    "profiler": {
        "calibrate": "profiling.calibration:calibrate",
        "cluster_of": "profiling.calibration:build_cluster",
        "load_profile": "profiling.profile_file:load_profile",
    },
    "race": {"race": "studies.compare:run_lanes"},
    "runs": {
        "comparison_of": "studies.results:parse_comparison",
        "environment": "studies.results:describe_environment",
        "measures_table": "studies.results:measures_to_csv",
        "save": "studies.results:save_result",
    },
    "training": {
        "kept_model": "studies.pretraining:find_or_train_model",
        "ready": "studies.pretraining:load_or_train",
        "taught": "studies.pretraining:pretrain_on_workloads",
        "trained": "studies.pretraining:pretrain_on_presets",
    },
    "view": {
        "cpu_beside": "core.view:least_loaded_node_cpu",
        "earliest": "core.view:data_ready_time",
        "view_of": "core.view:build_view",
    },
    "workload.formats.reader": {
        "format_for": "workloads.formats.reader:choose_format",
        "format_named": "workloads.formats.reader:load_format",
        "known": "workloads.formats.reader:load_formats",
        "sniffed": "workloads.formats.reader:detect_format",
        "told": "workloads.formats.reader:sniff",
    },
    "workload.generator": {
        "at_rate": "workloads.generator:scale_to_rate",
        "full_rate": "workloads.generator:saturation_rate",
        "statistics": "workloads.statistics:summarise",
    },
}
"""Old module → old name → "module:name" of what it is called now, where module or name have changed."""


def warn(old: str, new: str, stacklevel: int = 3) -> None:
    """Say that a name of version 1.0 was used."""
    warnings.warn(f"{old} is deprecated and goes in version 1.2: use {new}", DeprecationWarning, stacklevel)


class _OldModules(MetaPathFinder, Loader):
    """Imports modules under their names of version 1.0."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.partition(".")
        if package != PACKAGE or name not in MODULES:
            return None
        return ModuleSpec(fullname, self, is_package=any(other.startswith(f"{name}.") for other in MODULES))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        name = spec.name.partition(".")[2]
        home = importlib.import_module(f"{PACKAGE}.{MODULES[name]}")
        warn(spec.name, home.__name__, stacklevel=6)
        module = ModuleType(spec.name, home.__doc__)
        if spec.submodule_search_locations is not None:
            module.__path__ = []  # else the home's path would be looked up, and its modules loaded twice

        def look_up(attribute: str) -> Any:
            moved = NAMES.get(name, {}).get(attribute)
            if moved is None:
                return getattr(home, attribute)
            where, _, new = moved.partition(":")
            warn(f"{spec.name}.{attribute}", f"{PACKAGE}.{where}.{new}")
            return getattr(importlib.import_module(f"{PACKAGE}.{where}"), new)

        module.__getattr__ = look_up  # type: ignore[method-assign]  # a module's own hook
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to execute: the names are looked up in their new home."""


def install() -> None:
    """Let the modules of version 1.0 be imported."""
    import sys

    if not any(isinstance(finder, _OldModules) for finder in sys.meta_path):
        sys.meta_path.append(_OldModules())


# --- policies written for version 1.0 ------------------------------------------------------------------------------

RENAMED_MEMBERS = {
    "sighted": "clairvoyant",
    "weigh_energy": "set_energy_weight",
    "learn_beside": "train_in_background",
    "remembered": "row_arrays",
}
RENAMED_OPTIONS = {"beside": "background"}
"""Options of schedulers in specs, such as `rl_agent:beside=50`."""


def rename_options(given: Mapping[str, Any], accepted: Container[str]) -> dict[str, Any]:
    """Return options of a spec under their present names."""
    options = {}
    for name, value in given.items():
        new = RENAMED_OPTIONS.get(name, name) if name not in accepted else name
        if new != name:
            warn(f"option '{name}'", new)
        options[new] = value
    return options


CHANGED_DEFAULTS = {"hybrid_ml": "order=fifo", "rl_agent": "order=fifo", "price": "tie=0"}
"""Options by which schedulers decide as they did in version 1.0."""


def restore_defaults(spec: str, version: str) -> str:
    """Return a spec of some version so that it decides as it did then."""
    name, _, options = spec.partition(":")
    old = CHANGED_DEFAULTS.get(name, "") if version.startswith("1.0.") else ""
    return f"{spec}:{old}" if old and f":{old.partition('=')[0]}=" not in f":{options}" else spec


def adopt_policy(policy: type[Any]) -> None:
    """Give a class of policies that uses members of version 1.0 the present ones."""
    own = vars(policy)
    for old, new in RENAMED_MEMBERS.items():
        if old in own and new not in own:
            warn(f"{policy.__name__}.{old}", new, stacklevel=4)
            setattr(policy, new, own[old])
    prepare = getattr(policy, "prepare", None)
    if "order" in own or ("prepare" in own and "order" in getattr(prepare, "__code__", warn.__code__).co_names):
        setattr(policy, "prepare", _return_order(policy, prepare))  # noqa: B010  # as below
    if own.keys() & {"expected_seconds", "scores", "contributions"} and "evidence" not in own:
        warn(f"{policy.__name__}'s expected_seconds, scores, contributions", "evidence(task, view)", stacklevel=4)
        setattr(policy, "evidence", _evidence)  # noqa: B010  # the checker knows no such attribute of type


def _return_order(policy: type[Any], prepare: Any) -> Any:
    """Wrap a `prepare` that sets `self.order` instead of returning it."""

    @wraps(prepare)
    def wrapped(self: Any, *arguments: Any) -> Any:
        returned = prepare(self, *arguments)
        if returned is None and (order := getattr(self, "order", None)) is not None:
            warn(f"{policy.__name__}.order", "the value that prepare returns")
            return order
        return returned

    return wrapped


def _evidence(policy: Any, task: Any, view: Any) -> Any:
    from hybrid_scheduler.schedulers.scheduler import Evidence

    seconds, scores, contributions = (
        getattr(type(policy), name, None) for name in ("expected_seconds", "scores", "contributions")
    )
    return Evidence(
        seconds=seconds(policy, task) if seconds else task.times,
        scores=scores(policy, task, view) if scores else None,
        contributions=contributions(policy, task) if contributions else {},
    )


def old_attribute(policy: Any, name: str) -> Any:
    """Return what a member of version 1.0 is now; raises AttributeError for any other name."""
    if name in RENAMED_MEMBERS and (new := RENAMED_MEMBERS[name]) in dir(policy):
        warn(f"{type(policy).__name__}.{name}", new, stacklevel=4)
        return getattr(policy, new)
    if name in ("twin", "explain"):
        from hybrid_scheduler.schedulers import explain

        function = explain.copy_policy if name == "twin" else explain.explain
        warn(f"{type(policy).__name__}.{name}", f"hybrid_scheduler.schedulers.explain.{function.__name__}", 4)
        return partial(function, policy)
    if name == "window":
        return 4096  # of a policy with plan that is no BatchScheduler
    if not name.startswith("_") and callable(getattr(type(policy), "learn", None)):
        from hybrid_scheduler.schedulers.learner import Learner

        if hasattr(Learner, name):  # learns, but was derived from Scheduler as in version 1.0
            member = getattr(Learner, name)
            return member.__get__(policy) if callable(member) else member
    raise AttributeError(f"'{type(policy).__name__}' object has no attribute '{name}'", name=name, obj=policy)
