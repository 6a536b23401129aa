"""Fit rules: which of the nodes that have room takes a job, and which GPU takes a share of one.

The node with the largest score wins, of equal ones the first by rank; `schedulers/fits.py` says whose rules they are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hybrid_scheduler.core.compiler import jitable, no_inline
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import WHOLE, Machines
from hybrid_scheduler.core.nodes import SIZES, Job, Nodes, has_share
from hybrid_scheduler.core.tasks import Floats, Ints

FIRST, RANDOM, BEST, WORST, DOT_PRODUCT, PACKING, CLUSTERING, FGD = range(8)
MODULUS = 2**31 - 1


class FitRule:
    """A rule and the numbers that it goes by; the same loop runs all of them."""

    def __init__(self, name: str, rule: int, seed: int = 0, popularity: float = 1.0) -> None:
        self._name, self._popularity = name, popularity
        self.rule, self.seed = rule, seed % MODULUS
        self.most_cpu, self.most_gpu = 1.0, 1.0  # of the largest node
        self.chance, self.asked = np.empty(0), np.empty((0, 4), np.int64)  # typical requests
        self.left = np.empty(0, np.int64)  # scratch: what would be left of the GPUs of a node

    @property
    def name(self) -> str:
        """What the rule is called."""
        return self._name

    @property
    def cached(self) -> bool:
        """Whether a score depends on what a job asks for and on the state of the node, and on nothing else."""
        return self.rule != RANDOM

    def prepare(self, jobs: Jobs, machines: Machines) -> None:
        """Look at the machines, and at jobs like those to come, before the first decision."""
        self.most_cpu = float(machines.cpu_milli.max(initial=1))
        self.most_gpu = float(max(machines.gpus.max(initial=0), 1) * WHOLE)
        self.left = np.zeros(int(machines.gpus.max(initial=0)), np.int64)
        self.asked, self.chance = find_typical(jobs, machines, self._popularity)


def find_typical(jobs: Jobs, machines: Machines, popularity: float) -> tuple[Ints, Floats]:
    """Return the most frequent requests that make up a share of all jobs, and how frequent each is among them."""
    models = np.where(jobs.gpus > 0, jobs.accepted_models(machines), 0)
    share = np.where(jobs.gpus > 0, jobs.gpu_milli, 0)
    rows, counts = np.unique(np.column_stack([jobs.cpu_milli, share, jobs.gpus, models]), axis=0, return_counts=True)
    order = np.lexsort((*(-rows[:, column] for column in (3, 2, 1, 0)), -counts))
    reached = np.cumsum(counts[order]) >= popularity * counts.sum()
    kept = order[: int(np.argmax(reached)) + 1] if len(order) else order
    return np.ascontiguousarray(rows[kept]), counts[kept] / max(int(counts[kept].sum()), 1)


@no_inline
def score_node(rule: Any, job: Job, node: int, nodes: Nodes) -> float:
    """Return how well a node suits a job for which it has room: more is better."""
    if rule.rule == RANDOM:
        return draw(rule.seed, job.row, node)
    if rule.rule == FGD:
        return score_fragments(rule, job, node, nodes)
    if rule.rule == PACKING:
        return score_packing(job, node, nodes)
    if rule.rule == CLUSTERING:
        return score_clustering(rule, job, node, nodes)
    if rule.rule == DOT_PRODUCT:
        cpu = nodes.cpu[node] / rule.most_cpu * (job.cpu / rule.most_cpu)
        gpu = nodes.left[node] / rule.most_gpu * (job.gpus * job.share / rule.most_gpu)
        return float(int(100.0 * (1.0 - (cpu + gpu) / 2.0)))
    cpu = (nodes.cpu[node] - job.cpu) / rule.most_cpu
    gpu = (nodes.left[node] - job.gpus * job.share) / rule.most_gpu
    if rule.rule == BEST:
        return float(int((1.0 - (cpu * 0.5 + gpu * 0.5)) * 100.0))
    return cpu * 0.5 + gpu * 0.5 if rule.rule == WORST else 0.0


@no_inline
def pick_gpu(rule: Any, job: Job, node: int, nodes: Nodes) -> int:
    """Return the GPU of a node that takes a job's share: the one that fits tightest, unless the rule has its own."""
    if rule.rule == FGD:
        return pick_least_fragments(rule, job, node, nodes)
    best, most = -1, -np.inf
    for gpu in range(nodes.first[node], nodes.first[node + 1]):
        if has_share(gpu, job, nodes):
            value = float(nodes.gpu[gpu]) if rule.rule == WORST else -float(nodes.gpu[gpu])
            if rule.rule == RANDOM:
                value = draw(rule.seed + 1, job.row, gpu)
            if value > most:
                best, most = gpu, value
    return best


@jitable
def draw(seed: int, row: int, place: int) -> float:
    """Return a random number from 0 to 1 that depends on its arguments only; all products fit 64 bits."""
    number = (seed * 48271 + row * 69621 + place * 16807 + 12345) % MODULUS
    for _ in range(3):
        number = (number ^ (number >> 15)) * 1103515245 % MODULUS
        number = (number ^ (number >> 13)) * 48271 % MODULUS
    return number / MODULUS


@no_inline
def score_packing(job: Job, node: int, nodes: Nodes) -> float:
    """Return 50 to 100 for a GPU in use, 33 to 50 for free ones beside such, less for a free node."""
    if job.gpus == 0:
        return 0.0
    count = nodes.first[node + 1] - nodes.first[node]
    if nodes.whole[node] == count:
        return float(max(33 - count, count))
    if job.share == WHOLE:
        return float(max(50 - job.gpus, 33))
    tightest = WHOLE
    for gpu in range(nodes.first[node], nodes.first[node + 1]):
        if has_share(gpu, job, nodes):
            tightest = min(tightest, nodes.gpu[gpu])
    return 49.0 if tightest == WHOLE else float(max(100 - tightest * 100 // WHOLE // 10, 50))


@no_inline
def score_clustering(rule: Any, job: Job, node: int, nodes: Nodes) -> float:
    """Return up to 100 beside its like alone, 75 beside its like and others, 50 on a free node, else 25."""
    if job.gpus == 0:
        return 0.0
    size, kinds, offset = 0 if job.share < WHOLE else min(job.gpus, SIZES - 1), 0, 0
    for each in range(SIZES):
        kinds += 1 if nodes.sizes[node, each] > 0 else 0
    if nodes.sizes[node, size] > 0:
        offset = 75 if kinds == 1 else 50
    elif kinds == 0:
        offset = 25
    most = int(rule.most_gpu)
    return float(25 * (most - nodes.left[node]) // most + offset)


@no_inline
def score_fragments(rule: Any, job: Job, node: int, nodes: Nodes) -> float:
    """Return the grade of by how many GPUs fragmentation would fall; a share goes where it falls most."""
    before = measure_fragments(nodes.cpu[node], node, nodes, -1, 0, 0, rule.left, rule.asked, rule.chance)
    if job.gpus == 1 and job.share < WHOLE:
        best = -1.0
        for gpu in range(nodes.first[node], nodes.first[node + 1]):
            best = max(best, grade_share(rule, job, gpu, before, node, nodes))
        return best
    cpu = nodes.cpu[node] - job.cpu
    return grade(before - measure_fragments(cpu, node, nodes, -1, 0, job.gpus, rule.left, rule.asked, rule.chance))


@no_inline
def pick_least_fragments(rule: Any, job: Job, node: int, nodes: Nodes) -> int:
    """Return the first GPU of a node with the best grade."""
    before = measure_fragments(nodes.cpu[node], node, nodes, -1, 0, 0, rule.left, rule.asked, rule.chance)
    best, most = -1, -1.0
    for gpu in range(nodes.first[node], nodes.first[node + 1]):
        value = grade_share(rule, job, gpu, before, node, nodes)
        if value > most:
            best, most = gpu, value
    return best


@no_inline
def grade_share(rule: Any, job: Job, gpu: int, before: float, node: int, nodes: Nodes) -> float:
    """Grade a GPU for a job's share; −1 if it has no room, or if an earlier one has as much left."""
    if not has_share(gpu, job, nodes):
        return -1.0
    for other in range(nodes.first[node], gpu):
        if nodes.gpu[other] == nodes.gpu[gpu] and has_share(other, job, nodes):
            return -1.0
    cpu = nodes.cpu[node] - job.cpu
    return grade(before - measure_fragments(cpu, node, nodes, gpu, job.share, 0, rule.left, rule.asked, rule.chance))


@jitable
def grade(fall: float) -> float:
    """Return a whole number from 0 to 100 for by how many thousandths of GPUs fragmentation falls: a sigmoid."""
    return float(int(100.0 / (1.0 + math.exp(-fall / 1000.0))))


@no_inline
def measure_fragments(
    cpu: int, node: int, nodes: Nodes, shared: int, share: int, taken: int, left: Ints, asked: Ints, chance: Floats
) -> float:
    """Return the thousandths of GPUs of a node that typical jobs cannot use, on average over those jobs.

    That is with `cpu` of its cores left, after a share of GPU number `shared` and `taken` whole GPUs were taken.
    """
    count, total, fragments = nodes.first[node + 1] - nodes.first[node], 0, 0.0
    for place in range(count):
        gpu = nodes.first[node] + place
        left[place] = nodes.gpu[gpu] - (share if gpu == shared else 0)
        if taken > 0 and left[place] == WHOLE:
            left[place] = 0
            taken -= 1
        total += left[place]
    for kind in range(len(chance)):
        fitting, small = 0, 0
        for place in range(count):
            if left[place] >= asked[kind, 1]:
                fitting += 1
            else:
                small += left[place]
        usable = asked[kind, 1] > 0 and asked[kind, 3] & nodes.model[node] != 0
        usable = usable and fitting >= asked[kind, 2] and cpu >= asked[kind, 0]
        fragments += chance[kind] * (small if usable else total)
    return fragments


def measure_fragmentation(rule: FitRule, nodes: Nodes) -> float:
    """Return the thousandths of GPUs of all nodes that typical jobs cannot use."""
    return float(
        sum(
            measure_fragments(int(nodes.cpu[node]), node, nodes, -1, 0, 0, rule.left, rule.asked, rule.chance)
            for node in range(len(nodes.cpu))
        )
    )
