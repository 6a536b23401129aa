"""Noise on execution times: actual = estimate × factor, while schedulers see the estimates.

Factors are log-normal with mean 1; their coefficient of variation was measured, or is given and marked as assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hybrid_scheduler.core import elementary
from hybrid_scheduler.core.cluster import Cluster, DeviceClass
from hybrid_scheduler.core.physics import class_times
from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import sha256
from hybrid_scheduler.workloads.factorisations import TABLE
from hybrid_scheduler.workloads.formats.columns import select_unique
from hybrid_scheduler.workloads.formats.starpu import read_variation
from hybrid_scheduler.workloads.formats.tables import NO_ROWS, read_table

STARPU = "starpu:"
ALL = "ratio"  # the column of a file of ratios that applies to every class
MAX_VARIATION = 10.0  # a larger coefficient of variation is taken for a mistake, such as a percentage
STREAM = 0x0153  # separates the random stream of the noise from those of the tasks


@dataclass(frozen=True)
class Noise:
    """Coefficients of variation by device class or kind of device, and where they come from."""

    variations: Mapping[str, Floats]  # by class, kind or `ratio`; of several values each task draws one
    origin: str
    path: str = ""  # of the measurement
    sha256: str = ""

    @property
    def ground(self) -> str:
        """Whether the variation was measured or is assumed."""
        return "measured" if self.path else "assumed"

    def describe(self) -> str:
        """Return a one-line description."""
        medians = {name: f"{np.median(values):.3g}" for name, values in self.variations.items()}
        kinds = [f"{name} {value}" for name, value in medians.items() if name in ("cpu", "gpu")]
        variation = medians[ALL] if set(medians) == {ALL} else f"median {', '.join(kinds)}"
        return (
            f"noise: actual = estimate × log-normal factor of mean 1, coefficient of variation {variation}, "
            f"{self.ground} ({self.origin}); policies see estimates"
        )

    def find_variation(self, each: DeviceClass) -> Floats:
        """Return the coefficients of a class: its own, those of its kind, or those of all classes."""
        for name in (each.name, each.kind, ALL):
            if name in self.variations:
                return self.variations[name]
        raise InputError(
            f"{self.path} holds no ratios of '{each.name}': add a column {each.name}, {each.kind} or {ALL}"
        )

    def apply(self, tasks: Tasks, cluster: Cluster, seed: int) -> Tasks:
        """Return the tasks with their times as estimates and noisy ones as actual times."""
        if tasks.expected:
            raise InputError(
                "the tasks carry expected times, so what really happens differs already: leave out noise"
            )
        expected, actual, count = {}, {}, len(tasks)
        for each, estimates in zip(cluster.classes, class_times(tasks, cluster).T, strict=True):
            # The random stream of a class does not depend on the other classes.
            generator = np.random.default_rng([seed, STREAM, *each.name.encode()])
            variations = self.find_variation(each)
            variance = elementary.log1p(variations[generator.integers(0, len(variations), count)] ** 2)
            factors = elementary.exp(np.sqrt(variance) * generator.standard_normal(count) - variance / 2)
            expected[each.name], actual[each.name] = estimates, estimates * factors
        return replace(tasks, measured={**tasks.measured, **actual}, expected=expected)


def parse_noise(text: str) -> Noise:
    """Parse an option: a number, `starpu:FOLDER`, or a file of measured ratios."""
    try:
        number = float(text)
    except ValueError:
        return _read_starpu(text.removeprefix(STARPU)) if text.startswith(STARPU) else _read_ratios(Path(text))
    if not 0 <= number <= MAX_VARIATION:
        raise InputError(
            f"noise is {text}, expected a coefficient of variation from 0 to {MAX_VARIATION:g}, such as 0.2"
        )
    return Noise({ALL: np.array([number])}, "a number that was given")


def _read_starpu(place: str) -> Noise:
    """Read the variation of StarPU's kernels: by machine and kind, and by kind over all machines."""
    path = Path(place) / TABLE if Path(place).is_dir() else Path(place)
    if not path.is_file():
        raise InputError(f"{path} does not exist: give the folder that holds {TABLE} after {STARPU}")
    found = {name: values[np.isfinite(values)] for name, values in read_variation(path).items()}
    for kind in ("cpu", "gpu"):
        parts = [values for name, values in found.items() if name.endswith(f"_{kind}")]
        found[kind] = np.concatenate(parts) if parts else np.empty(0)
        if not len(found[kind]):
            raise InputError(f"{path} holds no deviation of a {kind}: fetch the table again")
    count = sum(len(found[kind]) for kind in ("cpu", "gpu"))
    return Noise(found, f"{count} kernels × devices of StarPU", str(path.resolve()), sha256(path))


def _read_ratios(path: Path) -> Noise:
    """Read measured ratios actual / estimate: a column for a class, for a kind (cpu, gpu) or for all (ratio)."""
    if not path.is_file():
        raise InputError(
            f"noise is '{path}', which is no file: give a number such as 0.2, {STARPU}FOLDER or a CSV file of ratios"
        )
    table = read_table(path, _select_columns, NO_ROWS)
    variations = {}
    for name, ratios in table.columns.items():
        if len(ratios) < 2 or not (ratios > 0).all():
            raise InputError(f"{path}: column '{name}' needs at least two ratios actual / estimate, all above 0")
        variation = float(ratios.std(ddof=1) / ratios.mean())
        if variation > MAX_VARIATION:
            raise InputError(f"{path}: the ratios of '{name}' vary by {variation:g} of their mean: correct them")
        variations[name] = np.array([variation])
    return Noise(variations, f"{table.rows} ratios of {path.name}", str(path.resolve()), sha256(path))


def _select_columns(header: list[str]) -> dict[str, str]:
    selected = select_unique(header, (), bool)
    if not selected:
        raise InputError(f"there are no ratios: add a column {ALL}, or one for each class")
    return selected
