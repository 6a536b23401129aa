"""Machines: the nodes of a shared cluster as columns, each with amounts of cores, memory and GPUs of one model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core.formatting import format_count
from hybrid_scheduler.core.tasks import Ints
from hybrid_scheduler.errors import InputError, RowError

WHOLE = 1000
"""Thousandths of a core or of a GPU: amounts are whole numbers of them, so that sums are exact."""
MAX_MODELS = 62
NO_LIMIT = 2**53


@dataclass(frozen=True, eq=False)
class Machines:
    """Nodes as columns: thousandths of a core, MiB of memory, GPUs, MiB of each GPU, and the model of its GPUs."""

    cpu_milli: Ints
    memory_mib: Ints
    gpus: Ints
    gpu_memory_mib: Ints
    model: tuple[str, ...]

    @classmethod
    def build(
        cls,
        cpu_milli: npt.ArrayLike,
        memory_mib: npt.ArrayLike | None = None,
        gpus: npt.ArrayLike | None = None,
        model: tuple[str, ...] | None = None,
        gpu_memory_mib: npt.ArrayLike | None = None,
    ) -> Machines:
        """Check the columns; memory that is not given is not limited."""
        cpu = whole_numbers("cpu_milli", cpu_milli)
        count = len(cpu)
        nodes = cls(
            cpu,
            np.full(count, NO_LIMIT) if memory_mib is None else whole_numbers("memory_mib", memory_mib, count),
            np.zeros(count, np.int64) if gpus is None else whole_numbers("gpus", gpus, count),
            np.full(count, NO_LIMIT)
            if gpu_memory_mib is None
            else whole_numbers("gpu_memory_mib", gpu_memory_mib, count),
            model or ("",) * count,
        )
        if not count:
            raise InputError("there is no machine: give at least one node")
        if len(nodes.model) != count:
            raise InputError(
                f"there are {len(nodes.model)} models for {count} nodes: give one a node, '' without GPU"
            )
        if len(nodes.models) > MAX_MODELS:
            raise InputError(f"there are {len(nodes.models)} models of GPU, at most {MAX_MODELS} can be told apart")
        return nodes

    @classmethod
    def pool(cls, processors: int, gpus: int = 0) -> Machines:
        """Return one pool of equal processors: a parallel machine on which it does not matter where a job runs."""
        if processors < 1 or gpus < 0:
            raise InputError(f"a pool of {processors} processors and {gpus} GPUs: give 1 processor or more")
        return cls.build([processors * WHOLE], gpus=[gpus])

    def __len__(self) -> int:
        return len(self.cpu_milli)

    @property
    def models(self) -> tuple[str, ...]:
        """The models of GPU that there are, sorted; each is a bit of what a job accepts."""
        return tuple(sorted({name for name, gpus in zip(self.model, self.gpus, strict=True) if gpus}))

    @property
    def total_gpus(self) -> int:
        """How many GPUs all nodes have."""
        return int(self.gpus.sum())

    def with_gpus(self) -> Machines:
        """Return the nodes that have a GPU, if any has one."""
        return self.select(self.gpus > 0) if self.total_gpus else self

    def select(self, rows: npt.NDArray[np.bool_] | Ints) -> Machines:
        """Return some of the nodes."""
        chosen = np.arange(len(self))[rows]
        return Machines(
            self.cpu_milli[rows],
            self.memory_mib[rows],
            self.gpus[rows],
            self.gpu_memory_mib[rows],
            tuple(self.model[row] for row in chosen),
        )

    def describe(self) -> str:
        """Return the machines in a few words: `256 processors`, `1,213 nodes with 6,212 GPUs of 7 models`."""
        total = int(self.cpu_milli.sum())
        cores = f"{total / WHOLE:,g}" if total < NO_LIMIT // WHOLE * WHOLE else "any number of"
        if len(self) == 1 and not self.total_gpus:
            return f"{cores} processors"
        named = Counter(self.models)
        models = f" of {format_count(len(named), 'model')}" if len(named) > 1 else ""
        gpus = f" with {format_count(self.total_gpus, 'GPU')}{models}" if self.total_gpus else ""
        return f"{format_count(len(self), 'node')}{gpus} and {cores} cores"


def whole_numbers(name: str, values: npt.ArrayLike, count: int | None = None) -> Ints:
    """Return a column of whole numbers from 0 on; anything else is refused with its row."""
    given = np.asarray(values, np.float64)
    if given.ndim != 1 or (count is not None and len(given) != count):
        raise InputError(f"column '{name}' has shape {given.shape}, expected ({count or 'n'},): one value a row")
    good = (given >= 0) & (given <= NO_LIMIT) & (np.floor(given) == given)
    if not good.all():
        row = int(np.argmin(good))
        raise RowError(row, f"{name} is {given[row]:g}, expected a whole number, 0 or more: correct or drop this row")
    return np.require(given.astype(np.int64), np.int64, ["C", "W"])
