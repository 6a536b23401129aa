"""Tables of what there is: a name, where its class lives, what it does. Nothing is imported until asked for."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import entry_points
from keyword import iskeyword
from pathlib import Path
from typing import Any, Literal

from hybrid_scheduler.deprecated import rename_options
from hybrid_scheduler.errors import InputError, SchedulerError, unknown_name

Kind = Literal["rule", "random", "learner", "clairvoyant rule", "clairvoyant search", "reference", "plug-in"]
"""What sort of policy a scheduler is. A clairvoyant one knows the true times; so does the reference, which is only
there to compare the others with."""
Marker = Literal[
    "diamond", "hexagon", "triangle", "square", "circle", "star", "cross", "pentagon", "triangle_down", "bar", "ring",
    "chevron", "triangle_right", "hourglass", "parallelogram", "bowtie", "octagon", "house", "trapezoid", "tee",
    "notch", "kite", "arrow", "ell", "steps", "crown", "comb",
]  # fmt: skip
MAX_OPTION = 2**53  # of a number; policies have narrower limits of their own
WORDS = {"true": True, "false": False, "none": None}  # options that are neither numbers nor text
PACKAGE = "hybrid-ml-scheduler"
EXTRA_MODULES = {"rl": "torch"}
"""The module that an optional extra of this package brings, where something is registered that needs it."""


def is_installed(module: str) -> bool:
    """Whether a module can be imported, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install '{PACKAGE}[{extra}]'"


@dataclass(frozen=True)
class Style:
    """How a scheduler is drawn: by colour, marker and dash, never by colour alone."""

    marker: Marker
    light: str  # colour on white; its contrast is at least 4.5 : 1, so letters may use it too
    dark: str  # colour on the dark theme
    dash: tuple[float, ...] = ()  # lengths of dashes and gaps in line widths; empty: solid
    dark_text: str = ""  # letters on the dark theme, where the colour is too dark for them


@dataclass(frozen=True)
class Entry:
    """One line of a registry."""

    name: str
    target: str  # "module:attribute"
    summary: str = ""
    clairvoyant: str = ""  # schedulers: what it knows of the true times
    featured: bool = False  # takes part when nothing else is asked for
    label: str = ""  # schedulers: its name for people, and a few letters for narrow columns
    short: str = ""
    kind: Kind = "plug-in"
    style: Style | None = None  # None: the next free one
    extra: str = ""  # a key of `EXTRA_MODULES`: what it cannot do without

    @property
    def is_missing(self) -> bool:
        """Whether the extra that it needs is not installed."""
        return bool(self.extra) and not is_installed(EXTRA_MODULES[self.extra])

    def load(self) -> Any:
        """Import the module and return the attribute."""
        module, _, attribute = self.target.partition(":")
        if self.is_missing:
            needed = EXTRA_MODULES[self.extra]
            raise InputError(f"'{self.name}' needs {needed}, which is not installed: {how_to_install(self.extra)}")
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
        return cls(parameter.name.removesuffix("_"), getattr(kind, "__name__", str(kind)), default, str(said[0]))


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

    def leave_out_missing(self, specs: Iterable[str]) -> tuple[str, ...]:
        """Return the specs without those whose extra is not installed; that none is left is an error."""
        wanted = tuple(specs)
        missing = [spec for spec in wanted if self._is_missing(spec)]
        if missing and len(missing) == len(wanted):
            self.load(split_spec(missing[0])[0])  # raises, and says how to install it
        return tuple(spec for spec in wanted if spec not in missing)

    def describe_missing(self, specs: Iterable[str]) -> str:
        """Return a line on whom `leave_out_missing` leaves out and how to get them; "" if nobody."""
        missing = [spec for spec in specs if self._is_missing(spec)]
        if not missing:
            return ""
        extra = self.table[split_spec(missing[0])[0]].extra
        return f"without {', '.join(missing)}: {EXTRA_MODULES[extra]} is not installed, {how_to_install(extra)}"

    def _is_missing(self, spec: str) -> bool:
        entry = self.table.get(split_spec(spec)[0])
        return entry is not None and entry.is_missing

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
        given = rename_options(given, accepted)
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
        name, *rest = _split_parts(spec)
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
        key = f"{key}_" if iskeyword(key) else key  # as in global=…, which Python takes for itself
        value = parse_number(text)
        if not isinstance(value, str) and abs(value) > MAX_OPTION:  # NaN is for the policy to judge
            raise InputError(f"'{spec[:60]}': {key} is {text[:40]}, expected a number, {MAX_OPTION:,} at most")
        options[key] = WORDS.get(text.lower(), value)
    return options


def parse_number(text: str) -> float | int | str:
    """Return a text as a whole number or a float; as it is if it is neither."""
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


def _builtin(
    name: str,
    target: str,
    clairvoyant: str,
    summary: str,
    label: tuple[str, str],
    kind: Kind,
    style: Style,
    featured: bool = False,
    extra: str = "",
) -> Entry:
    where = f"hybrid_scheduler.schedulers.{target}"
    return Entry(name, where, summary, clairvoyant, featured, *label, kind, style, extra)


schedulers = Registry(
    "scheduler",
    "hybrid_scheduler.schedulers",
    (
        _builtin(
            "round_robin", "round_robin:RoundRobin", "no", "GPU, CPU, GPU, CPU …, round-robin over the GPUs",
            ("Round robin", "RR"), "rule", Style("square", "#a8431f", "#d47454", (1.5, 2), "#e08a6c"), featured=True,
        ),
        _builtin(
            "random", "random:Random", "no", "a random share on a random GPU",
            ("Random", "RND"), "random", Style("circle", "#586475", "#8d97a5", (1, 3), "#a6afbc"), featured=True,
        ),
        _builtin(
            "greedy", "greedy:Greedy", "no", "GPU share = compute intensity, least-loaded GPU",
            ("Greedy", "GRD"), "rule", Style("triangle", "#7d6500", "#e8d030", (4, 3)), featured=True,
        ),
        _builtin(
            "hybrid_ml", "hybrid_ml:HybridML", "no", "random forest of the GPU share, retrained online",
            ("Hybrid ML", "ML"), "learner", Style("diamond", "#0b7a96", "#0fd7ff"), featured=True,
        ),
        _builtin(
            "rl_agent", "rl_agent:RLAgent", "no", "dueling double DQN, learns from priced rewards",
            ("RL agent", "RL"), "learner", Style("hexagon", "#6a35d0", "#9e66ff", (6, 2), "#c3a3ff"), featured=True,
            extra="rl",
        ),
        _builtin(
            "oracle", "oracle:Oracle", "yes", "every share in 5 % steps on every GPU, earliest finish",
            ("Oracle", "ORC"), "reference", Style("star", "#101a2b", "#f8fafc", (5, 2, 1.5, 2)), featured=True,
        ),
        _builtin(
            "eft", "eft:EarliestFinish", "yes", "whole task where it ends first (StarPU's dm)",
            ("EFT", "EFT"), "clairvoyant rule", Style("cross", "#0c6b45", "#5ee6a8", (4, 2)), featured=True,
        ),
        _builtin(
            "min_min", "batch:MinMin", "yes", "of the ready tasks, the one that ends first goes first",
            ("Min-min", "MIM"), "clairvoyant rule", Style("triangle_down", "#8a4f00", "#ffb454", (3, 2)),
        ),
        _builtin(
            "max_min", "batch:MaxMin", "yes", "of the ready tasks, the one that ends last goes first",
            ("Max-min", "MAM"), "clairvoyant rule", Style("bar", "#1f4fb0", "#7aa8ff", (5, 1.5)),
        ),
        _builtin(
            "sufferage", "batch:Sufferage", "yes", "the task that loses most without its best device first",
            ("Sufferage", "SUFF"), "clairvoyant rule", Style("ring", "#566600", "#d0e86a", (3, 1, 1, 1)),
        ),
        _builtin(
            "search", "search:Search", "yes", "the ready tasks as a batch: prices, then local search",
            ("Search", "SRCH"), "clairvoyant search", Style("hourglass", "#7a2fa0", "#e3b5ff", (6, 1, 2, 1)),
        ),
        _builtin(
            "optimal", "search:Optimal", "yes", "the ready tasks as a batch: local search, then proved (MILP)",
            ("Optimal", "OPT"), "clairvoyant search", Style("parallelogram", "#6b4f1d", "#cdb891", (2, 2, 1, 2)),
        ),
        _builtin(
            "heft", "heft:Heft", "yes", "upward rank, insertion into the earliest gap (graphs)",
            ("HEFT", "HEFT"), "clairvoyant rule", Style("chevron", "#a92222", "#ff8f8f", (2, 1)),
        ),
        _builtin(
            "peft", "heft:Peft", "yes", "optimistic cost table looks one step ahead (graphs)",
            ("PEFT", "PEFT"), "clairvoyant rule", Style("triangle_right", "#00636b", "#a5f3fc", (7, 3)),
        ),
        _builtin(
            "cpop", "cpop:Cpop", "yes", "critical path on one device, the rest where it ends first (graphs)",
            ("CPOP", "CPOP"), "clairvoyant rule", Style("bowtie", "#4a3b8f", "#8f86ff", (1, 1)),
        ),
        _builtin(
            "price", "price:Price", "yes", "the device class with the smallest price · time",
            ("Price", "PRC"), "clairvoyant rule", Style("pentagon", "#a3216b", "#ff9ecb", (6, 2, 1, 2, 1, 2)),
            featured=True,
        ),
        _builtin(
            "spt", "least_increase:ShortestFirst", "yes", "where it ends first; each queue serves the shortest first",
            ("SPT", "SPT"), "clairvoyant rule", Style("octagon", "#0f5e8a", "#6fc3f2", (3, 1.5)),
        ),
        _builtin(
            "least_increase", "least_increase:LeastIncrease", "yes",
            "where the sum of all turnarounds grows least, shortest first",
            ("Least increase", "LINC"), "clairvoyant rule", Style("house", "#8c1c4a", "#ff7fae", (6, 1.5)),
        ),
        _builtin(
            "srpt_age", "least_increase:AgedLeastIncrease", "yes", "least increase, with ageing to bound the tail",
            ("Least increase, ageing", "SRPA"), "clairvoyant rule",
            Style("trapezoid", "#44561f", "#b9d97a", (4, 1, 1, 1, 1, 1)),
        ),
        _builtin(
            "gcmu", "late_binding:GeneralizedCmu", "yes", "an idle device takes the largest age / seconds",
            ("Generalised cμ", "GCMU"), "clairvoyant rule", Style("tee", "#5b2c83", "#c79bf2", (5, 1)),
        ),
        _builtin(
            "maxweight", "late_binding:MaxWeight", "yes", "an idle device serves the type with most tasks · rate",
            ("MaxWeight", "MAXW"), "clairvoyant rule", Style("notch", "#00594f", "#7fe3c8", (2, 1, 5, 1)),
        ),
        _builtin(
            "heteroprio", "heteroprio:HeteroPrio", "yes",
            "an idle device takes what it accelerates most, or takes over what is slow",
            ("HeteroPrio", "HPRI"), "clairvoyant rule", Style("kite", "#283593", "#9fb0ff", (3, 1, 3, 3)),
        ),
        _builtin(
            "dmdas", "dmdas:Dmdas", "yes", "where it ends first; queues by upward rank (StarPU's dmdas)",
            ("dmdas", "DMDS"), "clairvoyant rule", Style("arrow", "#1b5e20", "#98d89c", (7, 1, 1, 1)),
        ),
        _builtin(
            "jsq", "shortest_queue:JoinShortestQueue", "no", "the fewest tasks, of all queues or of d at random",
            ("Shortest queue", "JSQ"), "rule", Style("steps", "#6d4c41", "#d7b49e", (1, 2, 3, 2)),
        ),
        _builtin(
            "work_stealing", "work_stealing:WorkStealing", "no", "round-robin; who is idle steals what waits longest",
            ("Work stealing", "STEAL"), "rule", Style("ell", "#a04000", "#ff9d5c", (2, 4)),
        ),
        _builtin(
            "attention_agent", "attention_agent:AttentionAgent", "no", "set transformer over all that waits",
            ("Attention agent", "ATT"), "learner", Style("crown", "#9d174d", "#ff7eb6", (7, 2, 1, 2)),
        ),
        _builtin(
            "hierarchical", "hierarchical:Hierarchical", "yes", "one policy over groups of nodes, another within",
            ("Hierarchical", "HIER"), "clairvoyant rule", Style("comb", "#2f5d62", "#8fd3c8", (6, 1, 1, 1)),
        ),
    ),
    hint="hms schedulers shows the table",
    adapter="hybrid_scheduler.schedulers.scheduler:from_function",
)  # fmt: skip

PLUGIN_STYLES = (
    Style("octagon", "#0f766e", "#2fd3b5", (5, 2, 1, 2)),
    Style("house", "#be185d", "#ff6fa5", (3, 3)),
    Style("trapezoid", "#33658a", "#86bbd8", (6, 3)),
    Style("tee", "#7b4a2f", "#c98b5e", (2, 3)),
    Style("notch", "#3f6212", "#9acd50", (8, 2, 2, 2)),
    Style("kite", "#86198f", "#f08cff", (4, 1, 1, 1)),
)
"""For third-party schedulers, in alphabetical order of the installed ones, then in the order in which they come."""
VARIANT_MARKERS: tuple[Marker, ...] = ("kite", "octagon", "house", "trapezoid", "tee", "notch")


@dataclass(frozen=True)
class Description:
    """What people see of a scheduler: its name in words, its kind, and how it is drawn."""

    label: str
    short: str
    kind: Kind
    style: Style
    clairvoyant: bool = False  # knows the true times, as far as this table tells


def describe(specs: Iterable[str]) -> dict[str, Description]:
    """Describe schedulers by their specs, without importing any.

    Options keep label and colour: `hybrid_ml:retrain_interval=10` is "Hybrid ML (retrain_interval=10)" in the colour
    of `hybrid_ml`, with another marker and dash. The same specs in the same order always look the same; a name
    that is not installed is taken for a plug-in.
    """
    plugins = sorted(each.name for each in schedulers if each.style is None)
    variants: dict[str, list[list[str]]] = {}
    found: dict[str, Description] = {}
    for spec in specs:
        name, options = split_spec(spec)
        described = _describe_base(name, plugins)
        if options:
            others = variants.setdefault(name, [])
            if options not in others:
                others.append(options)
            described = _describe_variant(described, options, others.index(options) + 1)
        found[spec] = described
    return found


def split_spec(spec: str) -> tuple[str, list[str]]:
    """Split a spec into what it names, `hybrid_ml` or `file.py:Name`, and its options."""
    name, *rest = _split_parts(spec)
    if name.endswith(".py") and rest and "=" not in rest[0]:
        name = f"{name}:{rest.pop(0)}"
    return name, rest


def split_specs(text: str) -> list[str]:
    """Split comma-separated specs; `option=value` behind a comma belongs to the spec before it."""
    specs: list[str] = []
    for part in filter(None, map(str.strip, text.split(","))):
        if specs and "=" in part.partition(":")[0]:
            specs[-1] += f":{part}"
        else:
            specs.append(part)
    return specs


def _split_parts(spec: str) -> list[str]:
    return re.split(r":|,(?=\w+=)", spec)


def _describe_base(name: str, plugins: list[str]) -> Description:
    """Describe a scheduler without options; `plugins` grows with every name that is not built in."""
    entry = schedulers.table.get(name)
    if entry and entry.style:
        return Description(entry.label, entry.short, entry.kind, entry.style, entry.clairvoyant == "yes")
    if name not in plugins:
        plugins.append(name)
    file, is_file, own = name.partition(".py")
    words = name if not is_file else own.lstrip(":") or Path(file).name
    style = PLUGIN_STYLES[plugins.index(name) % len(PLUGIN_STYLES)]
    return Description(_humanize(words), _abbreviate(words), "plug-in", style)


def _describe_variant(base: Description, options: list[str], number: int) -> Description:
    marker = VARIANT_MARKERS[(number - 1) % len(VARIANT_MARKERS)]
    dash = (base.style.dash or (8, 2)) + (1, 2) * number
    label = f"{base.label} ({', '.join(_shorten(each) for each in options)})"
    return replace(
        base, label=label, short=f"{base.short}{number + 1}", style=replace(base.style, marker=marker, dash=dash)
    )


def _shorten(option: str) -> str:
    """Leave folder and ending of a file out: `model=runs/7/forest.model` is `model=forest`."""
    key, equals, value = option.partition("=")
    return f"{key}{equals}{Path(value).stem}" if "/" in value else option


def _humanize(name: str) -> str:
    if not name.islower():
        return name  # the name of a class, or one that is written as it should be
    return name.upper() if len(name) <= 5 and "_" not in name else name.replace("_", " ").capitalize()


def _abbreviate(name: str) -> str:
    first, *rest = name.split("_")
    return (first[:2] + "".join(each[:1] for each in rest) if rest else first[:4]).upper()


job_orders = Registry(
    "order",
    "hybrid_scheduler.job_orders",
    tuple(
        Entry(name, f"hybrid_scheduler.schedulers.{target}", summary, featured=featured)
        for name, target, summary, featured in (
            ("fcfs", "job_orders:FirstCome", "first come, first served", True),
            ("sjf", "job_orders:ShortestJob", "shortest requested time first", True),
            ("f1", "job_orders:F1", "smallest log10(requested) · width + 870 · log10(arrival)", True),
            ("saf", "job_orders:SmallestArea", "smallest requested time · width first", False),
            ("wfp3", "job_orders:Wfp3", "(waiting / requested)³ · width, largest first", True),
            ("unicep", "job_orders:Unicep", "waiting / (log2(width) · requested), largest first", True),
            ("las", "job_orders:LeastAttained", "who has had least, interrupting others (no backfilling)", False),
            (
                "hybrid_ml",
                "job_learner:LearntOrder",
                "learnt run times, in the order that was best so far",
                False,
            ),
            (
                "attention_agent",
                "job_learner:AttentionOrder",
                "hybrid_ml's order, shifted by attention to what came last",
                False,
            ),
            (
                "max_min_fairness",
                "gavel:MaxMinFairness",
                "Gavel: the worst off as fast as can be, in rounds (LP)",
                False,
            ),
            ("min_makespan", "gavel:MinMakespan", "Gavel: the last to end as soon as can be, in rounds (LP)", False),
            ("edf", "job_orders:EarliestDeadline", "earliest deadline first", False),
            ("fair_share", "job_orders:FairShare", "whose user was charged least, over the weight", False),
        )
    ),
    hint="hms jobs --list shows them",
)
"""How the queue of a shared cluster is sorted."""
fits = Registry(
    "fit rule",
    "hybrid_scheduler.fits",
    tuple(
        Entry(name, f"hybrid_scheduler.schedulers.fits:{name}", summary, featured=featured)
        for name, summary, featured in (
            ("random", "any node that has room", True),
            ("dot_product", "smallest product of what is asked for and what is free", True),
            ("gpu_clustering", "beside jobs that take as many GPUs", True),
            ("gpu_packing", "GPUs in use, then free ones beside them, then free nodes", True),
            ("best", "least room left", True),
            ("fgd", "where fragmentation grows least", True),
            ("first", "the first node that has room", False),
            ("worst", "most room left", False),
        )
    ),
    hint="hms jobs --list shows them",
)
"""Which node of a shared cluster takes a job."""

backends = Registry(
    "backend",
    "hybrid_scheduler.backends",
    (
        Entry("local", "hybrid_scheduler.runtime.backend:LocalBackend", "one process per device of this machine"),
        Entry("ray", "hybrid_scheduler.runtime.ray_backend:RayBackend", "one Ray actor per device of a cluster"),
    ),
    hint="docs/execution.md says what each needs",
)
