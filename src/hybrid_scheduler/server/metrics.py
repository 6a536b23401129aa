"""Metrics for Prometheus: the race, the recorder, the clients of `/ws`, and the latency of requests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import Scope

if TYPE_CHECKING:
    from hybrid_scheduler.server.race import RaceManager

_BY_SCHEDULER = (  # name, help, attribute, is it a counter
    ("hms_placements", "Tasks that a scheduler placed", "tasks", True),
    ("hms_rejected", "Tasks that a scheduler rejected", "rejected", True),
    ("hms_restarts", "Tasks started again after a failure", "restarts", True),
    ("hms_wins", "Tasks that a scheduler ended first", "wins", True),
    ("hms_energy_joules", "Energy of all tasks", "energy", True),
    ("hms_backlog_seconds", "Work queued on the mean device", "backlog", False),
    ("hms_queue_length", "Shares of tasks that wait", "queue_length", False),
    ("hms_saturated", "Whether the queue keeps growing", "saturated", False),
    ("hms_turnaround_seconds", "Mean time from arrival to finish", "mean_turnaround", False),
    ("hms_makespan_over_bound", "1 is optimal", "makespan_over_bound", False),
)


class Metrics(Collector):
    """Collects counters of other objects at every scrape; only requests are timed here."""

    def __init__(self, manager: RaceManager) -> None:
        self._manager = manager
        self._registry = CollectorRegistry()
        self._registry.register(self)
        self._requests = Histogram(
            "hms_http_seconds",
            "Time to answer a request",
            ("method", "route", "status"),
            registry=self._registry,
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0),
        )

    def observe(self, scope: Scope, status: int, seconds: float) -> None:
        """Record one request by its route: paths contain ids, which would be unbounded labels."""
        route = getattr(scope.get("route"), "path", "other")
        self._requests.labels(scope["method"] if route != "other" else "any", route, status).observe(seconds)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterable[Metric]:
        """Read the race and the service."""
        yield from self._race()
        yield from self._service()

    def _race(self) -> Iterable[Metric]:
        snapshot = self._manager.snapshot()
        if snapshot is None:
            return
        yield CounterMetricFamily("hms_tasks", "Tasks that arrived", snapshot.tasks_processed)
        yield GaugeMetricFamily("hms_running", "Whether the race is running", float(snapshot.state == "running"))
        yield GaugeMetricFamily("hms_tasks_per_second", "Tasks per second", snapshot.tasks_per_second)
        yield GaugeMetricFamily("hms_simulated_seconds", "Simulated time", snapshot.sim_time)
        for name, meaning, attribute, counter in _BY_SCHEDULER:
            family = CounterMetricFamily if counter else GaugeMetricFamily
            metric = family(name, meaning, labels=["scheduler"])
            for each in snapshot.schedulers:
                metric.add_metric([each.name], float(getattr(each, attribute)))
            yield metric

    def _service(self) -> Iterable[Metric]:
        hub, recorder = self._manager.hub, self._manager.recorder
        skipped = sum(client.skipped_total for client in hub.clients)
        yield CounterMetricFamily("hms_frames", "Messages published on /ws", hub.seq)
        yield CounterMetricFamily("hms_frames_queued", "Messages queued for clients", hub.sent)
        yield GaugeMetricFamily("hms_clients", "Clients on /ws", len(hub.clients))
        yield GaugeMetricFamily("hms_clients_skipped", "Messages dropped for slow clients", skipped)
        yield CounterMetricFamily("hms_recorder_rows", "Rows committed", recorder.rows_written)
        yield CounterMetricFamily("hms_recorder_refused", "Rows that the database refused", recorder.rows_refused)
        yield GaugeMetricFamily("hms_recorder_pending", "Rows that wait to be committed", recorder.pending_rows)
        yield GaugeMetricFamily("hms_recorder_troubled", "Whether the database fails", float(recorder.is_failing))
