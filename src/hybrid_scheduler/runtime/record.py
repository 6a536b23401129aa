"""A record of what ran: kept as a file that can be simulated again, as a trace for Perfetto, and shown live."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hybrid_scheduler import __version__
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.placements import RAN, Placements
from hybrid_scheduler.core.tasks import Tasks, edges_from_ids
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import atomic_write, read_document
from hybrid_scheduler.runtime.devices import DeviceSpec, build_cluster, class_signatures, normalise_devices
from hybrid_scheduler.runtime.jobs import Job
from hybrid_scheduler.runtime.measured_times import MeasuredTimes

KIND, SCHEMA = "hybrid_scheduler_run", 1
DEVICE_FIELDS = ("name", "device_class", "kind", "torch_device", "threads", "slowdown", "slope", "node")
MAX_EVENTS = 1_000_000  # kept, the latest ones
Span = tuple[int, float, float, float]  # device, part, start, end


class Event(NamedTuple):
    """A job that has ended; times are seconds since the scheduler started."""

    number: int
    name: str
    size: float
    intensity: float
    memory: float
    arrival: float
    status: int
    failed: bool
    attempts: int
    parents: tuple[int, ...]
    spans: tuple[Span, ...]
    predicted: Sequence[float]  # seconds by class, when it was decided on
    was_trial: bool  # it was sent there because its task was unknown there


class RunRecord:
    """Collects the jobs of a scheduler as they end."""

    def __init__(self, devices: Sequence[DeviceSpec], policy: str) -> None:
        self.devices, self.policy = tuple(devices), policy
        self.rows: deque[tuple[Any, ...]] = deque(maxlen=MAX_EVENTS)  # plain: the garbage collector forgets those
        self.listeners: list[Callable[[], None]] = []  # called after every event

    def add(self, job: Job) -> None:
        """Note a job that has ended."""
        spans = tuple([(each.device, each.part, each.start, each.end) for each in job.shares])
        features = job.number, job.task.name, job.size, job.intensity, job.memory, job.arrival
        predicted = tuple(job.predicted)
        row = (*features, job.status, job.failed, job.attempts, job.parents, spans, predicted, job.was_trial)
        self.rows.append(row)
        for listener in self.listeners:
            listener()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def events(self) -> list[Event]:
        """What has ended, oldest first."""
        return list(map(Event._make, list(self.rows)))

    def list_latest(self, count: int) -> list[Event]:
        """Return what has ended last, latest first."""
        return list(map(Event._make, islice(reversed(self.rows), count)))

    def save(self, path: str | Path, times: MeasuredTimes) -> None:
        """Write the record with the learnt seconds of every task on every class: `hms simulate` reads it."""
        cluster = build_cluster(self.devices)
        signatures = class_signatures(self.devices, cluster)
        events, known = self.events, dict[tuple[str, float], list[float]]()
        for each in events:
            if (each.name, each.size) not in known:
                known[each.name, each.size] = times.predict(each.name, signatures, each.size).tolist()
        rows = [{**each._asdict(), "seconds": known[each.name, each.size]} for each in events]
        devices = [{name: getattr(each, name) for name in DEVICE_FIELDS} for each in self.devices]
        head = {"kind": KIND, "schema": SCHEMA, "version": __version__, "policy": self.policy, "devices": devices}
        with atomic_write(path) as scratch:
            scratch.write_text(json.dumps({**head, "tasks": rows}), encoding="utf-8")

    def save_trace(self, path: str | Path) -> None:
        """Write the record in the format of Chrome's tracing, which https://ui.perfetto.dev shows."""
        names = [
            {"name": "thread_name", "ph": "M", "pid": 1, "tid": number, "args": {"name": each.label}}
            for number, each in enumerate(self.devices)
        ]
        spans = [
            {
                "name": event.name,
                "ph": "X",
                "pid": 1,
                "tid": device,
                "ts": start * 1e6,
                "dur": (end - start) * 1e6,
                "args": {"task": event.number, "size": event.size, "part": part, "waited": start - event.arrival},
            }
            for event in self.events
            for device, part, start, end in event.spans
            if start == start  # NaN: it never ran
        ]
        with atomic_write(path) as scratch:
            scratch.write_text(json.dumps({"traceEvents": [*names, *spans]}), encoding="utf-8")


class KeptRun(NamedTuple):
    """A run that was kept: its tasks, their seconds by class, and how long it really took."""

    tasks: Tasks
    cluster: Cluster
    policy: str
    makespan: float
    labels: tuple[str, ...]


def load_run(path: str | Path) -> KeptRun:
    """Read a kept run; tasks that did not run to their end are left out."""
    try:
        data = json.loads(read_document(path))
    except OSError as error:
        raise InputError(f"run {path} cannot be read ({error.strerror}): check the path") from None
    except (ValueError, RecursionError):
        raise InputError(f"run {path}: damaged or no JSON; keep one with scheduler.save_run(path)") from None
    if not isinstance(data, dict) or data.get("kind") != KIND or data.get("schema") != SCHEMA:
        raise InputError(f'{path} is no kept run ("kind": "{KIND}", "schema": {SCHEMA}): keep one with save_run')
    try:
        return _build_run(data)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise InputError(f"run {path}: damaged; keep it again with scheduler.save_run(path)") from None


def _build_run(data: dict[str, Any]) -> KeptRun:
    specs = normalise_devices([DeviceSpec(**each) for each in data["devices"]])
    cluster = build_cluster(specs)
    rows = [Event(**{name: each[name] for name in Event._fields}) for each in data["tasks"]]
    seconds = [each["seconds"] for each in data["tasks"]]
    kept = [number for number, each in enumerate(rows) if each.status <= RAN + 1 and each.spans and not each.failed]
    if not kept:
        raise InputError("no task of the kept run has ended well: there is nothing to simulate")
    events = [rows[number] for number in kept]
    columns = np.array([seconds[number] for number in kept], np.float64)
    for row, each in enumerate(events):
        for device, part, start, end in each.spans:
            columns[row, cluster.class_index[device]] = max((end - start) / part, 1e-9)
    # Workers that were not there yet are nobody's decision: time begins with the first task that runs.
    ids, begin = [each.number for each in events], min(start for each in events for _, _, start, _ in each.spans)
    known = set(ids)
    tasks = Tasks.build(
        size=[each.size for each in events],
        compute_intensity=[each.intensity for each in events],
        memory_required=[each.memory for each in events],
        arrival_time=[max(each.arrival - begin, 0.0) for each in events],
        task_id=ids,
        edges=edges_from_ids(ids, [[parent for parent in each.parents if parent in known] for each in events]),
        measured={each.name: columns[:, number] for number, each in enumerate(cluster.classes)},
    )
    makespan = max(end for each in events for *_, end in each.spans) - begin
    return KeptRun(tasks, cluster, str(data["policy"]), makespan, tuple(each.label for each in specs))


def summarise_run(run: KeptRun, placed: dict[str, Placements], bound: float) -> list[dict[str, Any]]:
    """Return a line per policy, best first: makespan, over the bound, mean turnaround, what it would have saved."""
    rows = [
        {
            "scheduler": name,
            "makespan": float(each.makespan),
            "over_bound": float(each.makespan) / bound if bound > 0.0 else float("nan"),
            "turnaround": float(np.nanmean(each.turnaround)),
            "saves": 1.0 - float(each.makespan) / run.makespan,
        }
        for name, each in placed.items()
    ]
    return sorted(rows, key=lambda row: row["makespan"])
