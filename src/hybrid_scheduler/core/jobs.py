"""Jobs of a shared cluster: how wide, for how long, for whom; checked when built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core.machines import MAX_MODELS, WHOLE, Machines, whole_numbers
from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.errors import InputError, RowError

Bools = npt.NDArray[np.bool_]
Accepted = Sequence[str] | Mapping[str, float]
"""Names of models of GPU, or how fast a job runs on each."""

LONGEST = 1e15
"""Seconds beyond which sums of times lose what they are made of."""


@dataclass(frozen=True, eq=False)
class Jobs:
    """Jobs as columns, in order of arrival. All that a job asks for is taken at once, or the job waits (a gang).

    A job asks for thousandths of a core, MiB of memory, and GPUs: whole ones, or `gpu_milli` thousandths of one. It
    stays on one node unless `span` says that its GPUs may lie on several. `seconds` is how long it runs at speed 1,
    `requested` how long its user said it would: the only one of the two that policies see. A job may name how fast it
    runs on each model; on several it runs as on the slowest.
    """

    arrival: Floats
    seconds: Floats
    requested: Floats
    cpu_milli: Ints
    memory_mib: Ints
    gpus: Ints
    gpu_milli: Ints  # of each of its GPUs
    gpu_memory_mib: Ints  # of each of its GPUs
    models: Ints  # bits of `model_names` that it accepts; 0: any
    speed: Floats  # by job and name: how fast it runs there; 1 if it does not say
    span: Bools
    deadline: Floats  # inf: none
    user: Ints
    weight: Floats
    job_id: Ints
    model_names: tuple[str, ...] = ()
    user_names: tuple[str, ...] = ()  # by number; empty: users are numbers only

    @classmethod
    def build(
        cls,
        seconds: npt.ArrayLike,
        arrival: npt.ArrayLike | None = None,
        requested: npt.ArrayLike | None = None,
        cpu_milli: npt.ArrayLike | None = None,
        memory_mib: npt.ArrayLike | None = None,
        gpus: npt.ArrayLike | None = None,
        gpu_milli: npt.ArrayLike | None = None,
        gpu_memory_mib: npt.ArrayLike | None = None,
        accepts: Sequence[Accepted] | None = None,
        span: npt.ArrayLike | None = None,
        deadline: npt.ArrayLike | None = None,
        user: npt.ArrayLike | None = None,
        weight: npt.ArrayLike | None = None,
        job_id: npt.ArrayLike | None = None,
        user_names: Sequence[str] = (),
    ) -> Jobs:
        """Check the columns and put the jobs in order of arrival; a request that is not given is none.

        `accepts` has the names of models for each job, or a mapping from names to speeds. `user_names` are those of
        users 0, 1, and so on.
        """
        run = _floats("seconds", seconds)
        count = len(run)
        whole, zero = np.full(count, WHOLE), np.zeros(count, np.int64)

        def amounts(name: str, given: npt.ArrayLike | None, default: Ints) -> Ints:
            return default if given is None else whole_numbers(name, given, count)

        def numbers(name: str, given: npt.ArrayLike | None, default: float) -> Floats:
            return np.full(count, default) if given is None else _floats(name, given, count)

        asked = run if requested is None else _floats("requested", requested, count)
        names = sorted({name for each in accepts or () for name in each})
        jobs = cls(
            arrival=numbers("arrival", arrival, 0.0),
            seconds=run,
            requested=np.where(np.isnan(asked), run, asked),
            cpu_milli=amounts("cpu_milli", cpu_milli, zero),
            memory_mib=amounts("memory_mib", memory_mib, zero),
            gpus=amounts("gpus", gpus, zero),
            gpu_milli=amounts("gpu_milli", gpu_milli, whole),
            gpu_memory_mib=amounts("gpu_memory_mib", gpu_memory_mib, zero),
            models=zero if accepts is None else _encode_models(accepts, names, count),
            speed=_encode_speeds(accepts or (), names, count),
            span=np.zeros(count, bool) if span is None else np.require(span, np.bool_, ["C", "W"]),
            deadline=numbers("deadline", deadline, np.inf),
            user=amounts("user", user, zero),
            weight=numbers("weight", weight, 1.0),
            job_id=np.arange(count) if job_id is None else amounts("job_id", job_id, zero),
            model_names=tuple(names),
            user_names=tuple(user_names),
        )
        _check(jobs)
        order = np.argsort(jobs.arrival, kind="stable")
        return jobs if np.array_equal(order, np.arange(count)) else jobs.select(order)

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def width(self) -> Floats:
        """How much of the machine a job takes: GPUs, counting shares, or cores if it has none."""
        return np.where(self.gpus > 0, self.gpus * self.gpu_milli, self.cpu_milli) / WHOLE

    @property
    def users(self) -> Ints:
        """The users that there are, sorted."""
        return np.unique(self.user)

    def name_user(self, user: int) -> str:
        """Return the name of a user, or the number of one without."""
        return self.user_names[user] if self.user_names else str(user)

    def describe(self) -> str:
        """Return in a line what jobs ask for: their widths, shares, estimates and users."""
        wide = self.width[self.gpus > 0] if (self.gpus > 0).any() else self.width
        unit = "GPUs" if (self.gpus > 0).any() else "cores"
        parts = [f"{wide.min():g} to {wide.max():g} {unit}, {np.median(wide):g} in the middle"]
        if (shared := int(((self.gpus > 0) & (self.gpu_milli < WHOLE)).sum())) > 0:
            parts.append(f"{shared:,} take a share of one")
        if (most := int(self.memory_mib.max(initial=0))) > 0:
            parts.append(f"up to {most:,} MiB of memory")
        if (promised := int(np.isfinite(self.deadline).sum())) > 0:
            parts.append(f"{promised:,} have a deadline")
        if (named := int((self.models > 0).sum())) > 0:
            parts.append(f"{named:,} name models")
        if (speeds := int((self.speed != 1.0).any(axis=1).sum())) > 0:
            parts.append(f"{speeds:,} say how fast they run on each")
        if (guessed := int((self.requested != self.seconds).sum())) > 0:
            parts.append(f"{guessed:,} have estimates that differ from their time")
        parts.append(f"{len(self.users):,} users" if len(self.users) > 1 else "users not known")
        return "; ".join(parts)

    def select(self, rows: slice | Ints | Bools) -> Jobs:
        """Return some of the jobs, in the order in which `rows` names them."""
        columns: dict[str, Any] = {
            each.name: getattr(self, each.name)[rows] for each in fields(self) if not each.name.endswith("_names")
        }
        return replace(self, **columns)

    def with_requested(self, requested: Floats) -> Jobs:
        """Return the same jobs with other estimates of how long they run."""
        return replace(self, requested=requested)

    def speeds_on(self, machines: Machines) -> Floats:
        """Return how fast each job runs on each of the machines' models, whether it accepts it or not."""
        columns = [
            self.speed[:, self.model_names.index(name)] if name in self.model_names else np.ones(len(self))
            for name in machines.models
        ]
        return np.column_stack(columns) if columns else np.ones((len(self), 0))

    def best_seconds(self, machines: Machines) -> Floats:
        """Return how long each job runs on the fastest of these models that it accepts."""
        accepted = self.accepted_models(machines)[:, None] >> np.arange(len(machines.models)) & 1
        fastest = np.where(accepted == 1, self.speeds_on(machines), 0.0).max(axis=1, initial=0.0)
        return self.seconds / np.where((self.gpus > 0) & (fastest > 0), fastest, 1.0)

    def accepted_models(self, machines: Machines) -> Ints:
        """Return the bits of the machines' models that each job accepts; a job that names none accepts all."""
        every = (1 << len(machines.models)) - 1
        named = np.zeros(len(self), np.int64)
        for bit, name in enumerate(machines.models):
            if name in self.model_names:
                named |= ((self.models >> self.model_names.index(name)) & 1) << bit
        return np.where(self.models == 0, every, named)


def _encode_models(accepts: Sequence[Accepted], names: list[str], count: int) -> Ints:
    if len(accepts) != count:
        raise InputError(f"accepted models are given for {len(accepts)} of {count} jobs: give them for each")
    if len(names) > MAX_MODELS:
        raise InputError(f"jobs name {len(names)} models of GPU, at most {MAX_MODELS} can be told apart")
    bit = {name: 1 << place for place, name in enumerate(names)}
    return np.array([sum(bit[name] for name in set(each)) for each in accepts], np.int64)


def _encode_speeds(accepts: Sequence[Accepted], names: list[str], count: int) -> Floats:
    speed, places = np.ones((count, len(names))), {name: place for place, name in enumerate(names)}
    for row, each in enumerate(accepts):
        if isinstance(each, Mapping):
            for name, value in each.items():
                speed[row, places[name]] = value
    return speed


def _floats(name: str, values: npt.ArrayLike, count: int | None = None) -> Floats:
    column = np.require(values, np.float64, ["C", "W"])
    if column.ndim != 1 or (count is not None and len(column) != count):
        raise InputError(f"column '{name}' has shape {column.shape}, expected ({count or 'n'},): one value a job")
    return column


def _check(jobs: Jobs) -> None:
    if jobs.span.shape != jobs.seconds.shape:
        raise InputError(f"column 'span' has shape {jobs.span.shape}, expected ({len(jobs)},): one value a job")
    moments, ends = (jobs.arrival >= 0) & (jobs.arrival <= LONGEST), jobs.seconds < np.inf
    _require("arrival", jobs.arrival, moments, f"seconds, 0 or more, at most {LONGEST:g}")
    _require("seconds", jobs.seconds, jobs.seconds > 0, "seconds above 0, inf for a job that stays")
    _require("seconds", jobs.seconds, ~ends | (jobs.seconds <= LONGEST), f"at most {LONGEST:g}")
    _require("requested", jobs.requested, jobs.requested > 0, "seconds above 0")
    _require("deadline", jobs.deadline, jobs.deadline > 0, "a moment above 0, inf for none")
    _require("weight", jobs.weight, (jobs.weight > 0) & np.isfinite(jobs.weight), "a number above 0")
    slowest, fastest = jobs.speed.min(axis=1, initial=1.0), jobs.speed.max(axis=1, initial=1.0)
    _require("speed", slowest, (slowest > 0) & (fastest < np.inf), "a number above 0 for every model that it names")
    share = jobs.gpu_milli
    _require("gpu_milli", share, (share > 0) & (share <= WHOLE) | (jobs.gpus == 0), "1 to 1000 thousandths of a GPU")
    several = (jobs.gpus > 1) & (share < WHOLE)
    _require("gpus", jobs.gpus, ~several, "1 for a job that takes a share of one: shares never span devices")
    _require("cpu_milli", jobs.cpu_milli, (jobs.cpu_milli > 0) | (jobs.gpus > 0), "a core or a GPU to ask for")


def _require(name: str, column: Floats | Ints, good: Bools, expected: str) -> None:
    if not good.all():
        row = int(np.argmin(good))
        raise RowError(row, f"{name} is {column[row]:g}, expected {expected}: correct or drop this row")
