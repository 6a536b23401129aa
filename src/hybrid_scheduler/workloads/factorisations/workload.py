"""Tiled Cholesky, LU and QR with kernel times that StarPU measured on a machine: the graph, and that machine."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.tasks import Edges, Floats, Tasks
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.files import sha256
from hybrid_scheduler.profiling.kernels import intensity_of
from hybrid_scheduler.workloads.factorisations.starpu import (
    ASSUMED,
    CODELETS,
    CPU,
    GPU,
    Kernels,
    Measurements,
    read_measured,
)
from hybrid_scheduler.workloads.factorisations.starpu import MeasuredKernel as Measured
from hybrid_scheduler.workloads.factorisations.tiles import FACTORISATIONS, dependencies
from hybrid_scheduler.workloads.formats import unpack
from hybrid_scheduler.workloads.formats.starpu import machine_of

TABLE, BUS = "starpu_kernel_times.csv", "bus"
BYTES = 1e6
MOST_TILES = 128
WIDTHS = {"single": 4, "double": 8}
"""Bytes of a number by precision."""


@dataclass(frozen=True)
class Tiled:
    """A factorisation on a machine; rows of `kernels` and `spread` (deviation over mean) are those of the tasks."""

    tasks: Tasks
    cluster: Cluster
    kernels: tuple[str, ...]
    spread: dict[str, Floats]
    tile_size: int
    assumed: str


def tiled(
    name: str, folder: str | Path, machine: str, tiles: int, tile_size: int | None = None, precision: str = "single"
) -> Tiled:
    """Return a factorisation of `tiles` tiles a side with the times of a machine; the largest tiles if not told."""
    if name not in FACTORISATIONS:
        raise unknown_name("factorisation", name, FACTORISATIONS)
    if precision not in WIDTHS or (name, precision) == ("cholesky", "double"):
        raise InputError(
            f"precision of {name} is '{precision}', expected single{'' if name == 'cholesky' else ' or double'}"
        )
    if not 1 <= tiles <= MOST_TILES:
        raise InputError(f"the number of tiles is {tiles}, expected 1 to {MOST_TILES} a side")
    kernels = _of_machine(read_measured(Path(folder) / TABLE, derived=True).measurements, machine)
    measured = CODELETS[name](precision[0])
    by_size = _by_size(kernels, machine, measured, WIDTHS[precision])
    edge = max(by_size, default=0) if tile_size is None else tile_size
    if edge not in by_size:
        known = ", ".join(map(str, sorted(by_size))) or "none"
        raise InputError(f"{name} with tiles of {edge} × {edge} was not measured on {machine}: known are {known}")
    columns = _Columns(name, tiles, edge, WIDTHS[precision], measured, by_size[edge], kernels)
    tasks = columns.tasks({kind: columns.times(f"{machine}_{kind}") for kind in (CPU, GPU)})
    spread = {kind: columns.spread(f"{machine}_{kind}") for kind in (CPU, GPU)}
    return Tiled(tasks, _cluster(Path(folder), machine), columns.steps, spread, edge, ASSUMED[name])


def _of_machine(table: Measurements, machine: str) -> Kernels:
    both = table.machines(CPU) & table.machines(GPU)
    if machine not in both:
        raise unknown_name("machine with cores and GPUs", machine, both)
    return Kernels(table.of_machines({machine}))


def _by_size(kernels: Kernels, machine: str, measured: dict[str, Measured], width: int) -> dict[int, dict[str, int]]:
    """Return the kernels, as rows, by edge of the tiles, where all of them were measured on cores and GPUs.

    Tiles whose GEMM is a scaled copy of another measurement are left out.
    """
    on_both = np.isfinite(kernels.seconds(f"{machine}_{CPU}")) & np.isfinite(kernels.seconds(f"{machine}_{GPU}"))
    names, codes = kernels.codelet.names, kernels.codelet.codes
    found = {(names[codes[row]], float(kernels.traffic[row])): int(row) for row in np.flatnonzero(on_both)}
    sizes: dict[int, dict[str, int]] = {}
    for (codelet, traffic), row in found.items():
        edge = round((traffic / 3 / width) ** 0.5)
        if not codelet.endswith("gemm") or kernels.derived[row]:
            continue
        wanted = {name: (each.codelet, each.operands * edge**2 * width) for name, each in measured.items()}
        if codelet in {key[0] for key in wanted.values()} and all(key in found for key in wanted.values()):
            sizes[edge] = {name: found[key] for name, key in wanted.items()}
    return sizes


def _cluster(folder: Path, machine: str) -> Cluster:
    figures = {kind: unpack.text(folder / BUS / f"{machine}.{kind}") for kind in ("config", "bandwidth")}
    try:
        cpu, gpu, node = machine_of(figures, 0)
    except (ValueError, IndexError):
        raise InputError(f"the figures of {machine} in {folder / BUS} are torn: fetch them again") from None
    return Cluster((cpu, gpu), (node,))


@dataclass(frozen=True)
class _Columns:
    """One value for each kind of kernel, handed out to all kernels of the graph."""

    name: str
    tiles: int
    edge: int
    width: int
    measured: dict[str, Measured]
    rows: dict[str, int]
    kernels: Kernels

    @cached_property
    def steps(self) -> tuple[str, ...]:
        return tuple(step.kernel for step in FACTORISATIONS[self.name](self.tiles))

    @property
    def tile(self) -> int:
        return self.edge**2 * self.width

    def _each(self, values: dict[str, float]) -> Floats:
        return np.array([values[kind] for kind in self.steps], np.float64)

    def times(self, name: str) -> Floats:
        """Return seconds on a class."""
        seconds = self.kernels.seconds(name)
        return self._each({kind: each.times * seconds[self.rows[kind]] for kind, each in self.measured.items()})

    def spread(self, name: str) -> Floats:
        """Return the standard deviation over the mean on a class."""
        spread = self.kernels.spread(name)
        return self._each({kind: float(spread[row]) for kind, row in self.rows.items()})

    def tasks(self, times: dict[str, Floats]) -> Tasks:
        """Return the graph with these times."""
        work = {kind: each.cubes * self.edge**3 for kind, each in self.measured.items()}
        touched = {kind: float(each.operands * self.tile) for kind, each in self.measured.items()}
        number = {kind: float(place) for place, kind in enumerate(sorted(self.measured))}
        return Tasks.build(
            size=np.full(len(self.steps), float(self.edge)),
            compute_intensity=self._each({kind: intensity_of(work[kind], touched[kind]) for kind in work}),
            memory_required=self._each(touched) / BYTES,
            duration_estimate=times[CPU],
            edges=_edges(self.name, self.tiles, self.tile / BYTES),
            measured=times,
            features={"kernel": self._each(number), "gflop": self._each(work) / 1e9},
        )


def _edges(name: str, tiles: int, megabytes: float) -> Edges:
    parents, handed = dependencies(FACTORISATIONS[name](tiles))
    start = np.cumsum([0, *map(len, parents)]).astype(np.int64)
    flat = np.array([parent for each in parents for parent in each], np.int64)
    weights = np.array([count * megabytes for each in handed for count in each], np.float64)
    return Edges(start, flat, weights)


_SPEC = re.compile(r"(\w+)@(.+?):(\w+):(\d{1,4})(?::(\d{1,6}))?")


@dataclass(frozen=True)
class TiledSpec:
    """A factorisation as it is written: `cholesky@FOLDER:MACHINE:TILES` or `…:TILES:TILE_SIZE`."""

    factorisation: str
    folder: Path
    machine: str
    tiles: int
    tile_size: int | None = None

    @classmethod
    def of(cls, text: str) -> TiledSpec | None:
        """Return what a text means; none if it is no factorisation at all."""
        name, at, _ = text.partition("@")
        if not at or name not in FACTORISATIONS:
            return None
        found = _SPEC.fullmatch(text)
        if found is None:
            raise InputError(
                f"{text} tells no machine and tiles: write {name}@FOLDER:MACHINE:TILES or …:TILES:TILE_SIZE"
            )
        _, folder, machine, tiles, size = found.groups()
        return cls(name, Path(folder), machine, int(tiles), int(size) if size else None)

    def __str__(self) -> str:
        return f"{self.factorisation}@{self.folder}:{self._rest}"

    @property
    def _rest(self) -> str:
        return f"{self.machine}:{self.tiles}" + (f":{self.tile_size}" if self.tile_size else "")

    @property
    def files(self) -> list[Path]:
        """The files on which the tasks and the machine depend."""
        bus = self.folder / BUS
        return [self.folder / TABLE, bus / f"{self.machine}.config", bus / f"{self.machine}.bandwidth"]

    @property
    def title(self) -> str:
        """A short name that tells no folder."""
        return f"{self.factorisation}:{self._rest}"

    def resolved(self) -> TiledSpec:
        """Return the same with the whole path, so that it can be found from another folder."""
        return replace(self, folder=self.folder.resolve())

    def digest(self) -> str:
        """Return a SHA-256 of all files on which the factorisation depends."""
        missing = [path for path in self.files if not path.is_file()]
        if missing:
            raise InputError(f"{missing[0]} is gone: restore it")
        return hashlib.sha256("".join(map(sha256, self.files)).encode()).hexdigest()

    def build(self) -> Tiled:
        """Return the factorisation."""
        return tiled(self.factorisation, self.folder, self.machine, self.tiles, self.tile_size)
