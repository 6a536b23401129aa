"""Studies of shared clusters: orders with backfilling on windows of a log, fit rules that fill machines with pods."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler import registry
from hybrid_scheduler.bounds.area import AreaBound, area_bound, verify_area_bound
from hybrid_scheduler.bounds.job_turnaround import (
    JobTurnaroundBound,
    job_turnaround_bound,
    verify_job_turnaround_bound,
)
from hybrid_scheduler.core.formatting import (
    format_count,
    format_quantity,
    format_table,
    format_value,
)
from hybrid_scheduler.core.job_metrics import JOB_MEASURES, THRESHOLD, measure_allocation, measure_jobs, measure_users
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import NO_LIMIT, WHOLE, Machines
from hybrid_scheduler.core.metrics import Interval, Measure, bootstrap, bootstrap_paired
from hybrid_scheduler.core.packing import FitRule, measure_fragmentation
from hybrid_scheduler.core.schedule import BACKFILLING, Schedule, schedule_jobs
from hybrid_scheduler.core.spot import Departures, Spot
from hybrid_scheduler.core.tasks import Ints
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.files import new_directory, sha256
from hybrid_scheduler.studies.compare import Progress, track
from hybrid_scheduler.studies.results import (
    MANIFEST,
    MEASURES,
    RESULT,
    corrupt_file,
    read_manifest,
    require_intact,
    require_same_inputs,
    to_json,
    write_manifest,
)
from hybrid_scheduler.workloads.formats import reader
from hybrid_scheduler.workloads.job_presets import JOB_PRESETS, draw_jobs

PACKING_MEASURES: dict[str, Measure] = {
    "allocated_gpus": Measure("share", "GPUs held at the end, of all", less_is_better=False),
    "fragmentation": Measure("share", "GPUs that are left and that typical pods cannot use, of all"),
    "turned_away": Measure("pods", "pods that found no room"),
    "seconds": Measure("s", "wall time of the run, measured"),
}
PAST = 4096
"""Jobs before a window from which learners learn."""
KIND, FILLING = "jobs", "filling"
"""The kinds of a manifest: queues of jobs, machines filled with pods."""
SHOWN = ("bounded_slowdown", "mean_waiting", "utilisation", "makespan_over_bound")


@dataclass(frozen=True)
class Case:
    """A window: its jobs and machines, and the jobs before it, from which learners learn."""

    title: str
    jobs: Jobs
    machines: Machines
    past: Jobs
    departures: Departures | None = None  # of spot nodes


@dataclass(frozen=True)
class Window:
    """What became of the jobs of one window, by policy."""

    title: str
    schedules: dict[str, Schedule]
    threshold: float


def _split_policy(policy: str) -> tuple[str, str, str]:
    """Return order, backfilling and fit rule of `f1`, `f1+easy` or `fcfs+none+fgd`; empty where it says nothing."""
    order, backfill, fit, *more = (*policy.split("+"), "", "")
    if len(more) > 2 or any(more):
        raise InputError(f"'{policy}' has too many parts: expected ORDER+BACKFILLING+FIT")
    return order, backfill, fit


@dataclass(frozen=True)
class JobStudy:
    """What is run: jobs on machines, or a preset drawn by seed, cut into windows of consecutive jobs."""

    name: str
    jobs: Jobs | None  # None: `name` is a preset
    machines: Machines | None
    orders: tuple[str, ...] = ("fcfs", "sjf", "f1")  # one such as `f1+easy` has its own backfilling
    backfilling: tuple[str, ...] = ("none",)
    fits: tuple[str, ...] = ("best",)
    windows: int = 1
    window_jobs: int | None = None  # None: all jobs in one window
    seeds: tuple[int, ...] = (0,)  # of presets, and the first of them of where windows begin
    threshold: float = THRESHOLD
    keep_head: bool = True
    spot: Spot | None = None  # some nodes leave and return
    files: tuple[str, ...] = ()  # that `jobs` were read from
    form: str = ""
    pool: tuple[int | None, int | None] = (None, None)  # processors and GPUs instead of the machines of the files

    @classmethod
    def read(
        cls,
        files: Sequence[str],
        form: str = "",
        pool: tuple[int | None, int | None] = (None, None),
        **options: Any,
    ) -> JobStudy:
        """Return the study of a preset, or of files with their machines or a pool in place of those."""
        processors, gpus = pool
        machines = None
        if processors is not None or gpus is not None:
            machines = Machines.pool(NO_LIMIT // WHOLE if processors is None else processors, gpus or 0)
        if files[0] in JOB_PRESETS:
            if len(files) > 1:
                raise InputError(f"{files[0]} is a preset and has its own machines: give no file beside it")
            return cls(files[0], None, machines, **options, files=tuple(files), pool=pool)
        if not Path(files[0]).is_file():
            raise InputError(f"{files[0]} is no file and no preset ({', '.join(JOB_PRESETS)}): check the path")
        found = reader.read_jobs(files, form)
        name, machines = Path(files[0]).name, machines or found.machines
        return cls(name, found.jobs, machines, **options, files=tuple(files), form=form, pool=pool)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `from_dict` makes the same study of."""
        data = {each.name: getattr(self, each.name) for each in fields(self)}
        files = [name if name in JOB_PRESETS else str(Path(name).resolve()) for name in self.files]
        spot = None if self.spot is None else asdict(self.spot)
        return {name: value for name, value in data.items() if name not in ("name", "jobs", "machines")} | {
            "files": files,
            "spot": spot,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> JobStudy:
        """Return the study that plain data describes; its files are read again."""
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in data.items()
        }
        spot: dict[str, float] | None = given["spot"]
        return cls.read(**{**given, "spot": None if spot is None else Spot(**spot)})

    def __post_init__(self) -> None:
        own = [_split_policy(each) for each in self.orders]
        for order, _, _ in own:
            registry.job_orders.create(order)
        for fit in (*self.fits, *(fit for *_, fit in own if fit)):
            registry.fits.create(fit)
        for backfill in (*self.backfilling, *(backfill for _, backfill, _ in own if backfill)):
            if backfill not in BACKFILLING:
                raise unknown_name("backfilling", backfill, BACKFILLING)
        if self.windows < 1 or (self.window_jobs is not None and self.window_jobs < 1):
            raise InputError(f"there are {self.windows} windows of {self.window_jobs} jobs: give 1 or more of each")
        if not self.threshold > 0:
            raise InputError(f"the threshold is {self.threshold:g} s, expected seconds above 0")

    @classmethod
    def single(cls, files: Sequence[str], policy: str, form: str = "") -> JobStudy:
        """Return the study of one policy such as `f1+easy` or `fcfs+none+fgd`."""
        order, backfill, fit = _split_policy(policy)
        return cls.read(files, form, orders=(order,), backfilling=(backfill or "none",), fits=(fit or "best",))

    @property
    def policies(self) -> dict[str, tuple[str, str, str]]:
        """Order, backfilling and fit rule by the name of their combination, such as `f1+easy`."""
        found = {}
        for policy in self.orders:
            order, own, own_fit = _split_policy(policy)
            preempts = registry.job_orders.create(order).preempts  # it has no queue to pass
            for backfill in ("none",) if preempts else (own,) if own else self.backfilling:
                for fit in (own_fit,) if own_fit else self.fits:
                    shown = [fit] if own_fit or len(self.fits) > 1 else []
                    parts = [order, *([backfill] if backfill != "none" or own_fit else []), *shown]
                    found["+".join(parts)] = (order, backfill, fit)
        return found

    def first_window(self) -> Window:
        """Return the schedules of the first window."""
        case = self.cases()[0]
        what = f"{len(case.jobs):,} jobs on {case.machines.describe()}, simulated"
        return Window(f"{self.name}, {case.title}: {what}", dict(schedule_window(self, case)), self.threshold)

    def cases(self) -> list[Case]:
        """Return the windows, or the draws of a preset, each with its machines and what came before it."""
        return [self._add_departures(number, case) for number, case in enumerate(self._cut())]

    def _add_departures(self, number: int, case: Case) -> Case:
        if self.spot is None:
            return case
        return replace(case, departures=self.spot.draw(case.jobs, case.machines, self.seeds[0] + number))

    def _cut(self) -> list[Case]:
        if self.jobs is None:
            return [self._draw(seed) for seed in self.seeds]
        if self.machines is None:
            raise InputError(f"{self.name} names no machines: give --processors, --gpus or a list of nodes")
        if not np.isfinite(self.jobs.seconds).any():
            raise InputError(f"{self.name} does not say how long its jobs run: fill machines with them (--fill 1.3)")
        count = len(self.jobs) if self.window_jobs is None else min(self.window_jobs, len(self.jobs))
        generator = np.random.default_rng(self.seeds[0])
        begins = generator.integers(0, len(self.jobs) - count + 1, self.windows) if count < len(self.jobs) else [0]
        return [
            Case(
                f"job {first + 1}",
                self.jobs.select(slice(int(first), int(first) + count)),
                self.machines,
                self.jobs.select(slice(max(0, int(first) - PAST), int(first))),
            )
            for first in begins
        ]

    def _draw(self, seed: int) -> Case:
        """Draw a preset; the past that learners see is another draw."""
        jobs, own = draw_jobs(self.name, seed, self.window_jobs)
        return Case(f"seed {seed}", jobs, self.machines or own, draw_jobs(self.name, seed + PAST, PAST)[0])


@dataclass(frozen=True)
class JobOutcome:
    """One window: its bounds, whether other code has checked them, and the measures of every policy."""

    title: str
    bound: AreaBound
    turnaround: JobTurnaroundBound
    verified: bool
    measures: dict[str, dict[str, float]]
    users: dict[str, dict[str, dict[str, float]]]


@dataclass(frozen=True)
class JobResult:
    """A finished study."""

    study: JobStudy
    outcomes: tuple[JobOutcome, ...]
    jobs: int  # in a window
    machines: str

    @property
    def noun(self) -> str:
        """What the outcomes are: windows of files, or seeds of a preset."""
        return "seed" if self.study.jobs is None else "window"

    def values(self, policy: str, name: str) -> list[float]:
        """Return one measure of a policy, window by window."""
        return [outcome.measures[policy][name] for outcome in self.outcomes]

    def interval(self, policy: str, name: str) -> Interval:
        """Return the mean of a measure over the windows with its 95 % interval."""
        return bootstrap(self.values(policy, name))

    def ranking(self, name: str = "bounded_slowdown") -> list[str]:
        """Return the policies, smallest mean first."""
        return sorted(self.study.policies, key=lambda policy: self.interval(policy, name).mean)

    def describe(self) -> list[str]:
        """Return what was run and what is proved."""
        windows = format_count(len(self.outcomes), self.noun)
        lines = [f"{self.study.name}: {windows} of {format_count(self.jobs, 'job')} on {self.machines}, simulated"]
        if (spot := self.study.spot) is not None:
            means = f"{spot.stay:g} s, away {spot.away:g} s (means)"
            lines.append(f"{spot.share:.0%} of the nodes are spot: stay {means}, notice {spot.notice:g} s")
        if rejected := sum(next(iter(each.measures.values()))["rejected"] for each in self.outcomes):
            lines.append(f"{format_count(int(rejected), 'job')} did not run: no machine here has room for so much")
        checked = "checked" if all(each.verified for each in self.outcomes) else "NOT VERIFIED"
        priced = [name for name, price in self.outcomes[0].bound.prices.items() if price]
        proof = f"{priced[0]} priced" if len(priced) == 1 else f"{len(priced)} prices" if priced else "one long job"
        lines.append(f"certified bounds of makespan ({proof}) and mean turnaround, {checked}")
        return lines

    def table(self) -> list[str]:
        """Return the lines of the table, best policy first."""
        extra = [name for name in ("deadline_misses", "jain_index") if self._varies(name)]
        names = [*SHOWN, *extra]
        rows = [(policy, *(self._format(policy, name) for name in names)) for policy in self.ranking()]
        titles = {"bounded_slowdown": "slowdown", "makespan_over_bound": "/ bound", "mean_waiting": "waiting"}
        titles |= {"deadline_misses": "missed", "jain_index": "Jain", "utilisation": "used"}
        return format_table(("policy", *(titles.get(name, name) for name in names)), rows)

    def _varies(self, name: str) -> bool:
        found = np.array([self.interval(policy, name).mean for policy in self.study.policies])
        return bool(np.isfinite(found).all() and np.ptp(found) > 0)

    def _format(self, policy: str, name: str) -> str:
        each, unit = self.interval(policy, name), JOB_MEASURES[name].unit
        if name != "bounded_slowdown":
            return format_value(each.mean, unit)
        return f"{_shorten(each.mean)} [{_shorten(each.low)}, {_shorten(each.high)}]"

    def verdict(self, name: Callable[[str], str] = str) -> str:
        """Return who has the smallest mean bounded slowdown, and who cannot be told from it; `name` writes names."""
        best, *others = self.ranking()
        if not others:
            return f"{name(best)} ran alone"
        gaps = {
            policy: bootstrap_paired(self.values(policy, "bounded_slowdown"), self.values(best, "bounded_slowdown"))
            for policy in others
        }
        tied = [policy for policy, gap in gaps.items() if not gap.low > 0]
        where = format_count(len(self.outcomes), self.noun)
        if tied:
            return f"tie: {', '.join(map(name, (best, *tied)))} cannot be told apart on {where}"
        factor = self.interval(others[0], "bounded_slowdown").mean / self.interval(best, "bounded_slowdown").mean
        leads = f"{name(best)} leads: the slowdown of {name(others[0])}, the next,"
        return f"{leads} is {factor:.3g} times as large on {where}"

    def to_document(self) -> dict[str, Any]:
        """Return plain data: every measure of every policy with its interval, and window by window."""
        measures = {
            policy: {
                name: {"mean": each.mean, "interval": [each.low, each.high], "values": self.values(policy, name)}
                for name in JOB_MEASURES
                if (each := self.interval(policy, name))
            }
            for policy in self.study.policies
        }
        bounds = [
            {"window": each.title, "end": each.bound.end, "prices": each.bound.prices, "since": each.bound.since}
            | {"mean_turnaround": each.turnaround.mean, "turnaround_prices": each.turnaround.prices}
            | {"verified": each.verified}
            for each in self.outcomes
        ]
        document = {"source": self.study.name, "jobs": self.jobs, "machines": self.machines}
        users = {policy: self.outcomes[0].users[policy] for policy in self.study.policies}
        return {**document, "policies": measures, "bounds": bounds, "users": users, "verdict": self.verdict()}

    @classmethod
    def from_document(cls, study: JobStudy, document: Mapping[str, Any]) -> JobResult:
        """Return the result that `to_document` wrote; users are those of the first window."""
        nan = float("nan")
        outcomes = [
            JobOutcome(
                bound["window"],
                AreaBound(bound["end"], bound["prices"], bound["since"]),
                JobTurnaroundBound(bound.get("mean_turnaround", nan), bound.get("turnaround_prices", {})),
                bound["verified"],
                {
                    policy: dict.fromkeys(JOB_MEASURES, nan)  # older runs have fewer
                    | {
                        name: nan if each["values"][number] is None else each["values"][number]
                        for name, each in measures.items()
                    }
                    for policy, measures in document["policies"].items()
                },
                document["users"] if number == 0 else {},
            )
            for number, bound in enumerate(document["bounds"])
        ]
        return cls(study, tuple(outcomes), document["jobs"], document["machines"])

    def to_csv(self, names: Sequence[str] = tuple(JOB_MEASURES)) -> str:
        """Return a table with a line for every policy and window, of all measures or some."""
        return _write_csv(
            ["window", "policy", *names],
            [
                [outcome.title, policy, *(outcome.measures[policy][name] for name in names)]
                for outcome in self.outcomes
                for policy in self.study.policies
            ],
        )


def run_jobs(study: JobStudy, progress: Progress | None = None) -> JobResult:
    """Run every policy on every window."""
    cases = study.cases()
    outcomes = [_run_window(study, case) for case in track(cases, progress)]
    return JobResult(study, tuple(outcomes), len(cases[0].jobs), cases[0].machines.describe())


def schedule_window(study: JobStudy, case: Case) -> Iterator[tuple[str, Schedule]]:
    """Yield the name of every policy and its schedule of a window."""
    for policy, (order, backfill, fit) in study.policies.items():
        yield policy, run_policy(study, case, order, backfill, fit)


def _run_window(study: JobStudy, case: Case) -> JobOutcome:
    jobs, machines = case.jobs, case.machines
    bound, flow = area_bound(jobs, machines), job_turnaround_bound(jobs, machines)
    verified = verify_area_bound(bound, jobs, machines) and verify_job_turnaround_bound(flow, jobs, machines)
    measures, users = {}, {}
    for policy, found in schedule_window(study, case):
        measures[policy] = measure_jobs(found, bound.end - float(jobs.arrival.min()), study.threshold, flow.mean)
        users[policy] = measure_users(found, study.threshold)
    return JobOutcome(case.title, bound, flow, verified, measures, users)


def run_policy(
    study: JobStudy, case: Case, order: str, backfill: str, fit: str, *, interpreted: bool = False
) -> Schedule:
    """Run one of a study's policies on a window; a learner learns from what came before it."""
    policy = registry.job_orders.create(order)
    if policy.learns:
        policy.learn(case.past, case.machines, backfill)
    found: Schedule = policy.run(
        *(case.jobs, case.machines, backfill, registry.fits.create(fit)),
        keep_head=study.keep_head,
        departures=case.departures,
        interpreted=interpreted,
    )
    return found


def save_jobs(result: JobResult, directory: str | Path, command: Sequence[str]) -> None:
    """Keep a study in a new folder: what was run, and every measure."""
    texts = {RESULT: to_json(result.to_document()), MEASURES: result.to_csv()}
    _keep(directory, command, texts, result.study, {}, KIND)


def save_filling(result: PackingResult, study: JobStudy, directory: str | Path, command: Sequence[str]) -> None:
    """Keep a filling in a new folder: what was run, and every measure; the table leaves out wall times."""
    texts = {RESULT: to_json(result.to_document()), MEASURES: result.to_csv(wall=False)}
    _keep(directory, command, texts, study, {"fill": result.fill}, FILLING)


def _keep(
    directory: str | Path,
    command: Sequence[str],
    texts: Mapping[str, str],
    study: JobStudy,
    more: Mapping[str, float],
    kind: str,
) -> None:
    with new_directory(directory) as folder:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        digests = {name: sha256(path) for name, path in _list_files(study, folder).items()}
        write_manifest(folder, command, {"study": study.to_dict(), "sha256": digests, **more}, kind)


def _list_files(study: JobStudy, folder: Path) -> dict[str, Path]:
    """Return the files of a kept study, and those that it rests on: jobs, machines, policies of one's own."""
    policies = sorted({spec.partition(":")[0] for spec in (*study.orders, *study.fits)})
    files = [name for name in study.to_dict()["files"] if name not in JOB_PRESETS]
    own = {name: folder / name for name in (RESULT, MEASURES)}
    return own | {name: Path(name) for name in (*files, *policies) if name in files or name.endswith(".py")}


def is_jobs(directory: str | Path, kind: str = KIND) -> bool:
    """Whether a folder keeps a study of jobs, or another kind."""
    return (Path(directory) / MANIFEST).is_file() and read_manifest(directory).get("kind") == kind


def load_jobs(directory: str | Path) -> tuple[JobResult, dict[str, Any]]:
    """Read a kept study and its manifest; files whose jobs were run must still be the same."""
    study, manifest = _load_study(directory)
    path = Path(directory) / RESULT
    try:
        return JobResult.from_document(study, json.loads(path.read_text(encoding="utf-8"))), manifest
    except (KeyError, TypeError, AttributeError, IndexError):
        raise corrupt_file(path.with_name(MANIFEST)) from None


def _load_study(directory: str | Path) -> tuple[JobStudy, dict[str, Any]]:
    manifest, path = read_manifest(directory), Path(directory) / RESULT
    require_intact(path, manifest)
    require_same_inputs(manifest)
    try:
        return JobStudy.from_dict(manifest["study"]), manifest
    except (KeyError, TypeError, AttributeError, IndexError):
        raise corrupt_file(path.with_name(MANIFEST)) from None


def repeat_jobs(directory: str | Path, progress: Progress | None = None) -> tuple[JobResult, bool]:
    """Run a kept study again; return what came out, and whether every measure is the same, bit for bit.

    Earlier versions kept fewer measures: those that were kept are compared.
    """
    kept, manifest = load_jobs(directory)
    again, text = run_jobs(kept.study, progress), _read_measures(directory, manifest)
    names = [name for name in next(csv.reader(io.StringIO(text)))[2:] if name in JOB_MEASURES]
    return again, again.to_csv(names) == text


def repeat_filling(directory: str | Path, progress: Progress | None = None) -> tuple[PackingResult, bool]:
    """Fill machines again; return what came out, and whether all but wall times is the same, bit for bit."""
    study, manifest = _load_study(directory)
    if study.jobs is None or study.machines is None or not isinstance(manifest.get("fill"), float):
        raise corrupt_file(Path(directory) / MANIFEST)
    again = fill_machines(study.name, study.jobs, study.machines, study.fits, manifest["fill"], study.seeds, progress)
    return again, again.to_csv(wall=False) == _read_measures(directory, manifest)


def _read_measures(directory: str | Path, manifest: dict[str, Any]) -> str:
    path = Path(directory) / MEASURES
    require_intact(path, manifest)
    return path.read_text(encoding="utf-8")


@dataclass(frozen=True)
class PackingResult:
    """Machines filled with pods that never leave, by fit rule and seed."""

    name: str
    fill: float
    seeds: tuple[int, ...]
    machines: str
    pods: int
    measures: Mapping[str, list[dict[str, float]]]

    def interval(self, rule: str, name: str) -> Interval:
        """Return the mean of a measure over the seeds with its 95 % interval."""
        return bootstrap([each[name] for each in self.measures[rule]])

    def deviation(self, rule: str, name: str = "allocated_gpus") -> float:
        """Return the standard deviation over the seeds."""
        values = [each[name] for each in self.measures[rule]]
        return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")

    def describe(self) -> list[str]:
        """Return what was run."""
        seeds = format_count(len(self.seeds), "seed")
        return [f"{self.name}: pods that ask for {self.fill:.0%} of {self.machines}, {seeds}, simulated"]

    def table(self) -> list[str]:
        """Return the lines of the table, the most GPUs first."""
        rules = sorted(self.measures, key=lambda rule: -self.interval(rule, "allocated_gpus").mean)
        rows = []
        for rule in rules:
            share, broken = self.interval(rule, "allocated_gpus"), self.interval(rule, "fragmentation")
            interval = f"{100 * share.mean:.2f} [{100 * share.low:.2f}, {100 * share.high:.2f}] %"
            away = f"{self.interval(rule, 'turned_away').mean:,.0f}"
            wall = format_quantity(self.interval(rule, "seconds").mean, "s")
            deviation = f"{100 * self.deviation(rule):.2f}"
            rows.append((rule, interval, deviation, f"{100 * broken.mean:.2f} %", away, wall))
        return format_table(("fit rule", "GPUs allocated", "σ", "fragments", "turned away", "a run"), rows)

    def to_document(self) -> dict[str, Any]:
        """Return plain data: every measure of every rule, seed by seed."""
        return {
            "source": self.name,
            "fill": self.fill,
            "seeds": list(self.seeds),
            "machines": self.machines,
            "fits": {
                rule: {
                    name: {
                        "mean": each.mean,
                        "interval": [each.low, each.high],
                        "values": [row[name] for row in rows],
                    }
                    for name in PACKING_MEASURES
                    if (each := self.interval(rule, name))
                }
                | {"deviation": self.deviation(rule)}
                for rule, rows in self.measures.items()
            },
        }

    def to_csv(self, *, wall: bool = True) -> str:
        """Return a table with a line for every rule and seed, with wall times or without."""
        names = [name for name in PACKING_MEASURES if wall or name != "seconds"]
        rows = [
            [rule, seed, *(each[name] for name in names)]
            for rule, found in self.measures.items()
            for seed, each in zip(self.seeds, found, strict=True)
        ]
        return _write_csv(["fit", "seed", *names], rows)


def fill_machines(
    name: str,
    pods: Jobs,
    machines: Machines,
    fits: Sequence[str],
    fill: float,
    seeds: tuple[int, ...],
    progress: Progress | None = None,
) -> PackingResult:
    """Fill the nodes that have GPUs with pods drawn at random until they have asked for `fill` times all GPUs.

    As in Weng et al. 2023: first all pods of the list in random order, then more of them with replacement. A pod that
    finds no room is turned away, none leaves. Of equal nodes a random order, the same throughout a run, decides.
    """
    nodes = machines.with_gpus()
    if not nodes.total_gpus or not (pods.gpus > 0).any():
        raise InputError(f"{name}: filling counts GPUs, and there are none: give pods and nodes with GPUs")
    if not 0 < fill < 100:
        raise InputError(f"--fill is {fill:g}, expected a number such as 1.3 (130 % of all GPUs are asked for)")
    measures: dict[str, list[dict[str, float]]] = {spec: [] for spec in fits}
    gauge = registry.fits.create("fgd")
    gauge.prepare(pods, nodes)
    for seed in track(seeds, progress):
        stream, rank = draw_pods(pods, nodes, fill, seed)
        for spec in fits:
            measures[spec].append(_fill(stream, pods, nodes, registry.fits.create(spec, seed=seed), rank, gauge))
    return PackingResult(name, fill, seeds, nodes.describe(), len(pods), measures)


def _fill(stream: Jobs, pods: Jobs, nodes: Machines, rule: FitRule, rank: Ints, gauge: FitRule) -> dict[str, float]:
    began = time.perf_counter()
    found = schedule_jobs(
        stream, nodes, registry.job_orders.create("fcfs"), fit=rule, waits=False, rank=rank, typical=pods
    )
    wall = time.perf_counter() - began
    return {
        "allocated_gpus": measure_allocation(found),
        "fragmentation": measure_fragmentation(gauge, found.free) / (nodes.total_gpus * WHOLE),
        "turned_away": float(found.turned_away.sum() + found.rejected.sum()),
        "seconds": wall,
    }


def draw_pods(pods: Jobs, nodes: Machines, fill: float, seed: int) -> tuple[Jobs, Ints]:
    """Return pods in random order that never leave, and an order of the nodes."""
    generator = np.random.default_rng(seed)
    asked = np.where(pods.gpus > 0, pods.gpus * pods.gpu_milli, 0)
    limit = fill * nodes.total_gpus * WHOLE
    rows = generator.permutation(len(pods))
    if asked.sum() > limit:  # too many: some are left out
        rows = rows[np.cumsum(asked[rows]) <= limit]
    total, more = int(asked[rows].sum()), list[int]()
    while True:
        row = int(generator.integers(len(pods)))
        if total + asked[row] > limit:
            break
        total += int(asked[row])
        more.append(row)
    chosen = np.concatenate([rows, np.array(more, np.int64)])
    count = len(chosen)
    stream = replace(pods.select(chosen), arrival=np.arange(count, dtype=np.float64), seconds=np.full(count, np.inf))
    return stream, generator.permutation(len(nodes))


def _shorten(value: float) -> str:
    """Write a slowdown with three digits that count, larger ones whole."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _write_csv(header: list[str], rows: list[list[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
