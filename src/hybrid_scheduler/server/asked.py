"""What an experiment was asked for: checked, completed, and turned into a comparison."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.race import Comparison
from hybrid_scheduler.workload.generator import DEFAULT_LOAD
from hybrid_scheduler.workload.library import Library, is_upload
from hybrid_scheduler.workload.presets import preset
from hybrid_scheduler.workload.source import Source

MOST_TASKS = 100_000


@dataclass(frozen=True)
class Asked:
    """The settings of an experiment, as they are stored; an uploaded workload is named with its SHA-256."""

    schedulers: list[str]
    workload: str
    load: float | None
    rate: float | None
    num_gpus: int
    tasks: int | None
    seeds: list[int]
    mode: str

    @classmethod
    def of(cls, values: dict[str, Any], library: Library) -> Asked:
        """Complete what a request says, and refuse what cannot be run, before it waits in a queue."""
        seeds, load, rate = values["seeds"], values["load"], values["rate"]
        numbers = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
        if len(set(numbers)) < len(numbers):
            raise InputError("a seed is named twice: name each once")
        if load is not None and rate is not None:
            raise InputError("both a load and a rate were given: give one of them")
        workload = str(values["workload"])
        if is_upload(workload):
            workload = _fitting(workload, library, values)
        elif preset(workload).graph is None and rate is None:
            load = (
                DEFAULT_LOAD if load is None else load
            )  # a graph is all there at time 0 unless it is told otherwise
        rest = {name: values[name] for name in ("schedulers", "num_gpus", "tasks", "mode")}
        asked = cls(workload=workload, load=load, rate=rate, seeds=numbers, **rest)
        asked.comparison(library)  # fails here if a scheduler has an option that does not exist
        return asked

    def comparison(self, library: Library) -> Comparison:
        """Return what is to be compared."""
        return Comparison(
            source=self._source(library),
            schedulers=tuple(self.schedulers),
            cluster=Cluster.default(self.num_gpus),
            mode=self.mode,
            seeds=tuple(self.seeds),
        )

    def _source(self, library: Library) -> Source:
        if not is_upload(self.workload):
            return Source(self.workload, self.tasks, self.rate, self.load)
        entry = library.resolve(self.workload)
        return Source(str(library.path(entry.name)), self.tasks, self.rate, self.load, entry.sha256)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def _fitting(workload: str, library: Library, values: dict[str, Any]) -> str:
    entry = library.resolve(workload)
    wanted = values["tasks"] or entry.tasks
    if wanted > MOST_TASKS:
        raise InputError(f"workload '{entry.name}' has {entry.tasks} tasks: name how many, at most {MOST_TASKS}")
    if entry.dependencies and wanted < entry.tasks:
        raise InputError(f"workload '{entry.name}' has dependencies and cannot be cut: leave out the number of tasks")
    if not entry.duration > 0 and (values["load"] is not None or values["rate"] is not None):
        raise InputError(f"all tasks of '{entry.name}' arrive at once: leave out load and rate")
    return entry.pinned
