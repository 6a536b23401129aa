"""Random jobs and machines, and independent checks of schedules of shared clusters."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import WHOLE, Machines
from hybrid_scheduler.core.schedule import Schedule
from hybrid_scheduler.core.spot import LEAVE, NOTICE, RETURN, Departures, Stints


def draw_batch(seed: int, count: int = 40, processors: int = 16) -> tuple[Jobs, Machines]:
    """Draw rigid jobs whose users request more than they need, on a pool."""
    generator = np.random.default_rng(seed)
    seconds = np.round(np.exp(generator.normal(3.0, 1.2, count)), 1) + 0.1
    jobs = Jobs.build(
        seconds=seconds,
        arrival=np.round(np.cumsum(generator.exponential(8.0, count)), 1),
        requested=seconds * generator.choice([1.0, 1.5, 4.0], count),
        cpu_milli=generator.integers(1, processors + 1, count) * WHOLE,
        user=generator.integers(0, 3, count),
    )
    return jobs, Machines.pool(processors)


SPEEDS: tuple[dict[str, float], ...] = ({}, {"T4": 0.5}, {"T4": 0.4, "V100": 1.0, "A10": 1.5})


def draw_pods(seed: int, count: int = 40, *, speeds: bool = False) -> tuple[Jobs, Machines]:
    """Draw pods with shares, gangs of which some may span nodes, and accepted models, on six nodes."""
    generator = np.random.default_rng(seed)
    gpus = generator.choice([0, 1, 1, 2, 3], count)
    shared = (gpus == 1) & (generator.random(count) < 0.6)
    named = generator.integers(0, 3, count)
    seconds = generator.integers(1, 60, count).astype(float)
    jobs = Jobs.build(
        seconds=seconds,
        arrival=np.cumsum(generator.integers(0, 6, count)).astype(float),
        requested=seconds * generator.choice([1.0, 3.0], count),
        cpu_milli=generator.integers(1, 9, count) * 500,
        memory_mib=generator.integers(0, 5, count) * 100,
        gpus=gpus,
        gpu_milli=np.where(shared, generator.integers(1, 10, count) * 100, WHOLE),
        gpu_memory_mib=np.where(gpus > 0, generator.integers(0, 8, count) * 1000, 0),
        accepts=[SPEEDS[each] if speeds else ([], ["T4"], ["T4", "V100"])[each] for each in named],
        span=generator.random(count) < 0.5,
        user=generator.integers(0, 4, count),
        weight=generator.choice([1.0, 2.0], count),
    )
    nodes = Machines.build(
        [8000, 8000, 6000, 6000, 4000, 4000],
        [1000] * 6,
        [2, 2, 2, 1, 1, 0],
        ("T4", "V100", "V100", "T4", "A10", ""),
        [16_000] * 6,
    )
    return jobs, nodes


def check_jobs(schedule: Schedule) -> None:
    """Check what must hold of any schedule: times, gangs, models, shares, and that nothing is given away twice."""
    jobs, machines, entries = schedule.jobs, schedule.machines, schedule.entries
    first = np.concatenate([[0], np.cumsum(machines.gpus)])
    rows = np.flatnonzero(schedule.ran)
    assert np.all(schedule.start[rows] >= jobs.arrival[rows])
    assert np.all(np.isnan(schedule.start[~schedule.ran]))
    for row in rows.tolist():
        span = slice(entries.first[row], entries.first[row + 1])
        node, gpu = entries.node[span], entries.gpu[span]
        count = int(jobs.gpus[row])
        assert np.all(node >= 0)
        assert len(set(gpu.tolist())) == max(count, 1), "a gang has all its GPUs, each once; a share lies on one"
        assert np.all(gpu == -1) if count == 0 else np.all((gpu >= first[node]) & (gpu < first[node + 1]))
        assert jobs.span[row] or len(set(node.tolist())) == 1
        named = [name for bit, name in enumerate(jobs.model_names) if jobs.models[row] >> bit & 1]
        assert count == 0 or not named or {machines.model[each] for each in node} <= set(named)
        assert schedule.finish[row] == schedule.start[row] + jobs.seconds[row] / pace_of(schedule, row, node)
    for moment in np.unique(schedule.start[rows]):
        _check_moment(schedule, moment)


def _check_moment(schedule: Schedule, moment: float) -> None:
    """Check that what jobs hold at one moment is there: cores, memory, and every GPU with its memory."""
    jobs, machines, entries = schedule.jobs, schedule.machines, schedule.entries
    cpu, memory = np.zeros(len(machines)), np.zeros(len(machines))
    share, vram = np.zeros(machines.total_gpus), np.zeros(machines.total_gpus)
    for row in np.flatnonzero((schedule.start <= moment) & (schedule.finish > moment)).tolist():
        span = slice(entries.first[row], entries.first[row + 1])
        nodes, count = entries.node[span], max(int(jobs.gpus[row]), 1)
        np.add.at(cpu, nodes, jobs.cpu_milli[row] / count)
        np.add.at(memory, nodes, jobs.memory_mib[row] / count)
        if jobs.gpus[row]:
            share[entries.gpu[span]] += jobs.gpu_milli[row]
            vram[entries.gpu[span]] += jobs.gpu_memory_mib[row]
    assert np.all(cpu <= machines.cpu_milli + 1e-6)
    assert np.all(memory <= machines.memory_mib + 1e-6)
    assert np.all(share <= WHOLE)
    assert np.all(vram <= np.repeat(machines.gpu_memory_mib, machines.gpus))


def pace_of(schedule: Schedule, row: int, nodes: Iterable[int]) -> float:
    """Return how fast a job runs on nodes: as on the slowest model of those."""
    jobs, names = schedule.jobs, [schedule.machines.model[node] for node in nodes]
    if not jobs.gpus[row]:
        return 1.0
    return min(jobs.speed[row, jobs.model_names.index(each)] if each in jobs.model_names else 1.0 for each in names)


def check_stints(schedule: Schedule, departures: Departures | None = None) -> None:
    """Check a schedule with interruptions: gangs whole, nothing held twice, nobody on a node that is away."""
    jobs, machines, lines = schedule.jobs, schedule.machines, schedule.list_stints()
    held: dict[tuple[int, float], list[int]] = {}
    for line, (row, begin) in enumerate(zip(lines.row.tolist(), lines.begin.tolist(), strict=True)):
        held.setdefault((row, begin), []).append(line)
    last: dict[int, float] = {}
    for (row, begin), own in sorted(held.items(), key=lambda item: item[0][1]):
        assert begin >= max(jobs.arrival[row], last.get(row, 0.0)), "a job runs once at a time"
        last[row] = float(lines.end[own[0]])
        assert len(set(lines.end[own].tolist())) == 1, "a gang starts and stops together"
        assert len(own) == max(int(jobs.gpus[row]), 1)
        assert len(set(lines.gpu[own].tolist())) == len(own), "each GPU once; a share lies on one"
        assert jobs.span[row] or len(set(lines.node[own].tolist())) == 1
    assert all(schedule.finish[row] == last[row] for row in np.flatnonzero(schedule.ran).tolist())
    for moment in np.unique(lines.begin):
        here = (lines.begin <= moment) & (lines.end > moment)
        row, parts = lines.row[here], np.maximum(jobs.gpus, 1)[lines.row[here]]
        cpu = np.bincount(lines.node[here], jobs.cpu_milli[row] / parts, len(machines))
        memory = np.bincount(lines.node[here], jobs.memory_mib[row] / parts, len(machines))
        assert np.all(cpu <= machines.cpu_milli + 1e-6)
        assert np.all(memory <= machines.memory_mib + 1e-6)
        if machines.total_gpus:
            wide = jobs.gpus[row] > 0
            gpu = lines.gpu[here][wide]
            assert np.all(np.bincount(gpu, jobs.gpu_milli[row][wide], machines.total_gpus) <= WHOLE)
            vram = np.bincount(gpu, jobs.gpu_memory_mib[row][wide], machines.total_gpus)
            assert np.all(vram <= np.repeat(machines.gpu_memory_mib, machines.gpus))
    if departures is not None:
        _check_away(lines, departures)


def check_work(schedule: Schedule, cost: float) -> None:
    """Check that jobs without speeds held what they needed, and beyond that only restarts and what was in vain."""
    ran = schedule.ran
    assert schedule.kept is not None
    restarts = (schedule.served - schedule.jobs.seconds - schedule.kept.lost)[ran] / cost
    assert np.allclose(restarts, np.round(restarts), atol=1e-6)
    restarts, often, lost = np.round(restarts), schedule.interruptions[ran], schedule.kept.lost[ran]
    assert np.all((restarts >= 0) & (restarts <= often))
    assert np.array_equal(restarts[lost == 0], often[lost == 0])


def _check_away(lines: Stints, departures: Departures) -> None:
    """Check that nobody starts on a node after its notice, and that nobody stays when it leaves."""
    for event in np.flatnonzero(departures.kind == NOTICE).tolist():
        node, notice = departures.node[event], departures.moment[event]
        own = departures.node == node
        leave = departures.moment[own & (departures.kind == LEAVE) & (departures.moment >= notice)].min()
        back = departures.moment[own & (departures.kind == RETURN) & (departures.moment > notice)].min(initial=np.inf)
        there = lines.node == node
        assert not np.any(there & (lines.begin > notice) & (lines.begin < back))
        assert not np.any(there & (lines.begin < leave) & (lines.end > leave))


def schedule_easy(jobs: Jobs, processors: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the starts of first come, first served with EASY backfilling, written out anew and slowly."""
    start = np.full(len(jobs), np.nan)
    width = jobs.cpu_milli // WHOLE
    for now in _moments(jobs, processors, start):
        queue = [row for row in range(len(jobs)) if np.isnan(start[row]) and jobs.arrival[row] <= now]
        head = -1
        for row in queue:
            busy = [each for each in np.flatnonzero(start <= now) if start[each] + jobs.seconds[each] > now]
            free = processors - sum(width[each] for each in busy)
            if head < 0 and width[row] <= free:
                start[row] = now
            elif head < 0:
                head = row
                ends = sorted((max(start[each] + jobs.requested[each], now), width[each]) for each in busy)
                room, shadow = free, now
                for end, freed in ends:
                    if room >= width[head]:
                        break
                    room, shadow = room + freed, end
                extra = free + sum(freed for end, freed in ends if end <= shadow) - width[head]
            elif width[row] <= free and (now + jobs.requested[row] <= shadow or width[row] <= extra):
                extra -= width[row] if now + jobs.requested[row] > shadow else 0
                start[row] = now
    return start


def _moments(jobs: Jobs, processors: int, start: np.ndarray[tuple[int], np.dtype[np.float64]]):  # type: ignore[no-untyped-def]  # a generator over what its caller fills in
    now = -1.0
    while np.isnan(start).any():
        ends = start + jobs.seconds
        later = [*jobs.arrival[jobs.arrival > now], *ends[ends > now]]
        now = min(later)
        yield now
