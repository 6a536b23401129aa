"""Kernels to learn from and other kernels to be tried on: no row of a benchmark stands on both sides."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.model.tasks import Ints, Tasks
from hybrid_scheduler.workload.composition import drawn
from hybrid_scheduler.workload.formats import reader
from hybrid_scheduler.workload.formats.kernels import groups
from hybrid_scheduler.workload.generator import paced

STREAM = 0x5EE
SHARES, LESSONS, TRIALS = range(3)
"""Streams of random numbers: who stands on which side, and what is drawn there."""


@dataclass(frozen=True)
class Unseen:
    """A workload to learn from, one of other kernels to be tried on, and the machines that both were measured on."""

    lessons: Tasks
    trials: Tasks
    lesson_rows: Ints  # rows of the file on each side
    trial_rows: Ints
    cluster: Cluster


def unseen_kernels(
    path: str | Path, seed: int, count: int = 2000, load: float = 0.9, share: float = 0.5, by: str = "benchmark"
) -> Unseen:
    """Part the kernels of a file by benchmark (or `suite`); draw tasks of each side as a Poisson stream at a load."""
    found = reader.read_all([path])
    if found.cluster is None:
        raise InputError(f"{path} names no machines: give a table of kernels with times on a CPU and on GPUs")
    learnt, tried = parted(groups(path, by), seed, share)
    lessons, trials = (
        _stream(found.tasks, rows, seed, number, count, load, found.cluster)
        for rows, number in ((learnt, LESSONS), (tried, TRIALS))
    )
    return Unseen(lessons, trials, learnt, tried, found.cluster)


def parted(group: Ints, seed: int, share: float) -> tuple[Ints, Ints]:
    """Part rows so that whole groups stand on one side: about a share of the groups, at least one on each side."""
    names = np.unique(group)
    if len(names) < 2 or not 0 < share < 1:
        raise InputError(
            f"{len(names)} kernels cannot be parted by {share:g}: two or more, and a share between 0 and 1"
        )
    shuffled = np.random.default_rng([seed, STREAM, SHARES]).permutation(names)
    cut = min(max(round(share * len(names)), 1), len(names) - 1)
    first = np.isin(group, shuffled[:cut])
    return np.flatnonzero(first), np.flatnonzero(~first)


def _stream(tasks: Tasks, among: Ints, seed: int, number: int, count: int, load: float, cluster: Cluster) -> Tasks:
    which, gaps = (np.random.default_rng([seed, STREAM, number, column]) for column in range(2))
    taken = drawn(tasks, among[which.integers(0, len(among), count)])
    return paced(taken.arriving_at(np.cumsum(gaps.exponential(1.0, count))), cluster, load=load)
