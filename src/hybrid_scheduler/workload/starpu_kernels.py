"""Measurements of kernels as columns, and the kernels that they are of: a codelet on operands of one shape."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from hybrid_scheduler.model.tasks import Floats, Ints
from hybrid_scheduler.workload.formats.sieve import Mask
from hybrid_scheduler.workload.formats.words import Words

CPU, GPU = "cpu", "gpu"
KINDS = (CPU, GPU)
"""Kinds of devices; a measurement holds the place of its own in this list."""


@dataclass(frozen=True)
class Measurements:
    """Seconds of kernels on devices, and their standard deviations, one of each a measurement."""

    row: Ints  # of the table
    machine: Words
    codelet: Words
    footprint: Words
    device: Words
    kind: Ints
    traffic: Floats  # bytes of all operands
    operations: Floats  # 0: not known
    seconds: Floats
    deviation: Floats
    derived: Mask

    def __len__(self) -> int:
        return len(self.row)

    def of_machines(self, names: set[str]) -> Measurements:
        """Return the measurements on some machines."""
        if names.issuperset(self.machine.names):
            return self
        rows = np.flatnonzero(self.machine.where(names.__contains__))
        columns: list[Any] = [getattr(self, each.name) for each in fields(self)]
        taken: list[Any] = [each.taken(rows) if isinstance(each, Words) else each[rows] for each in columns]
        return Measurements(*taken)

    def machines(self, kind: str) -> set[str]:
        """Return the machines with a measurement on devices of a kind."""
        found = _there(self.machine.codes[self.kind == KINDS.index(kind)])
        return {self.machine.names[code] for code in found}

    @cached_property
    def class_codes(self) -> Ints:
        """A number for the class of devices of every measurement."""
        codes: Ints = self.machine.codes * len(KINDS) + self.kind
        return codes

    @cached_property
    def classes(self) -> dict[str, int]:
        """The classes with a measurement and their numbers, in alphabetical order: cores before GPUs of a machine."""
        names = {
            f"{self.machine.names[code // len(KINDS)]}_{KINDS[code % len(KINDS)]}": int(code)
            for code in _there(self.class_codes)
        }
        return dict(sorted(names.items()))

    def devices(self, name: str) -> int:
        """Return on how many devices of a class something was measured."""
        return len(_there(self.device.codes[self.class_codes == self.classes.get(name, -1)]))


class Kernels:
    """The kernels that measurements are of, in order of their first one; every column has one value for each."""

    def __init__(self, measurements: Measurements) -> None:
        self.measurements = measurements
        shapes = _paired(measurements.codelet.codes, measurements.footprint.codes)
        keys = _paired(shapes, np.unique(measurements.traffic, return_inverse=True)[1])
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        self.first: Ints = first[order]
        self.which: Ints = place[which]

    def __len__(self) -> int:
        return len(self.first)

    @property
    def classes(self) -> list[str]:
        """Names of the classes with a measurement."""
        return list(self.measurements.classes)

    @property
    def traffic(self) -> Floats:
        """Bytes of all operands."""
        return self.measurements.traffic[self.first]

    @property
    def operations(self) -> Floats:
        """Operations, 0 where they are not known."""
        return self.measurements.operations[self.first]

    @property
    def codelet(self) -> Words:
        """Names of the codelets."""
        return self.measurements.codelet.taken(self.first)

    @property
    def derived(self) -> Mask:
        """Whether any of its times was computed from others."""
        return np.bincount(self.which[self.measurements.derived], minlength=len(self)) > 0

    def seconds(self, name: str) -> Floats:
        """Return the mean over the devices of a class; infinite where there is none."""
        return self._mean(self.measurements.seconds, name, math.inf)

    def spread(self, name: str) -> Floats:
        """Return the standard deviation over the mean, each the mean over the devices of a class; NaN if none."""
        return self._mean(self.measurements.deviation, name, math.nan) / self.seconds(name)

    def _mean(self, column: Floats, name: str, missing: float) -> Floats:
        of_class = np.flatnonzero(self.measurements.class_codes == self.measurements.classes.get(name, -1))
        of_class = of_class[np.argsort(self.which[of_class], kind="stable")]
        kernels, begin, counts = np.unique(self.which[of_class], return_index=True, return_counts=True)
        values = column[of_class]
        found = np.full(len(self), missing)
        found[kernels] = values[begin]
        several = np.flatnonzero(counts > 1)
        ends = (begin[several] + counts[several]).tolist()
        parts = [values[start:end] for start, end in zip(begin[several].tolist(), ends, strict=True)]
        found[kernels[several]] = [math.fsum(part) / len(part) for part in parts]  # to the last bit, in any order
        return found


def _there(codes: Ints) -> Ints:
    """Return the different numbers of a column of small ones."""
    return np.flatnonzero(np.bincount(codes))


def _paired(left: Ints, right: Ints) -> Ints:
    """Return a number for every pair, the same for the same pairs, as small as can be."""
    wide = int(right.max(initial=0)) + 1
    codes: Ints = np.unique(left * wide + right, return_inverse=True)[1].astype(np.int64)
    return codes
