"""What is free on the nodes of a shared cluster: a job fits, takes and gives back; GPUs are taken one by one.

Plain Python that Numba can also compile; `job_loop.py` calls it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hybrid_scheduler.core.compiler import jitable, no_inline
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import WHOLE, Machines
from hybrid_scheduler.core.tasks import Floats, Ints

SIZES = 18
"""Kinds of jobs that a node counts: 0 takes a share of a GPU, g takes g whole GPUs, the last that many or more."""


class Requests(NamedTuple):
    """The jobs as the loop reads them."""

    arrival: Floats
    seconds: Floats
    requested: Floats
    width: Floats
    cpu: Ints
    memory: Ints
    gpus: Ints
    share: Ints
    gpu_memory: Ints
    models: Ints  # bits of the machines' models
    speed: Floats  # by job and model of the machines; empty: nobody names any
    longest: Floats  # requested seconds on the slowest model that it accepts
    span: Ints
    kind: Ints  # jobs of one kind ask for the same
    user: Ints  # numbered from 0
    weight: Floats
    deadline: Floats


class Job(NamedTuple):
    """What fit rules see of a job."""

    row: int
    cpu: int  # thousandths of a core
    gpus: int
    share: int  # thousandths of each GPU
    gpu_memory: int


class Nodes(NamedTuple):
    """What is free: by node, and by GPU."""

    cpu: Ints
    memory: Ints
    gpu: Ints  # by GPU: thousandths
    gpu_memory: Ints  # by GPU
    first: Ints  # node k has the GPUs first[k] … first[k + 1] - 1
    model: Ints  # by node: the bit of its model
    place: Ints  # by node: the number of that bit
    vram: Ints  # by node: memory of each of its GPUs
    whole: Ints  # by node: GPUs that nobody uses
    left: Ints  # by node: thousandths of GPUs
    sizes: Ints  # by node and kind of job (`SIZES`): how many run there
    version: Ints  # by node: grows when anything changes
    rank: Ints  # nodes in the order in which they are looked at: of equal scores the first wins


class Entries(NamedTuple):
    """What jobs hold: job i has the entries first[i] … first[i + 1] - 1, one a GPU or one for its cores."""

    first: Ints
    node: Ints
    gpu: Ints  # -1: none


def build_nodes(machines: Machines, rank: Ints) -> Nodes:
    """Return machines on which nothing runs."""
    first = np.concatenate([[0], np.cumsum(machines.gpus)]).astype(np.int64)
    bits = {name: 1 << place for place, name in enumerate(machines.models)}
    return Nodes(
        cpu=machines.cpu_milli.copy(),
        memory=machines.memory_mib.copy(),
        gpu=np.full(first[-1], WHOLE),
        gpu_memory=np.repeat(machines.gpu_memory_mib, machines.gpus),
        first=first,
        model=np.array([bits.get(name, 0) for name in machines.model], np.int64),
        place=np.array([bits.get(name, 1).bit_length() - 1 for name in machines.model], np.int64),
        vram=machines.gpu_memory_mib.copy(),
        whole=machines.gpus.copy(),
        left=machines.gpus * WHOLE,
        sizes=np.zeros((len(machines), SIZES), np.int64),
        version=np.ones(len(machines), np.int64),
        rank=rank,
    )


def build_entries(jobs: Jobs) -> Entries:
    """Return room for what jobs will hold."""
    first = np.concatenate([[0], np.cumsum(np.maximum(jobs.gpus, 1))]).astype(np.int64)
    return Entries(first, np.full(first[-1], -1), np.full(first[-1], -1))


@jitable
def fits(row: int, node: int, requests: Requests, nodes: Nodes) -> bool:
    """Whether a node has room for a whole job."""
    if requests.cpu[row] > nodes.cpu[node] or requests.memory[row] > nodes.memory[node]:
        return False
    if requests.gpus[row] == 0:
        return True
    if nodes.model[node] & requests.models[row] == 0 or requests.gpu_memory[row] > nodes.vram[node]:
        return False
    if requests.share[row] == WHOLE:
        return bool(nodes.whole[node] >= requests.gpus[row])
    found = False
    for gpu in range(nodes.first[node], nodes.first[node + 1]):
        found |= has_share(gpu, view_job(row, requests), nodes)
    return found


@jitable
def count_usable(row: int, node: int, requests: Requests, nodes: Nodes) -> int:
    """Return how many GPUs of a spanning job find room on a node, with their parts of cores and memory."""
    if nodes.model[node] & requests.models[row] == 0 or requests.gpu_memory[row] > nodes.vram[node]:
        return 0
    if nodes.cpu[node] < 0:  # it leaves, or is away
        return 0
    gpus = requests.gpus[row]
    cpu, memory = part_of(requests.cpu[row], gpus), part_of(requests.memory[row], gpus)
    usable: int = min(nodes.whole[node], gpus)
    if cpu > 0:
        usable = min(usable, nodes.cpu[node] // cpu)
    if memory > 0:
        usable = min(usable, nodes.memory[node] // memory)
    return usable


@jitable
def find_pace(row: int, requests: Requests, entries: Entries, nodes: Nodes) -> float:
    """Return how fast a job runs on what its entries name: as on the slowest of its GPUs."""
    if len(requests.speed) == 0 or requests.gpus[row] == 0:
        return 1.0
    pace = np.inf
    for entry in range(entries.first[row], entries.first[row + 1]):
        pace = min(pace, requests.speed[row, nodes.place[entries.node[entry]]])
    return pace


@jitable
def view_job(row: int, requests: Requests) -> Job:
    """Return what a fit rule sees of a job."""
    return Job(row, requests.cpu[row], requests.gpus[row], requests.share[row], requests.gpu_memory[row])


@jitable
def has_share(gpu: int, job: Job, nodes: Nodes) -> bool:
    """Whether a GPU has room for the share that a job takes of it."""
    return bool(job.share <= nodes.gpu[gpu] and job.gpu_memory <= nodes.gpu_memory[gpu])


@jitable
def part_of(amount: int, parts: int) -> int:
    """Return what each of several equal parts needs, rounded up."""
    return (amount + parts - 1) // parts


@jitable
def size_of(row: int, requests: Requests) -> int:
    """Return the kind of a job by its GPUs: see `SIZES`."""
    return 0 if requests.share[row] < WHOLE else min(requests.gpus[row], SIZES - 1)


@no_inline
def hold(row: int, sign: int, requests: Requests, entries: Entries, nodes: Nodes) -> None:
    """Take what a job's entries name (`sign` 1), or give it back (-1)."""
    gpus = requests.gpus[row]
    for place in range(max(gpus, 1)):
        entry = entries.first[row] + place
        node, gpu = entries.node[entry], entries.gpu[entry]
        if requests.span[row] and gpus > 0:
            nodes.cpu[node] -= sign * part_of(requests.cpu[row], gpus)
            nodes.memory[node] -= sign * part_of(requests.memory[row], gpus)
        elif place == 0:
            nodes.cpu[node] -= sign * requests.cpu[row]
            nodes.memory[node] -= sign * requests.memory[row]
        if gpu >= 0:
            was = nodes.gpu[gpu]
            nodes.gpu[gpu] = was - sign * requests.share[row]
            nodes.gpu_memory[gpu] -= sign * requests.gpu_memory[row]
            nodes.left[node] -= sign * requests.share[row]
            nodes.whole[node] += (1 if nodes.gpu[gpu] == WHOLE else 0) - (1 if was == WHOLE else 0)
        nodes.version[node] += 1
    if gpus > 0:
        nodes.sizes[entries.node[entries.first[row]], size_of(row, requests)] += sign


@no_inline
def name_whole_gpus(row: int, node: int, place: int, wanted: int, entries: Entries, nodes: Nodes) -> None:
    """Write a job's entries from number `place` on: the first GPUs of a node that nobody uses."""
    gpu = nodes.first[node]
    while wanted > 0:
        if nodes.gpu[gpu] == WHOLE:
            entries.node[entries.first[row] + place] = node
            entries.gpu[entries.first[row] + place] = gpu
            place += 1
            wanted -= 1
        gpu += 1


@no_inline
def name_spanned_gpus(row: int, requests: Requests, entries: Entries, nodes: Nodes) -> bool:
    """Write a job's entries on several nodes, the roomiest first; False if there is no room."""
    wanted, room = requests.gpus[row], 0
    for node in range(len(nodes.cpu)):
        room += count_usable(row, node, requests, nodes)
    if room < wanted:
        return False
    done = 0
    while done < wanted:
        roomiest, most = -1, 0
        for place in range(len(nodes.rank)):
            node = nodes.rank[place]
            usable = count_usable(row, node, requests, nodes)
            for entry in range(entries.first[row], entries.first[row] + done):
                usable = 0 if entries.node[entry] == node else usable  # its free GPUs are already named
            if usable > most:
                roomiest, most = node, usable
        count = min(most, wanted - done)
        name_whole_gpus(row, roomiest, done, count, entries, nodes)
        done += count
    return True


@no_inline
def copy_nodes(source: Nodes, target: Nodes) -> None:
    """Copy what is free."""
    for node in range(len(source.cpu)):
        target.cpu[node] = source.cpu[node]
        target.memory[node] = source.memory[node]
        target.whole[node] = source.whole[node]
        target.left[node] = source.left[node]
    for gpu in range(len(source.gpu)):
        target.gpu[gpu] = source.gpu[gpu]
        target.gpu_memory[gpu] = source.gpu_memory[gpu]


@no_inline
def intersect(node: int, one: Nodes, other: Nodes, target: Nodes) -> None:
    """Write what is free on a node by both accounts."""
    target.cpu[node] = min(one.cpu[node], other.cpu[node])
    target.memory[node] = min(one.memory[node], other.memory[node])
    target.whole[node], target.left[node] = 0, 0
    for gpu in range(one.first[node], one.first[node + 1]):
        target.gpu[gpu] = min(one.gpu[gpu], other.gpu[gpu])
        target.gpu_memory[gpu] = min(one.gpu_memory[gpu], other.gpu_memory[gpu])
        target.whole[node] += 1 if target.gpu[gpu] == WHOLE else 0
        target.left[node] += target.gpu[gpu]
    target.version[node] += 1
