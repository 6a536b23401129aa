"""The source of a comparison's tasks: a preset, files, a factorisation or a measured machine, pinned by SHA-256."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.metrics import SLOWDOWN_FLOOR
from hybrid_scheduler.core.physics import assume_formula, unmeasured_classes
from hybrid_scheduler.core.tasks import Tasks, base_duration
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.files import sha256
from hybrid_scheduler.profiling.calibration import calibrate
from hybrid_scheduler.profiling.profile import TO_DEVICE, Profile
from hybrid_scheduler.profiling.profile_file import load_profile
from hybrid_scheduler.workloads.composition import OWN_FORMATS, load_composition
from hybrid_scheduler.workloads.conversion import find_cluster_file
from hybrid_scheduler.workloads.factorisations import FactorisationSpec
from hybrid_scheduler.workloads.formats import reader
from hybrid_scheduler.workloads.formats.reader import Imported
from hybrid_scheduler.workloads.generator import PRESETS, WorkloadGenerator, find_preset, scale_arrivals
from hybrid_scheduler.workloads.job_presets import JOB_PRESETS
from hybrid_scheduler.workloads.noise import STARPU, Noise, parse_noise
from hybrid_scheduler.workloads.statistics import summarise

PROFILE = "profile"  # the workload that consists of a profile's own kernels
NUM_TASKS = 2000
FORMULA = "formula"
ASSUMPTIONS = (FORMULA,)
"""Rules for the times of tasks on classes on which they were not measured."""


@dataclass(frozen=True)
class Source:
    """What tasks are drawn or read from, how many of them, and at which rate or load they arrive."""

    name: str
    num_tasks: int | None = None
    rate: float | None = None
    load: float | None = None
    sha256: str = ""  # of the file: a repeated run reads the same bytes
    profile: str = ""  # path of a hardware profile whose machine is simulated
    profile_sha256: str = ""
    noise: str = ""  # a number, starpu:FILE or a file of ratios: actual times then differ from expected ones
    noise_sha256: str = ""
    companions: tuple[tuple[str, str], ...] = ()  # files that belong to the first, each with its SHA-256
    assume: str = ""  # a rule of `ASSUMPTIONS` for the times on classes that a file of measured times lacks
    serialise: bool = False  # whether jobs of several processors may run on one device, with all of their work

    @classmethod
    def of(
        cls,
        name: str,
        num_tasks: int | None = None,
        rate: float | None = None,
        load: float | None = None,
        profile: str | Path | None = None,
        noise: str = "",
        assume: str = "",
        serialise: bool = False,
    ) -> Source:
        """Build the source that `name` stands for: a preset, `profile`, a factorisation, else one or more files."""
        if rate is not None and load is not None:
            raise InputError("both --rate and --load were given: give one of them")
        if num_tasks is not None and num_tasks < 1:
            raise InputError(f"number of tasks is {num_tasks}, expected a whole number above 0")
        if assume and assume not in ASSUMPTIONS:
            raise unknown_name("rule for times that were not measured", assume, ASSUMPTIONS)
        source = cls(name, num_tasks, rate, load, assume=assume, serialise=serialise)
        if profile is None:
            source = source._pin_files()
        elif name != PROFILE and name not in PRESETS:
            raise InputError(
                f"--profile gives tasks their durations, and {name} has its own: name a preset or leave it out"
            )
        else:
            load_profile(profile)  # fails here, before any work, if it cannot be used
            source = replace(source, profile=str(Path(profile).resolve()), profile_sha256=sha256(profile))
        if not noise:
            return source
        # Paths become absolute, so that a run can be repeated from another folder.
        model, prefix = parse_noise(noise), STARPU if noise.startswith(STARPU) else ""
        return replace(source, noise=f"{prefix}{model.path}" if model.path else noise, noise_sha256=model.sha256)

    def _pin_files(self) -> Source:
        """Return the same with absolute paths and SHA-256 of its files; a preset has none."""
        name, path = self.name, Path(self.name)
        if name == PROFILE:
            raise InputError("the workload 'profile' is made of measured kernels: give --profile FILE too")
        if name in PRESETS:
            return self
        if spec := FactorisationSpec.parse(name):
            spec.build()  # fails here, before any work, if it cannot be used
            return replace(self, name=str(spec.resolve()), sha256=spec.digest())
        if path.is_dir():
            raise InputError(f"{name} is a directory: give the path of a file in it")
        if path.is_file():
            return replace(self, name=str(path.resolve()), sha256=sha256(path))
        if "," in name:  # files that belong together
            first, *others = (replace(self, name=each.strip())._pin_files() for each in name.split(","))
            for each in (first, *others):
                if not each.is_file or each.companions or FactorisationSpec.parse(each.name):
                    raise InputError(f"'{each.title}' is no file that belongs to others: name files, or one workload")
            return replace(first, companions=tuple((each.name, each.sha256) for each in others))
        if path.suffix or len(path.parts) > 1:
            raise InputError(f"{name} does not exist: check the path, or make one with hms generate")
        if name in JOB_PRESETS:
            raise InputError(f"'{name}' is a preset of jobs of a shared cluster: run it with hms jobs {name}")
        hint = (
            f"of jobs of a shared cluster: {', '.join(JOB_PRESETS)}; or the path of a file that hms import can read"
        )
        raise unknown_name("preset", name, PRESETS, hint)

    @property
    def is_file(self) -> bool:
        """Whether the tasks come from a file; seeds then only change the random choices of schedulers."""
        return bool(self.sha256)

    @property
    def is_fixed(self) -> bool:
        """Whether every seed has the same tasks with the same times."""
        return self.is_file and not self.noise

    def tasks(self, seed: int, cluster: Cluster) -> Tasks:
        """Return the tasks of a seed; with noise, their actual times differ from the expected ones."""
        tasks = self._load_tasks(seed, cluster)
        return self.load_noise().apply(tasks, cluster, seed) if self.noise else tasks

    def load_noise(self) -> Noise:
        """Load the noise; a measurement that has changed since the source was built is refused."""
        noise = parse_noise(self.noise)
        if noise.sha256 != self.noise_sha256:
            raise InputError(f"{noise.path} is not the measurement that was used (its SHA-256 differs): restore it")
        return noise

    def _load_tasks(self, seed: int, cluster: Cluster) -> Tasks:
        name, count, rate, load = self.name, self.num_tasks, self.rate, self.load
        if self.profile:
            _require_same(self.profile, self.profile_sha256)
            profile = load_profile(self.profile)
            return generate_profiled(profile, name, seed, cluster, num_tasks=count, rate=rate, load=load)
        if not self.is_file:
            return WorkloadGenerator(seed).generate_preset(name, count, rate=rate, load=load, cluster=cluster)
        tasks = self._read_files().tasks
        if tasks.serialised and not self.serialise:
            raise InputError(
                f"{self.title}: {tasks.serialised:,} of {len(tasks):,} jobs took several processors at once, and a "
                "task here runs on one device: hms jobs runs them as wide as they are, --serialise gives it their "
                "whole work, which takes longer than it did"
            )
        if self.assume == FORMULA:
            tasks = assume_formula(tasks, cluster)
        if count is not None and count < len(tasks):
            tasks = tasks.part(0, count)
        if rate is None and load is None:
            return tasks
        return scale_arrivals(tasks, cluster, rate=rate, load=load)

    def _read_files(self) -> Imported:
        """Return what the files hold, or a factorisation with measured times."""
        if spec := FactorisationSpec.parse(self.name):
            if spec.digest() != self.sha256:
                raise InputError(f"{spec.folder} does not hold the measurements that were compared: restore them")
            built = spec.build()
            return Imported(built.tasks, len(built.tasks), cluster=built.cluster)
        files = ((self.name, self.sha256), *self.companions)
        for path, digest in files:
            _require_same(path, digest)
        return _read(files)

    def cluster(self) -> Cluster | None:
        """Return the machines of the tasks; none if the source names none."""
        if beside := self.find_cluster_file():
            return Cluster.from_yaml(beside)
        if not self.is_file:
            return None
        if Path(self.name).is_file() and reader.detect_format(self.name).name in OWN_FORMATS:
            return None  # such a table names no machines
        return self._read_files().cluster

    @property
    def slowdown_floor(self) -> float:
        """Seconds that bounded slowdown takes an execution for at least: those that are usual for such a file."""
        return self._read_files().slowdown_floor if self.is_file else SLOWDOWN_FLOOR

    def find_cluster_file(self) -> Path | None:
        """Return the file with the machines that `hms import` wrote beside the tasks, if there is one."""
        return find_cluster_file(self.name) if self.is_file else None

    @property
    def title(self) -> str:
        """A short name without folders."""
        spec = FactorisationSpec.parse(self.name)
        return spec.title if spec else Path(self.name).name

    def describe(self, tasks: Tasks) -> dict[str, Any]:
        """Return statistics of a seed's tasks and a digest of their columns."""
        shape = {"source": self.name, **summarise(tasks), "digest": compute_digest(tasks)}
        if composition := self.composition():
            shape["composition"] = composition
        if self.noise:
            shape["noise"] = self.load_noise().describe()
        if notes := describe_assumptions(tasks):
            shape["assumed"] = notes
        return {**shape, "machine": load_profile(self.profile).sources} if self.profile else shape

    def composition(self) -> dict[str, Any] | None:
        """Return the origin of the columns of a composed file; none for any other source."""
        return load_composition(self.name, self.sha256) if self.is_file else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `from_dict` builds the same source."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Source:
        """Build a source from plain data."""
        return cls(**{**data, "companions": tuple(map(tuple, data.get("companions", ())))})


@lru_cache(maxsize=1)  # every seed reads the same file
def _read(files: tuple[tuple[str, str], ...]) -> Imported:
    return reader.read_all([path for path, _ in files])


def _require_same(path: str, digest: str) -> None:
    if not Path(path).is_file():
        raise InputError(f"{path} is gone: restore it")
    if sha256(path) != digest:
        raise InputError(f"{path} is not the file that was compared (its SHA-256 differs): restore it")


def describe_assumptions(tasks: Tasks, cluster: Cluster | None = None) -> list[str]:
    """Say what about tasks was not measured but assumed, and on which classes of a cluster none of them can run."""
    notes = []
    if tasks.serialised:
        notes.append(
            f"SERIALISED: {tasks.serialised:,} of {len(tasks):,} jobs took several processors at once; here one "
            "device does all of their work, so times and bounds are not those of the machine that ran them"
        )
    if assumed := [name for name, column in tasks.measured.items() if np.isnan(column).all()]:
        notes.append(f"ASSUMED: times on {', '.join(assumed)} follow the formula, nobody measured them")
    if missing := unmeasured_classes(tasks, cluster) if cluster else []:
        names = ", ".join(missing)
        notes.append(f"no task can run on {names}: there are no times for it (--assume formula takes the model's)")
    return notes


def compute_digest(tasks: Tasks) -> str:
    """Return the SHA-256 of all columns of a workload."""
    digest = hashlib.sha256()
    single = ("task_id", "size", "compute_intensity", "memory_required", "arrival_time", "duration_estimate")
    columns = {
        **{name: getattr(tasks, name) for name in single},
        **{f"edges.{name}": getattr(tasks.edges, name) for name in ("start", "parents", "megabytes")},
        # One of which nothing is known says no more than none.
        **{f"time_{name}": each for name, each in sorted(tasks.measured.items()) if not np.isnan(each).all()},
        **{f"expected_{name}": tasks.expected[name] for name in sorted(tasks.expected)},
        **{f"feature_{name}": tasks.features[name] for name in sorted(tasks.features)},
        **{name: tasks.traits[name] for name in sorted(tasks.traits)},
    }
    for name, column in columns.items():
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


def generate_profiled(
    profile: Profile,
    name: str,
    seed: int,
    cluster: Cluster,
    *,
    num_tasks: int | None = None,
    rate: float | None = None,
    load: float | None = None,
) -> Tasks:
    """Draw a measured machine's own kernels, or a preset with durations fitted to it; arrivals are as for presets."""
    if name == PROFILE:
        kernels = draw_kernels(profile, seed, NUM_TASKS if num_tasks is None else num_tasks)
        return scale_arrivals(kernels, cluster, rate=rate, load=load)
    tasks = WorkloadGenerator(seed).generate_preset(name, num_tasks, rate=1.0)
    law = calibrate(profile).duration
    base = base_duration(tasks.size, tasks.compute_intensity, law.scale, law.exponent)
    batch = find_preset(name).graph is not None
    return scale_arrivals(replace(tasks, duration_estimate=base), cluster, rate=rate, load=load, batch=batch)


def draw_kernels(profile: Profile, seed: int, count: int) -> Tasks:
    """Draw measured kernels, GPU times with the transfer; they arrive as a Poisson process of one task a second."""
    which, gaps = (np.random.default_rng([seed, column]) for column in range(2))
    rows = which.integers(0, len(profile.points), count)
    kinds = profile.tasks
    times = {"cpu": kinds.duration_estimate, "gpu": np.full(len(profile.points), np.nan)}
    link = profile.link(TO_DEVICE)
    if profile.gpu_measured:
        points = [(each.gpu, each.megabytes) for each in profile.points]
        # The model fills in what was not measured.
        times["gpu"] = np.array(
            [gpu.seconds + link.seconds(size) if gpu and link else np.nan for gpu, size in points]
        )
    return Tasks.build(
        size=kinds.size[rows],
        compute_intensity=kinds.compute_intensity[rows],
        memory_required=kinds.memory_required[rows],
        arrival_time=np.cumsum(gaps.exponential(1.0, count)),
        duration_estimate=kinds.duration_estimate[rows],
        measured={name: column[rows] for name, column in times.items()},
    )
