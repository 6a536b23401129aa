"""Tiled Cholesky, LU and QR factorisations with the kernel times that StarPU measured on a machine, and that machine.

Written as `cholesky@FOLDER:MACHINE:TILES[:TILE_SIZE]`; the folder holds StarPU's table and its bus folder.
"""

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
from hybrid_scheduler.profiling.kernels import normalise_intensity
from hybrid_scheduler.workloads.formats import unpack
from hybrid_scheduler.workloads.formats.starpu import CPU, GPU, Kernels, build_machine, read_measurements
from hybrid_scheduler.workloads.graphs import FACTORISATIONS, find_dependencies

TABLE, BUS = "starpu_kernel_times.csv", "bus"
BYTES_PER_MEGABYTE = 1e6
MAX_TILES = 128
WIDTHS = {"single": 4, "double": 8}
"""Bytes of a number by precision."""
_SPEC = re.compile(r"(\w+)@(.+?):(\w+):(\d{1,4})(?::(\d{1,6}))?")


@dataclass(frozen=True)
class MeasuredKernel:
    """A kernel of a factorisation: the codelet that was measured, by what its times are multiplied, and its work."""

    codelet: str
    operands: int  # tiles that the codelet touches
    cubes: float  # operations in n³
    factor: float = 1.0


KERNELS = {
    "cholesky": {
        "potrf": MeasuredKernel("chol_model_potrf", 1, 1 / 3),
        "trsm": MeasuredKernel("chol_model_trsm", 2, 1.0),
        "syrk": MeasuredKernel("chol_model_syrk", 2, 1.0),
        "gemm": MeasuredKernel("chol_model_gemm", 3, 2.0),
    },
    "lu": {
        "getrf": MeasuredKernel("starpu_{}lu_lu_model_getrf", 1, 2 / 3),
        "trsm_ll": MeasuredKernel("starpu_{}lu_lu_model_trsm_ll", 2, 1.0),
        "trsm_ru": MeasuredKernel("starpu_{}lu_lu_model_trsm_ru", 2, 1.0),
        "gemm": MeasuredKernel("starpu_{}lu_lu_model_gemm", 3, 2.0),
    },
    # QR was not measured: its kernels are assumed to do as many operations a second as those of LU.
    "qr": {
        "geqrt": MeasuredKernel("starpu_{}lu_lu_model_getrf", 1, 4 / 3, factor=2.0),
        "tsqrt": MeasuredKernel("starpu_{}lu_lu_model_getrf", 1, 2.0, factor=3.0),
        "ormqr": MeasuredKernel("starpu_{}lu_lu_model_gemm", 3, 2.0),
        "tsmqr": MeasuredKernel("starpu_{}lu_lu_model_gemm", 3, 4.0, factor=2.0),
    },
}
"""By factorisation; `{}` in the name of a codelet is the letter of the precision."""
ASSUMED = {
    "cholesky": "SYRK takes half the time of GEMM, as in StarPU's own models",
    "lu": "",
    "qr": "no kernel of QR was measured: GEQRT and TSQRT take 2 and 3 times as long as GETRF of LU, ORMQR and TSMQR "
    "1 and 2 times as long as its GEMM, in proportion to their operations",
}
"""What is not measured about the times of each factorisation."""


@dataclass(frozen=True)
class TiledFactorisation:
    """A factorisation on a machine; `kernels` and `variation` (deviation over mean) have one value for each task."""

    tasks: Tasks
    cluster: Cluster
    kernels: tuple[str, ...]
    variation: dict[str, Floats]
    tile_size: int
    assumed: str


def build_factorisation(
    name: str, folder: str | Path, machine: str, tiles: int, tile_size: int | None = None, precision: str = "single"
) -> TiledFactorisation:
    """Build a factorisation of `tiles` tiles a side with the times of a machine.

    Without a tile size, the largest one that was measured is taken.
    """
    if name not in FACTORISATIONS:
        raise unknown_name("factorisation", name, FACTORISATIONS)
    if precision not in WIDTHS or (name, precision) == ("cholesky", "double"):
        raise InputError(
            f"precision of {name} is '{precision}', expected single{'' if name == 'cholesky' else ' or double'}"
        )
    if not 1 <= tiles <= MAX_TILES:
        raise InputError(f"the number of tiles is {tiles}, expected 1 to {MAX_TILES} a side")
    kernels = _read_kernels(Path(folder) / TABLE, machine)
    measured = {
        kind: replace(each, codelet=each.codelet.format(precision[0])) for kind, each in KERNELS[name].items()
    }
    by_size = _find_tile_sizes(kernels, machine, measured, WIDTHS[precision])
    edge = max(by_size, default=0) if tile_size is None else tile_size
    if edge not in by_size:
        known = ", ".join(map(str, sorted(by_size))) or "none"
        raise InputError(f"{name} with tiles of {edge} × {edge} was not measured on {machine}: known are {known}")
    columns = _Columns(name, tiles, edge, WIDTHS[precision], measured, by_size[edge], kernels)
    tasks = columns.build_tasks({kind: columns.times(f"{machine}_{kind}") for kind in (CPU, GPU)})
    variation = {kind: columns.variation(f"{machine}_{kind}") for kind in (CPU, GPU)}
    cluster = _read_machine(Path(folder) / BUS, machine)
    return TiledFactorisation(tasks, cluster, columns.steps, variation, edge, ASSUMED[name])


def _read_kernels(path: Path, machine: str) -> Kernels:
    table = read_measurements(path, derived=True).measurements
    complete = table.machines(CPU) & table.machines(GPU)
    if machine not in complete:
        raise unknown_name("machine with cores and GPUs", machine, complete)
    return Kernels(table.select_machines({machine}))


def _find_tile_sizes(
    kernels: Kernels, machine: str, measured: dict[str, MeasuredKernel], width: int
) -> dict[int, dict[str, int]]:
    """Return the rows of the kernels by edge of the tiles, where all of them were measured on cores and GPUs.

    Tiles whose GEMM is a scaled copy of another measurement are left out.
    """
    on_both = np.isfinite(kernels.seconds(f"{machine}_{CPU}")) & np.isfinite(kernels.seconds(f"{machine}_{GPU}"))
    names, codes = kernels.codelet.names, kernels.codelet.codes
    found = {(names[codes[row]], float(kernels.traffic[row])): int(row) for row in np.flatnonzero(on_both)}
    sizes: dict[int, dict[str, int]] = {}
    for (codelet, traffic), row in found.items():
        edge = round((traffic / 3 / width) ** 0.5)
        if not codelet.endswith("gemm") or kernels.is_derived[row]:
            continue
        wanted = {name: (each.codelet, each.operands * edge**2 * width) for name, each in measured.items()}
        if codelet in {key[0] for key in wanted.values()} and all(key in found for key in wanted.values()):
            sizes[edge] = {name: found[key] for name, key in wanted.items()}
    return sizes


def _read_machine(bus: Path, machine: str) -> Cluster:
    figures = {kind: unpack.read_text(bus / f"{machine}.{kind}") for kind in ("config", "bandwidth")}
    try:
        cpu, gpu, node = build_machine(figures, 0)
    except (ValueError, IndexError):
        raise InputError(f"the figures of {machine} in {bus} are torn: fetch them again") from None
    return Cluster((cpu, gpu), (node,))


@dataclass(frozen=True)
class _Columns:
    """Expands one value for each kind of kernel to all kernels of the graph."""

    name: str
    tiles: int
    edge: int
    width: int
    measured: dict[str, MeasuredKernel]
    rows: dict[str, int]
    kernels: Kernels

    @cached_property
    def steps(self) -> tuple[str, ...]:
        return tuple(step.kernel for step in FACTORISATIONS[self.name](self.tiles))

    def _expand(self, values: dict[str, float]) -> Floats:
        return np.array([values[kind] for kind in self.steps], np.float64)

    def times(self, name: str) -> Floats:
        """Return seconds on a class."""
        seconds = self.kernels.seconds(name)
        return self._expand({kind: each.factor * seconds[self.rows[kind]] for kind, each in self.measured.items()})

    def variation(self, name: str) -> Floats:
        """Return the standard deviation over the mean on a class."""
        variation = self.kernels.variation(name)
        return self._expand({kind: float(variation[row]) for kind, row in self.rows.items()})

    def build_tasks(self, times: dict[str, Floats]) -> Tasks:
        """Build the graph with these times."""
        tile = self.edge**2 * self.width
        work = {kind: each.cubes * self.edge**3 for kind, each in self.measured.items()}
        touched = {kind: float(each.operands * tile) for kind, each in self.measured.items()}
        number = {kind: float(place) for place, kind in enumerate(sorted(self.measured))}
        return Tasks.build(
            size=np.full(len(self.steps), float(self.edge)),
            compute_intensity=self._expand({kind: normalise_intensity(work[kind], touched[kind]) for kind in work}),
            memory_required=self._expand(touched) / BYTES_PER_MEGABYTE,
            duration_estimate=times[CPU],
            edges=self._build_edges(tile / BYTES_PER_MEGABYTE),
            measured=times,
            features={"kernel": self._expand(number), "gflop": self._expand(work) / 1e9},
        )

    def _build_edges(self, megabytes: float) -> Edges:
        parents, counts = find_dependencies(FACTORISATIONS[self.name](self.tiles))
        start = np.cumsum([0, *map(len, parents)]).astype(np.int64)
        flat = np.array([parent for each in parents for parent in each], np.int64)
        return Edges(start, flat, np.array([count * megabytes for each in counts for count in each], np.float64))


@dataclass(frozen=True)
class FactorisationSpec:
    """A factorisation as it is written: `cholesky@FOLDER:MACHINE:TILES` or `…:TILES:TILE_SIZE`."""

    factorisation: str
    folder: Path
    machine: str
    tiles: int
    tile_size: int | None = None

    @classmethod
    def parse(cls, text: str) -> FactorisationSpec | None:
        """Parse a text; none if it is no factorisation at all."""
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
        return f"{self.factorisation}@{self.folder}:{self._shape}"

    @property
    def title(self) -> str:
        """A short name without the folder."""
        return f"{self.factorisation}:{self._shape}"

    @property
    def _shape(self) -> str:
        return f"{self.machine}:{self.tiles}" + (f":{self.tile_size}" if self.tile_size else "")

    @property
    def files(self) -> list[Path]:
        """The files on which the tasks and the machine depend."""
        bus = self.folder / BUS
        return [self.folder / TABLE, bus / f"{self.machine}.config", bus / f"{self.machine}.bandwidth"]

    def resolve(self) -> FactorisationSpec:
        """Return the same with an absolute path."""
        return replace(self, folder=self.folder.resolve())

    def digest(self) -> str:
        """Return a SHA-256 of all files on which the factorisation depends."""
        missing = [path for path in self.files if not path.is_file()]
        if missing:
            raise InputError(f"{missing[0]} is gone: restore it")
        return hashlib.sha256("".join(map(sha256, self.files)).encode()).hexdigest()

    def build(self) -> TiledFactorisation:
        """Build the factorisation."""
        return build_factorisation(self.factorisation, self.folder, self.machine, self.tiles, self.tile_size)
