"""A source says where a comparison's tasks come from: a preset drawn per seed, or a file."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.files import sha256
from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.model.tasks import Tasks
from hybrid_scheduler.workload.formats import reader
from hybrid_scheduler.workload.generator import WorkloadGenerator, paced, statistics
from hybrid_scheduler.workload.presets import PRESETS


@dataclass(frozen=True)
class Source:
    """A preset's name or a file's path, with how many tasks and how fast they come."""

    name: str
    num_tasks: int | None = None
    rate: float | None = None
    load: float | None = None
    sha256: str = ""  # of the file, so that a repeated run reads the same bytes

    @classmethod
    def of(
        cls, name: str, num_tasks: int | None = None, rate: float | None = None, load: float | None = None
    ) -> Source:
        """Return the source that a person means: a preset, else a file."""
        if rate is not None and load is not None:
            raise InputError("both --rate and --load were given: give one of them")
        if num_tasks is not None and num_tasks < 1:
            raise InputError(f"number of tasks is {num_tasks}, expected a whole number above 0")
        if name in PRESETS:
            return cls(name, num_tasks, rate, load)
        path = Path(name)
        if path.is_dir():
            raise InputError(f"{name} is a directory: give the path of a file in it")
        if not path.is_file():
            if path.suffix or len(path.parts) > 1:
                raise InputError(f"{name} does not exist: check the path, or make one with hms generate")
            raise unknown_name("preset", name, PRESETS, "or give the path of a CSV or Parquet file")
        return cls(str(path.resolve()), num_tasks, rate, load, sha256(path))

    @property
    def is_file(self) -> bool:
        """Whether the tasks come from a file; seeds then only differ in the schedulers' own lots."""
        return bool(self.sha256)

    def tasks(self, seed: int, cluster: Cluster) -> Tasks:
        """Return the tasks of a seed."""
        if not self.is_file:
            generator = WorkloadGenerator(seed)
            return generator.generate_preset(
                self.name, self.num_tasks, rate=self.rate, load=self.load, cluster=cluster
            )
        if not Path(self.name).is_file():
            raise InputError(f"{self.name} is gone: restore it")
        if sha256(self.name) != self.sha256:
            raise InputError(f"{self.name} is not the file that was compared (its SHA-256 differs): restore it")
        tasks = reader.read(self.name)
        if self.num_tasks is not None and self.num_tasks < len(tasks):
            tasks = tasks.part(0, self.num_tasks)
        if self.rate is None and self.load is None:
            return tasks
        return paced(tasks, cluster, rate=self.rate, load=self.load)

    def describe(self, tasks: Tasks) -> dict[str, Any]:
        """Return the shape of a seed's tasks and a digest of their columns."""
        return {"source": self.name, **statistics(tasks), "digest": digest_of(tasks)}

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `from_dict` builds the same source."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Source:
        """Build a source from plain data."""
        return cls(**data)


def digest_of(tasks: Tasks) -> str:
    """Return the SHA-256 of all that makes up a workload."""
    digest = hashlib.sha256()
    columns = {
        **{name: getattr(tasks, name) for name in ("task_id", "size", "compute_intensity", "memory_required")},
        **{name: getattr(tasks, name) for name in ("arrival_time", "duration_estimate")},
        **{f"edges.{name}": getattr(tasks.edges, name) for name in ("start", "parents", "megabytes")},
        **{f"time_{name}": tasks.measured[name] for name in sorted(tasks.measured)},
    }
    for name, column in columns.items():
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()
