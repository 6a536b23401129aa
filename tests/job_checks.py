"""Random jobs and machines, and independent checks of schedules of shared clusters."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import WHOLE, Machines
from hybrid_scheduler.core.schedule import Schedule


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


def draw_pods(seed: int, count: int = 40) -> tuple[Jobs, Machines]:
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
        accepts=[([], ["T4"], ["T4", "V100"])[each] for each in named],
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
    assert np.array_equal(schedule.finish[rows], schedule.start[rows] + jobs.seconds[rows])
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
