"""Tables of what there is: a name, where its class lives, what it does. Nothing is imported until asked for."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from hybrid_scheduler.errors import InputError, SchedulerError, unknown_name


@dataclass(frozen=True)
class Entry:
    """One line of a registry."""

    name: str
    target: str  # "module:attribute"
    summary: str = ""
    sighted: str = ""  # schedulers: what it knows of the true times
    featured: bool = False  # takes part when nothing else is asked for

    def load(self) -> Any:
        """Import the module and return the attribute."""
        module, _, attribute = self.target.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise InputError(
                f"'{self.name}' cannot be loaded from {self.target} ({error}): install or remove that package"
            ) from error


@dataclass(frozen=True)
class Option:
    """One option of a constructor."""

    name: str
    kind: str
    default: Any
    help: str

    @classmethod
    def of(cls, parameter: inspect.Parameter) -> Option:
        """Read an option off a signature; `Annotated[float, "…"]` carries its help."""
        said = getattr(parameter.annotation, "__metadata__", ("",))
        kind = getattr(parameter.annotation, "__origin__", parameter.annotation)
        default = None if parameter.default is inspect.Parameter.empty else parameter.default
        return cls(parameter.name, getattr(kind, "__name__", str(kind)), default, str(said[0]))


@dataclass(frozen=True)
class Registry:
    """Names of one kind; plug-in packages add theirs through the entry-point group."""

    kind: str
    group: str
    entries: tuple[Entry, ...]
    hint: str = ""
    adapter: str = ""  # "module:function" that makes an object of a plain function
    _extra: dict[str, Entry] = field(default_factory=dict)

    @cached_property
    def _installed(self) -> dict[str, Entry]:
        found = {each.name: each for each in self.entries}
        for point in entry_points(group=self.group):
            if point.name not in found:
                found[point.name] = Entry(point.name, point.value, f"plug-in from {point.module}", "see plug-in")
        return found

    @property
    def table(self) -> dict[str, Entry]:
        """All entries by name: built-in, installed, registered by hand."""
        return {**self._installed, **self._extra}

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.table.values())

    def __contains__(self, name: object) -> bool:
        return name in self.table

    @property
    def featured(self) -> list[str]:
        """Names that take part by default."""
        return [each.name for each in self if each.featured]

    def add(self, name: str, target: str, summary: str = "") -> None:
        """Register a name for this process."""
        self._extra[name] = Entry(name, target, summary)

    def load(self, name: str) -> Any:
        """Return what a name stands for."""
        if name not in self.table:
            raise unknown_name(self.kind, name, self.table, self.hint)
        return self.table[name].load()

    def options(self, name: str) -> list[Option]:
        """Return what a constructor takes, with type, default and help."""
        target, _ = self._resolve(name)
        if inspect.isfunction(target):
            return []
        try:
            parameters = inspect.signature(target, eval_str=True).parameters.values()
        except NameError:  # a plug-in whose annotations name what is only there for type checkers
            parameters = inspect.signature(target).parameters.values()
        return [Option.of(each) for each in parameters]

    def create(self, spec: str, **defaults: Any) -> Any:
        """Build the object of a spec: `name`, `name:option=value:…`, or `file.py:Name` for one's own file.

        `defaults` are handed over where the constructor takes them; options in the spec win.
        """
        target, given = self._resolve(spec)
        if inspect.isfunction(target) and self.adapter:
            return Entry("adapter", self.adapter).load()(target, **given)
        if not callable(target):
            raise InputError(f"{self.kind} '{spec}' is no class or function: name one that can be called")
        accepted = inspect.signature(target).parameters
        if given and not accepted:
            raise InputError(f"{self.kind} '{spec.split(':')[0]}' takes no option, got {', '.join(given)}")
        for key in given:
            if key not in accepted:
                raise unknown_name(f"option of {self.kind} '{spec.split(':')[0]}':", key, accepted)
        options = {key: value for key, value in defaults.items() if key in accepted} | given
        try:
            built = target(**options)
        except SchedulerError:
            raise
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{self.kind} '{spec}' cannot be built ({error}): check its options") from None
        if self.adapter and not callable(getattr(built, "choose", None)):
            raise InputError(f"{self.kind} '{spec}' has no choose: derive it from Scheduler")
        return built

    def _resolve(self, spec: str) -> tuple[Any, dict[str, Any]]:
        name, *rest = spec.split(":")
        if name.endswith(".py"):
            attribute = rest.pop(0) if rest and "=" not in rest[0] else ""
            return _from_file(Path(name), attribute), _options(spec, rest)
        return self.load(name), _options(spec, rest)


def _options(spec: str, parts: list[str]) -> dict[str, Any]:
    options = {}
    for part in parts:
        key, equals, text = part.partition("=")
        if not equals:
            raise InputError(f"'{spec}': '{part}' is no option, write name:option=value")
        options[key] = _value(text)
    return options


def _value(text: str) -> Any:
    words: dict[str, Any] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _from_file(path: Path, attribute: str) -> Any:
    if not path.is_file():
        raise InputError(f"policy file {path} does not exist: check the path")
    name = f"hms_policy_{path.stem}_{zlib.crc32(str(path.resolve()).encode()):08x}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"policy file {path} cannot be imported: it must be Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # compiled policies are looked up by their module's name
    try:
        # Not through the loader: its bytecode file is stale if a policy is edited twice within a second.
        exec(compile(path.read_bytes(), str(path), "exec"), vars(module))  # noqa: S102  # a policy file is a program
    except SchedulerError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(f"policy file {path} cannot be imported ({type(error).__name__}: {error})") from error
    own = {
        name: value
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__ and callable(value) and not name.startswith("_")
    }
    if attribute in own:
        return own[attribute]
    if not own:
        raise InputError(f"{path} defines no policy: write a class or a function choose(task, view) in it")
    if attribute or len(own) != 1:
        wanted = attribute or "(none given)"
        raise unknown_name(f"policy in {path}:", wanted, own, f"write {path}:Name")
    return next(iter(own.values()))


def _builtin(name: str, target: str, sighted: str, summary: str, featured: bool = False) -> Entry:
    return Entry(name, f"hybrid_scheduler.schedulers.{target}", summary, sighted, featured)


schedulers = Registry(
    "scheduler",
    "hybrid_scheduler.schedulers",
    (
        _builtin("round_robin", "round_robin:RoundRobin", "no", "GPU, CPU, GPU, CPU …, over the GPUs in turn", True),
        _builtin("random", "random:Random", "no", "a random share on a random GPU", True),
        _builtin("greedy", "greedy:Greedy", "no", "GPU share = compute intensity, least-loaded GPU", True),
        _builtin("hybrid_ml", "hybrid_ml:HybridML", "no", "random forest of the GPU share, retrained online", True),
        _builtin("rl_agent", "rl_agent:RLAgent", "no", "dueling double DQN, learns from priced rewards", True),
        _builtin("oracle", "oracle:Oracle", "yes", "every share in 5 % steps on every GPU, earliest finish", True),
        _builtin("eft", "eft:EarliestFinish", "yes", "whole task where it ends first (StarPU's dm)", True),
        _builtin("min_min", "batch:MinMin", "yes", "of the ready tasks, the one that ends first goes first"),
        _builtin("max_min", "batch:MaxMin", "yes", "of the ready tasks, the one that ends last goes first"),
        _builtin("sufferage", "batch:Sufferage", "yes", "the task that loses most without its best device first"),
        _builtin("search", "search:Search", "yes", "the ready tasks as a batch: prices, then local search"),
        _builtin("optimal", "optimal:Optimal", "yes", "the ready tasks as a batch: local search, then proved (MILP)"),
        _builtin("heft", "heft:Heft", "yes", "upward rank, insertion into the earliest gap (graphs)"),
        _builtin("peft", "heft:Peft", "yes", "optimistic cost table looks one step ahead (graphs)"),
        _builtin("cpop", "cpop:Cpop", "yes", "critical path on one device, the rest where it ends first (graphs)"),
        _builtin("price", "price:Price", "yes", "the device class with the smallest price · time", True),
    ),
    hint="hms schedulers shows the table",
    adapter="hybrid_scheduler.schedulers.scheduler:from_function",
)

backends = Registry(
    "backend",
    "hybrid_scheduler.backends",
    (
        Entry(
            "local", "hybrid_scheduler.runtime.local_backend:LocalBackend", "one process per device of this machine"
        ),
        Entry("ray", "hybrid_scheduler.runtime.ray_backend:RayBackend", "one Ray actor per device of a cluster"),
    ),
    hint="docs/execution.md says what each needs",
)
