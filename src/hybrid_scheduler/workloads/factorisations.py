"""Tiled Cholesky, LU and QR factorisations with the kernel times that StarPU measured on a machine, and that machine.

Written as `cholesky@FOLDER:MACHINE:TILES[:TILE_SIZE]`; the folder holds StarPU's table and its bus folder.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.tasks import INDIVISIBLE, Edges, Floats, Tasks
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.files import sha256
from hybrid_scheduler.profiling.kernels import normalise_intensity
from hybrid_scheduler.workloads.formats import unpack
from hybrid_scheduler.workloads.formats.starpu import CPU, GPU, Kernels, build_machine, read_measurements
from hybrid_scheduler.workloads.graphs import FACTORISATIONS, Step, find_dependencies

TABLE, BUS = "starpu_kernel_times.csv", "bus"
BYTES_PER_MEGABYTE = 1e6
MAX_TILES = 128
WIDTHS = {"single": 4, "double": 8}  # bytes of a number by precision
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
    name: str,
    folder: str | Path,
    machine: str,
    tiles: int,
    tile_size: int | None = None,
    precision: str = "single",
    indivisible: Collection[str] | None = None,
) -> TiledFactorisation:
    """Build a factorisation of `tiles` tiles a side with times of a machine, by default for the largest tile size.

    `indivisible` names the kernels that are never split between a core and a GPU; all of them if it is not given, as
    they were measured whole.
    """
    if name not in FACTORISATIONS:
        raise unknown_name("factorisation", name, FACTORISATIONS)
    if precision not in WIDTHS or (name, precision) == ("cholesky", "double"):
        raise InputError(
            f"precision of {name} is '{precision}', expected single{'' if name == 'cholesky' else ' or double'}"
        )
    if not 1 <= tiles <= MAX_TILES:
        raise InputError(f"the number of tiles is {tiles}, expected 1 to {MAX_TILES} a side")
    table = read_measurements(Path(folder) / TABLE, derived=True)[0]
    complete = table.machines(CPU) & table.machines(GPU)
    if machine not in complete:
        raise unknown_name("machine with cores and GPUs", machine, complete)
    kernels = Kernels(table.select_machines({machine}))
    measured = {
        kind: replace(each, codelet=each.codelet.format(precision[0])) for kind, each in KERNELS[name].items()
    }
    by_size = _find_tile_sizes(kernels, machine, measured, WIDTHS[precision])
    edge = max(by_size, default=0) if tile_size is None else tile_size
    if edge not in by_size:
        known = ", ".join(map(str, sorted(by_size))) or "none"
        raise InputError(f"{name} with tiles of {edge} × {edge} was not measured on {machine}: known are {known}")
    steps = list(FACTORISATIONS[name](tiles))
    kinds = tuple(step.kernel for step in steps)
    whole = measured.keys() if indivisible is None else indivisible
    for kind in whole:
        if kind not in measured:
            raise unknown_name(f"kernel of {name}", kind, measured)
    rows = np.array([by_size[edge][kind] for kind in kinds])
    factors = np.array([measured[kind].factor for kind in kinds])
    times = {side: factors * kernels.seconds(f"{machine}_{side}")[rows] for side in (CPU, GPU)}
    variation = {side: kernels.variation(f"{machine}_{side}")[rows] for side in (CPU, GPU)}
    tasks = _build_tasks(steps, measured, times, edge, edge**2 * WIDTHS[precision])
    tasks = replace(tasks, traits={INDIVISIBLE: np.array([float(kind in whole) for kind in kinds])})
    cluster = _read_machine(Path(folder) / BUS, machine)
    return TiledFactorisation(tasks, cluster, kinds, variation, edge, ASSUMED[name])


def _build_tasks(
    steps: list[Step], measured: dict[str, MeasuredKernel], times: dict[str, Floats], edge: int, tile: int
) -> Tasks:
    """Build the graph of kernels on tiles of `edge` × `edge` numbers, each of `tile` bytes."""
    kernels = [measured[step.kernel] for step in steps]
    work = np.array([each.cubes * edge**3 for each in kernels])
    touched = np.array([float(each.operands * tile) for each in kernels])
    numbers = {kind: place for place, kind in enumerate(sorted(measured))}
    parents, counts = find_dependencies(steps)
    edges = Edges(
        np.cumsum([0, *map(len, parents)]).astype(np.int64),
        np.array(list(chain.from_iterable(parents)), np.int64),
        np.array(list(chain.from_iterable(counts)), np.float64) * (tile / BYTES_PER_MEGABYTE),
    )
    return Tasks.build(
        size=np.full(len(steps), float(edge)),
        compute_intensity=normalise_intensity(work, touched),
        memory_required=touched / BYTES_PER_MEGABYTE,
        duration_estimate=times[CPU],
        edges=edges,
        measured=times,
        features={"kernel": [float(numbers[step.kernel]) for step in steps], "gflop": work / 1e9},
    )


def _find_tile_sizes(
    kernels: Kernels, machine: str, measured: dict[str, MeasuredKernel], width: int
) -> dict[int, dict[str, int]]:
    """Return the rows of the kernels by edge of the tiles, where all of them were measured on cores and GPUs."""
    on_both = np.isfinite(kernels.seconds(f"{machine}_{CPU}")) & np.isfinite(kernels.seconds(f"{machine}_{GPU}"))
    names, codes = kernels.codelet.names, kernels.codelet.codes
    found = {(names[codes[row]], float(kernels.traffic[row])): int(row) for row in np.flatnonzero(on_both)}
    sizes: dict[int, dict[str, int]] = {}
    for (codelet, traffic), row in found.items():
        edge = round((traffic / 3 / width) ** 0.5)
        if not codelet.endswith("gemm") or kernels.is_derived[row]:
            continue  # no GEMM, or a scaled copy of another measurement
        wanted = {name: (each.codelet, each.operands * edge**2 * width) for name, each in measured.items()}
        if codelet in {key[0] for key in wanted.values()} and all(key in found for key in wanted.values()):
            sizes[edge] = {name: found[key] for name, key in wanted.items()}
    return sizes


def _read_machine(bus: Path, machine: str) -> Cluster:
    figures = {kind: unpack.read_text(bus / f"{machine}.{kind}") for kind in ("config", "bandwidth")}
    try:
        cpu, gpu, node = build_machine(figures, 0)
    except (ValueError, IndexError):
        raise InputError(f"the figures of {machine} in {bus} are damaged: fetch them again") from None
    return Cluster((cpu, gpu), (node,))


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
