"""Your run, live: a page of this process with lanes, decisions, queue and learnt times; and a line of progress."""

from __future__ import annotations

import json
import math
import secrets
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

from hybrid_scheduler.runtime.dispatcher import Dispatcher
from hybrid_scheduler.runtime.record import Event, RunRecord

WINDOW_SECONDS = 30.0  # that the lanes show
MAX_SHOWN = 2000  # spans on the page
DECISIONS = 20
PROGRESS_SECONDS = 0.2  # between two lines at least


def _format_milliseconds(seconds: float) -> str:
    """Return milliseconds with three digits at least, and never as a power of ten where there are more."""
    return f"{seconds * 1e3:.3g}" if seconds < 0.1 else f"{seconds * 1e3:,.0f}"


class ProgressLine:
    """Writes how many tasks have ended to standard error, over the line before; the line ends with the workers."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher, self._done, self._last = dispatcher, 0, 0.0

    def __call__(self) -> None:
        """Note that a task has ended."""
        self._done += 1
        submitted, waiting, dispatched = self._dispatcher.counts
        now, is_last = time.monotonic(), self._done >= submitted
        if is_last or now - self._last >= PROGRESS_SECONDS:
            self._last = now
            line = f"{self._done:,} of {submitted:,} tasks, {dispatched:,} placed, {waiting:,} waiting"
            sys.stderr.write(f"\r{line:<60}")
            sys.stderr.flush()

    def close(self) -> None:
        """End the line."""
        if self._done:
            sys.stderr.write("\n")
            sys.stderr.flush()


class Dashboard:
    """A server on loopback; its address contains a secret, so that nobody else of this machine reads along."""

    def __init__(self, dispatcher: Dispatcher, record: RunRecord) -> None:
        self._dispatcher, self._record = dispatcher, record
        self._path = f"/{secrets.token_urlsafe(16)}/"
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._create_handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="run-dashboard", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self._server.server_port}{self._path}"

    def close(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _create_handler(self) -> type[BaseHTTPRequestHandler]:
        dashboard = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # named by http.server
                if self.path == dashboard._path:
                    self._answer(
                        files("hybrid_scheduler.runtime").joinpath("dashboard.html").read_bytes(), "text/html"
                    )
                elif self.path == f"{dashboard._path}state":
                    self._answer(json.dumps(dashboard.describe()).encode(), "application/json")
                else:
                    self.send_error(404)

            def _answer(self, body: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("Content-Type", f"{kind}; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Say nothing: the terminal is the user's."""

        return Handler

    def describe(self) -> dict[str, Any]:
        """Return what the page shows."""
        now, classes = self._dispatcher.now, self._dispatcher.decider.cluster.classes
        submitted, waiting, dispatched = self._dispatcher.counts
        latest = self._record.list_latest(MAX_SHOWN)
        recent = [each for each in latest if any(end > now - WINDOW_SECONDS for *_, end in each.spans)]
        names = [each.name for each in classes]
        objects = self._dispatcher.backend.objects
        return {
            "now": now,
            "window": WINDOW_SECONDS,
            "policy": self._record.policy,
            "badge": "measured",
            "devices": [each.label for each in self._record.devices],
            "counts": {
                "submitted": submitted,
                "waiting": waiting,
                "placed": dispatched,
                "ended": len(self._record),
            },
            "stored_bytes": 0 if objects is None else objects.used,
            "spans": [[each.name, *span] for each in recent for span in each.spans if math.isfinite(span[2])],
            "decisions": [self._explain(each, names) for each in latest[:DECISIONS]],
            "times": self._list_times(),
            "transfers": self._dispatcher.decider.transfers.rows(),
        }

    def _explain(self, event: Event, names: list[str]) -> dict[str, Any]:
        where = [self._record.devices[device].label for device, *_ in event.spans]
        expected = ", ".join(
            f"{name} {_format_milliseconds(seconds)} ms"
            for name, seconds in zip(names, event.predicted, strict=False)
            if math.isfinite(seconds)
        )
        reason = "a trial: its times there were unknown" if event.was_trial else f"expected {expected}"
        if not event.was_trial and self._is_slower(event):
            reason += "; the faster were busy"
        outcome = "raised" if event.failed else "done" if event.spans else "not run"
        return {
            "task": event.number,
            "name": event.name,
            "device": " + ".join(where),
            "reason": reason,
            "end": outcome,
        }

    def _is_slower(self, event: Event) -> bool:
        """Whether a job ran on a class that was expected to take longer than another."""
        classes = self._dispatcher.decider.class_index
        own = [event.predicted[classes[device]] for device, *_ in event.spans if event.predicted]
        return len(own) == 1 and own[0] > min(event.predicted)

    def _list_times(self) -> list[dict[str, Any]]:
        rows = list[dict[str, Any]]()
        for (name, signature), history in list(self._dispatcher.times.histories.items()):
            logs = list(history.log_seconds) or ([] if history.warm_up is None else [history.warm_up])
            if logs:
                seconds = math.exp(sorted(logs)[len(logs) // 2])
                rows.append(
                    {"name": name, "class": signature.partition("=")[0], "seconds": seconds, "runs": history.count}
                )
        return sorted(rows, key=lambda row: -row["seconds"] * row["runs"])[:50]
