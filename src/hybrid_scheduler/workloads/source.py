"""Tasks of a measured machine: the kernels of its profile, or a preset with the durations of its law."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.tasks import Tasks, base_duration
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.files import sha256
from hybrid_scheduler.profiling.calibration import calibrate
from hybrid_scheduler.profiling.profile import TO_DEVICE, Point, Profile
from hybrid_scheduler.profiling.profile_file import load_profile
from hybrid_scheduler.workloads.composition import composition_of
from hybrid_scheduler.workloads.conversion import machines_beside
from hybrid_scheduler.workloads.factorisations.workload import TiledSpec
from hybrid_scheduler.workloads.formats import reader
from hybrid_scheduler.workloads.generator import PRESETS, WorkloadGenerator, paced, preset, statistics
from hybrid_scheduler.workloads.noise import STARPU, Noise, noise_of

PROFILE = "profile"
"""The workload that consists of a profile's own kernels."""
NUM_TASKS = 2000


def profiled(
    profile: Profile,
    name: str,
    seed: int,
    cluster: Cluster,
    *,
    num_tasks: int | None = None,
    rate: float | None = None,
    load: float | None = None,
) -> Tasks:
    """Draw the tasks of a seed; neither rate nor load is load 0.9, or all at once for a graph."""
    if name == PROFILE:
        drawn = kernel_tasks(profile, seed, NUM_TASKS if num_tasks is None else num_tasks)
        return paced(drawn, cluster, rate=rate, load=load)
    tasks = WorkloadGenerator(seed).generate_preset(name, num_tasks, rate=1.0)
    law = calibrate(profile).duration
    base = base_duration(tasks.size, tasks.compute_intensity, law.scale, law.exponent)
    lasting = replace(tasks, duration_estimate=base)
    return paced(lasting, cluster, rate=rate, load=load, batch=preset(name).graph is not None)


def kernel_tasks(profile: Profile, seed: int, count: int) -> Tasks:
    """Draw measured kernels and sizes evenly, arriving as a Poisson stream of one task a second.

    Times on a device that was measured are the measured ones; the GPU's contain the transfer, as the model's do. A
    device that was not measured has none, so the physics fill them in.
    """
    which, gaps = (np.random.default_rng([seed, column]) for column in range(2))
    rows = which.integers(0, len(profile.points), count)
    kinds = profile.tasks
    times = {"cpu": kinds.duration_estimate}
    if profile.gpu_measured:
        times["gpu"] = np.array([gpu_seconds(profile, point) for point in profile.points])
    return Tasks.build(
        size=kinds.size[rows],
        compute_intensity=kinds.compute_intensity[rows],
        memory_required=kinds.memory_required[rows],
        arrival_time=np.cumsum(gaps.exponential(1.0, count)),
        duration_estimate=kinds.duration_estimate[rows],
        measured={name: column[rows] for name, column in times.items()},
    )


def gpu_seconds(profile: Profile, point: Point) -> float:
    """Return measured seconds of a kernel on the GPU with its transfer; NaN where it was not measured."""
    link = profile.link(TO_DEVICE)
    return point.gpu.seconds + link.seconds(point.megabytes) if point.gpu and link else float("nan")


WITHOUT_MACHINES = ("csv", "parquet")
"""Our own tables: they need not be read to know that they name no machines."""


@dataclass(frozen=True)
class Source:
    """A preset's name, a file's path or a factorisation, with how many tasks and how fast they come."""

    name: str
    num_tasks: int | None = None
    rate: float | None = None
    load: float | None = None
    sha256: str = ""  # of the file, so that a repeated run reads the same bytes
    profile: str = ""  # path of a hardware profile whose machine is simulated
    profile_sha256: str = ""
    noise: str = ""  # a number, starpu:FILE or a file of ratios: actual times then differ from the expected ones
    noise_sha256: str = ""
    companions: tuple[tuple[str, str], ...] = ()  # files that belong to the first, each with its SHA-256

    @classmethod
    def of(
        cls,
        name: str,
        num_tasks: int | None = None,
        rate: float | None = None,
        load: float | None = None,
        profile: str | Path | None = None,
        noise: str = "",
    ) -> Source:
        """Return the source that a person means: a preset, `profile` (its kernels), else a file; noisy or not."""
        source = cls._quiet(name, num_tasks, rate, load, profile)
        return source.with_noise(noise) if noise else source

    @classmethod
    def _quiet(
        cls, name: str, num_tasks: int | None, rate: float | None, load: float | None, profile: str | Path | None
    ) -> Source:
        if rate is not None and load is not None:
            raise InputError("both --rate and --load were given: give one of them")
        if num_tasks is not None and num_tasks < 1:
            raise InputError(f"number of tasks is {num_tasks}, expected a whole number above 0")
        if profile is None and name == PROFILE:
            raise InputError("the workload 'profile' is made of measured kernels: give --profile FILE too")
        if profile is not None:
            return cls._on_profile(name, num_tasks, rate, load, Path(profile))
        if name in PRESETS:
            return cls(name, num_tasks, rate, load)
        if spec := TiledSpec.of(name):
            spec.build()  # fails here, before any work, if it cannot be used
            return cls(str(spec.resolved()), num_tasks, rate, load, spec.digest())
        path = Path(name)
        if path.is_dir():
            raise InputError(f"{name} is a directory: give the path of a file in it")
        if not path.is_file() and "," in name:
            return cls._of_several(name, num_tasks, rate, load)
        if not path.is_file():
            if path.suffix or len(path.parts) > 1:
                raise InputError(f"{name} does not exist: check the path, or make one with hms generate")
            raise unknown_name("preset", name, PRESETS, "or give the path of a file that hms import can read")
        return cls(str(path.resolve()), num_tasks, rate, load, sha256(path))

    @classmethod
    def _of_several(cls, names: str, num_tasks: int | None, rate: float | None, load: float | None) -> Source:
        """Return the source of files that belong together, written with commas between them."""
        first, *others = (cls._quiet(name.strip(), num_tasks, rate, load, None) for name in names.split(","))
        for each in (first, *others):
            if not each.is_file or each.companions or TiledSpec.of(each.name):
                raise InputError(f"'{each.title}' is no file that belongs to others: name files, or one workload")
        return replace(first, companions=tuple((each.name, each.sha256) for each in others))

    @classmethod
    def _on_profile(
        cls, name: str, num_tasks: int | None, rate: float | None, load: float | None, profile: Path
    ) -> Source:
        if name != PROFILE and name not in PRESETS:
            raise InputError(
                f"--profile gives tasks their durations, and {name} has its own: name a preset or leave it out"
            )
        load_profile(profile)  # fails here, before any work, if it cannot be used
        return cls(name, num_tasks, rate, load, profile=str(profile.resolve()), profile_sha256=sha256(profile))

    def with_noise(self, noise: str) -> Source:
        """Return this source with noise; it keeps whole paths, so that a run can be repeated from another folder."""
        model, prefix = noise_of(noise), STARPU if noise.startswith(STARPU) else ""
        return replace(self, noise=f"{prefix}{model.path}" if model.path else noise, noise_sha256=model.sha256)

    @property
    def is_file(self) -> bool:
        """Whether the tasks come from a file; seeds then only differ in the schedulers' own lots."""
        return bool(self.sha256)

    def tasks(self, seed: int, cluster: Cluster) -> Tasks:
        """Return the tasks of a seed; with noise they are expected to take other times than they will."""
        tasks = self._tasks(seed, cluster)
        return self.noise_model().applied(tasks, cluster, seed) if self.noise else tasks

    def noise_model(self) -> Noise:
        """Return the noise, made of the measurement that was there when the source was named."""
        noise = noise_of(self.noise)
        if noise.sha256 != self.noise_sha256:
            raise InputError(f"{noise.path} is not the measurement that was used (its SHA-256 differs): restore it")
        return noise

    def _tasks(self, seed: int, cluster: Cluster) -> Tasks:
        if self.profile:
            _require_same(self.profile, self.profile_sha256)
            machine = load_profile(self.profile)
            return profiled(
                machine, self.name, seed, cluster, num_tasks=self.num_tasks, rate=self.rate, load=self.load
            )
        if not self.is_file:
            generator = WorkloadGenerator(seed)
            return generator.generate_preset(
                self.name, self.num_tasks, rate=self.rate, load=self.load, cluster=cluster
            )
        tasks, _ = self._contents()
        if self.num_tasks is not None and self.num_tasks < len(tasks):
            tasks = tasks.part(0, self.num_tasks)
        if self.rate is None and self.load is None:
            return tasks
        return paced(tasks, cluster, rate=self.rate, load=self.load)

    def _contents(self) -> tuple[Tasks, Cluster | None]:
        """Return the tasks and the machines of a file, or of a factorisation with measured times."""
        if spec := TiledSpec.of(self.name):
            if spec.digest() != self.sha256:
                raise InputError(f"{spec.folder} does not hold the measurements that were compared: restore them")
            built = spec.build()
            return built.tasks, built.cluster
        files = ((self.name, self.sha256), *self.companions)
        for path, digest in files:
            _require_same(path, digest)
        return _read(files)

    def cluster(self) -> Cluster | None:
        """Return the machines that belong to the tasks; none if the source names no machines."""
        if beside := self.machines_beside():
            return Cluster.from_yaml(beside)
        if not self.is_file or (Path(self.name).is_file() and reader.format_of(self.name) in WITHOUT_MACHINES):
            return None
        return self._contents()[1]

    def machines_beside(self) -> Path | None:
        """Return the file that `hms import` wrote beside its tasks, with their machines; none if there is none."""
        return machines_beside(self.name) if self.is_file else None

    @property
    def title(self) -> str:
        """A short name for people."""
        spec = TiledSpec.of(self.name)
        return spec.title if spec else Path(self.name).name

    def describe(self, tasks: Tasks) -> dict[str, Any]:
        """Return the shape of a seed's tasks and a digest of their columns."""
        shape = {"source": self.name, **statistics(tasks), "digest": digest_of(tasks)}
        if composed := self.composition():
            shape["composition"] = composed
        if self.noise:
            shape["noise"] = self.noise_model().describe()
        return {**shape, "machine": load_profile(self.profile).sources} if self.profile else shape

    def composition(self) -> dict[str, Any] | None:
        """Return where the columns of a composed file come from; none for any other source."""
        return composition_of(self.name, self.sha256) if self.is_file else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `from_dict` builds the same source."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Source:
        """Build a source from plain data."""
        return cls(**{**data, "companions": tuple(map(tuple, data.get("companions", ())))})


@lru_cache(maxsize=1)  # every seed asks for the same file
def _read(files: tuple[tuple[str, str], ...]) -> tuple[Tasks, Cluster | None]:
    found = reader.read_all([path for path, _ in files])
    return found.tasks, found.cluster


def _require_same(path: str, digest: str) -> None:
    if not Path(path).is_file():
        raise InputError(f"{path} is gone: restore it")
    if sha256(path) != digest:
        raise InputError(f"{path} is not the file that was compared (its SHA-256 differs): restore it")


def digest_of(tasks: Tasks) -> str:
    """Return the SHA-256 of all that makes up a workload."""
    digest = hashlib.sha256()
    columns = {
        **{name: getattr(tasks, name) for name in ("task_id", "size", "compute_intensity", "memory_required")},
        **{name: getattr(tasks, name) for name in ("arrival_time", "duration_estimate")},
        **{f"edges.{name}": getattr(tasks.edges, name) for name in ("start", "parents", "megabytes")},
        **{f"time_{name}": tasks.measured[name] for name in sorted(tasks.measured)},
        **{f"expected_{name}": tasks.expected[name] for name in sorted(tasks.expected)},
        **{f"feature_{name}": tasks.features[name] for name in sorted(tasks.features)},
    }
    for name, column in columns.items():
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()
