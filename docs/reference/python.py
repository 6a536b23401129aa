"""The page of names that people import, from their signatures and docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

from docs.reference.markdown import code, join, table

MODULES = {
    "hybrid_scheduler": (),
    "hybrid_scheduler.core.view": (),
    "hybrid_scheduler.studies.compare": ("Comparison", "compare"),
    "hybrid_scheduler.workloads.source": ("Source",),
    "hybrid_scheduler.bounds.optimum": ("optimum",),
    "hybrid_scheduler.studies.results": (),
    "hybrid_scheduler.env": (),
    "hybrid_scheduler.errors": (),
    "hybrid_scheduler.profiling.profiler": ("HardwareProfiler",),
    "hybrid_scheduler.profiling.profile_file": ("load_profile",),
    "hybrid_scheduler.profiling.calibration": ("build_cluster", "calibrate"),
    "hybrid_scheduler.learning.predictors": ("RandomForestPredictor", "XGBoostPredictor", "OfflineTrainer"),
    "hybrid_scheduler.studies.online_scheduler": (),
}
"""Modules and the names in them that are meant for others; none: all that the module itself defines or offers."""
WIDE = 100


def page() -> str:
    """Return the page."""
    return join("# Python", "Names to import; what is not here may change without notice.", *map(_module, MODULES))


def _module(name: str) -> str:
    module = importlib.import_module(name)
    names = MODULES[name] or getattr(module, "__all__", None) or _defined(module)
    parts = [_thing(each, getattr(module, each)) for each in names if not each.startswith("_")]
    return join(f"## {name}", _first(module), *parts)


def _defined(module: Any) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if callable(value) and not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]


def _thing(name: str, value: Any) -> str:
    value = getattr(value, "py_func", value)  # a compiled function carries the plain one
    heading = f"### {name}"
    if not inspect.isclass(value):
        return join(heading, _block(name, value), _first(value))
    rows = [(code(f"{each}{_signature(method)}"), _first(method)) for each, method in _methods(value)]
    return join(heading, _block(name, value), _first(value), table(("method", "what it does"), rows))


def _methods(value: type) -> list[tuple[str, Any]]:
    found = [(name, getattr(each, "__func__", each)) for name, each in vars(value).items()]
    return [(name, each) for name, each in found if inspect.isfunction(each) and not name.startswith("_")]


def _signature(value: Any) -> str:
    try:
        found = str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""  # a class without a constructor of its own in Python
    found = re.sub(r"ForwardRef\('([^']*)'\)", r"\1", re.sub(r"<[^<>]*>", "…", found))
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", found)


def _block(name: str, value: Any) -> str:
    found = f"{name}{_signature(value)}"
    if len(found) > WIDE:
        found = re.sub(r"(, )(?=\*|\w+:)", ",\n    ", found)
    return f"```python\n{found}\n```"


def _first(value: Any) -> str:
    said = inspect.getdoc(value) or ""
    return " ".join(said.split("\n\n")[0].split())
