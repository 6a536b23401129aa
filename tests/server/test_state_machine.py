"""The real service through random commands, uploads, kills and restarts: what was answered 2xx stays.

A short walk in the suite; `HMS_STEPS=2000 python -m pytest tests/server/test_state_machine.py -s` takes a long one.
"""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import signal
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from live_server import DEADLINE, Process

STEPS = int(os.environ.get("HMS_STEPS", "0"))  # of the long walk
WALK, APART = 50, 8  # steps with one database, and between two kills: a start takes seconds
COUNTS = {"steps": 0, "kills": 0, "tasks": 0, "changes": 0, "uploads": 0}
NAMES, PRESETS = ("one.csv", "two.csv", "three.csv"), ("mixed", "heavy", "long_tail")
SCHEDULERS = ("round_robin", "random", "greedy", "eft", "oracle", "work_stealing", "jsq")
TASKS = st.fixed_dictionaries(
    {
        "size": st.floats(1.0, 1e5),
        "compute_intensity": st.floats(0.0, 1.0),
        "memory_required": st.floats(0.0, 1e5),
    }
)
CHANGES = st.one_of(
    st.fixed_dictionaries({"load": st.floats(0.05, 2.0)}),
    st.fixed_dictionaries({"rate": st.floats(0.1, 500.0)}),
    st.fixed_dictionaries({"energy_weight": st.floats(0.0, 1.0)}),
    st.fixed_dictionaries({"num_gpus": st.integers(0, 8)}),
    st.fixed_dictionaries({"pace": st.sampled_from([0.1, 20.0, 200.0])}),
    st.fixed_dictionaries({"max_queue": st.one_of(st.none(), st.integers(1, 1000))}),
    st.fixed_dictionaries({"seed": st.integers(0, 2**53 - 1)}),
    st.fixed_dictionaries({"schedulers": st.lists(st.sampled_from(SCHEDULERS), min_size=1, unique=True)}),
    st.fixed_dictionaries({"num_gpus": st.just(4), "failed_gpus": st.lists(st.integers(0, 3), unique=True)}),
)
WRONG = st.sampled_from(
    [
        *({"max_queue": value} for value in (0, -1, 2**70)),
        *({"load": value} for value in (0, -1, 1e-320, 1e308)),
        *({"num_gpus": value} for value in (-1, 65, 10**9)),
        *({"pace": value} for value in (0, 1e300)),
        *({"preset": value} for value in ("upload:none", "upload:../x", "nothing", "cholesky")),
        *({"schedulers": value} for value in ([], ["nobody"], ["eft", "eft"], ["hybrid_ml:n_estimators=-1"])),
        *({"failed_gpus": [63]}, {"load": 1.0, "rate": 1.0}, {}, {"what": 1}),
    ]
)


@dataclass
class Run:
    """What was answered about one run."""

    tasks: dict[int, dict[str, float]] = field(default_factory=dict)
    changes: list[dict[str, Any]] = field(default_factory=list)  # in their order
    settings: dict[str, Any] | None = None  # None: a change may have been cut off by a kill
    presets: list[str] = field(default_factory=list)
    least_tasks: int = 0
    paused: bool = False


class Walk(RuleBasedStateMachine):
    """One database, its service, and what it has promised."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.runs: dict[int, Run] = {}
        self.deleted = set[int]()
        self.uploads: dict[str, bytes] = {}
        self.number, self.active = 0, False  # of the present run
        self.sent = 0  # files, no two the same
        self.since = 0  # steps since the last start

    @property
    def run(self) -> Run:
        return self.runs[self.number]

    @initialize()
    def start_first(self) -> None:
        self.serve()
        self.note_start(self.wait_for_race())

    def serve(self) -> None:
        environment = {"RESUME": "true", "RATE_LIMIT": "none", "LOG_FILE": "none", "DATA_DIR": str(self.folder)}
        self.process = Process(self.folder, f"sqlite:///{self.folder}/hms.db", **environment)
        self.client = httpx.Client(base_url=self.process.address, timeout=DEADLINE)
        self.since = 0

    def wait_for_race(self) -> dict[str, Any]:
        """Return the status once a race goes on; health must not say that it does before."""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            health: dict[str, Any] = self.get("/api/health")
            status: dict[str, Any] = self.get("/api/status")
            if status["state"] != "none":
                return status
            assert health["engine"]["kind"] in ("none", "running"), health
            assert "could not be started" not in status["notice"], status
            time.sleep(0.02)
        raise AssertionError("".join(self.process.lines))

    def note_start(self, status: dict[str, Any]) -> None:
        """Take down a new run; its number was never given before."""
        self.number, self.active = status["run_id"], True
        assert self.number not in self.runs
        assert self.number not in self.deleted
        current = self.get("/api/simulation/settings")["settings"]
        self.runs[self.number] = Run(settings=current, presets=[current["preset"]])

    def get(self, path: str, **query: Any) -> Any:
        answer = self.client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def send(self, method: str, path: str, *statuses: int, **options: Any) -> httpx.Response:
        answer = self.client.request(method, path, **options)
        assert answer.status_code in statuses, f"{method} {path} {options}: {answer.status_code} {answer.text}"
        return answer

    # --- commands ----------------------------------------------------------------------------------------------

    @rule(task=TASKS)
    def submit(self, task: dict[str, float]) -> None:
        if not self.active:
            self.send("POST", "/api/tasks", 409, json=task)
            return
        self.note_task(self.send("POST", "/api/tasks", 201, json=task).json()["task"]["task_id"], task)

    def note_task(self, number: int, task: dict[str, float]) -> None:
        assert number not in self.run.tasks
        assert number >= self.run.least_tasks
        self.run.tasks[number], self.run.least_tasks = task, number + 1
        COUNTS["tasks"] += 1

    @rule(values=CHANGES)
    def change(self, values: dict[str, Any]) -> None:
        if not self.active:
            self.send("PATCH", "/api/simulation/settings", 409, json=values)
            return
        answer = self.send("PATCH", "/api/simulation/settings", 200, 400, json=values)
        if answer.status_code == 200:  # a load can come to a rate beyond all limits
            self.note_change(answer.json())

    def note_change(self, answer: dict[str, Any]) -> None:
        self.run.changes.append(answer["change"])
        self.run.settings = answer["settings"]
        COUNTS["changes"] += 1

    @rule(values=WRONG)
    def change_wrongly(self, values: dict[str, Any]) -> None:
        refused = self.send("PATCH", "/api/simulation/settings", 400, 409, 422, json=values).json()
        assert refused["error"]["message"]

    @precondition(lambda self: self.active)
    @rule(tasks=st.integers(1, 300))
    def pause_and_step(self, tasks: int) -> None:
        self.send("POST", "/api/simulation/pause", 200)
        status = self.send("POST", "/api/simulation/step", 200, json={"tasks": tasks}).json()
        assert status["state"] == "paused"
        assert status["tasks_processed"] >= self.run.least_tasks + tasks
        self.run.paused, self.run.least_tasks = True, status["tasks_processed"]
        self.run.changes.append({"step": tasks})

    @precondition(lambda self: self.active)
    @rule()
    def go_on(self) -> None:
        assert self.send("POST", "/api/resume", 200).json()["state"] == "running"
        self.run.paused = False

    # --- workloads ---------------------------------------------------------------------------------------------

    @rule(name=st.sampled_from(NAMES), rows=st.integers(2, 40))
    def upload(self, name: str, rows: int) -> None:
        self.sent += 1
        lines = [f"{500 + 7 * row},0.{row % 10},{self.sent},{row * row / 30}\n" for row in range(rows)]
        content = "".join(["size,compute_intensity,memory_required,arrival_time\n", *lines]).encode()
        wanted = (400, 409) if name in self.uploads else (201,)
        self.send("POST", "/api/workloads", *wanted, params={"name": name}, content=content)
        COUNTS["uploads"] += 1
        self.uploads.setdefault(name, content)

    @precondition(lambda self: self.active)
    @rule(spec=st.sampled_from([*PRESETS, *(f"upload:{name}" for name in NAMES)]))
    def turn_to(self, spec: str) -> None:
        there = spec in PRESETS or spec.removeprefix("upload:") in self.uploads
        answer = self.send("PATCH", "/api/simulation/settings", 200 if there else 400, json={"preset": spec})
        if there:
            self.note_change(answer.json())
            self.run.presets.append(answer.json()["change"]["preset"])

    @rule(name=st.sampled_from(NAMES))
    def delete_upload(self, name: str) -> None:
        if name not in self.uploads:
            self.send("DELETE", f"/api/workloads/{name}", 404)
            return
        spec = f"upload:{name}@{hashlib.sha256(self.uploads[name]).hexdigest()[:8]}"
        raced = self.active and spec in self.run.presets  # a resumed run may be replayed with it
        self.send("DELETE", f"/api/workloads/{name}", 409 if raced else 200)
        if not raced:
            del self.uploads[name]

    # --- runs --------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.active)
    @rule()
    def stop_and_start(self) -> None:
        ended = self.send("POST", "/api/simulation/stop", 200).json()
        self.run.least_tasks = max(self.run.least_tasks, ended["tasks_processed"])
        self.active = False
        self.check_run(self.number)
        self.note_start(self.send("POST", "/api/simulation/start", 200).json())

    @precondition(lambda self: len(self.runs) > 1)
    @rule(data=st.data())
    def delete_run(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.runs)))
        self.send("DELETE", f"/api/runs/{number}", 409 if number == self.number else 200)
        if number != self.number:
            del self.runs[number]
            self.deleted.add(number)

    # --- kills -------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.since > APART)
    @rule()
    def kill(self) -> None:
        self.end_and_resume()

    @precondition(lambda self: self.active and self.since > APART)
    @rule(task=TASKS, milliseconds=st.integers(0, 300))
    def kill_amid_commands(self, task: dict[str, float], milliseconds: int) -> None:
        """Kill it while commands are under way: those that were answered are there, others may be."""
        answers = list[httpx.Response]()
        threads = [threading.Thread(target=self.command_on, args=(kind, task, answers)) for kind in ("task", "load")]
        for each in threads:
            each.start()
        time.sleep(milliseconds / 1000)
        self.process.end(signal.SIGKILL)
        for each in threads:
            each.join(DEADLINE)
        for answer in answers:  # in the order in which they came
            if answer.request.method == "POST":
                self.run.tasks[answer.json()["task"]["task_id"]] = task
            else:
                self.run.changes.append(answer.json()["change"])
        self.run.settings = None
        self.end_and_resume()

    def command_on(self, kind: str, task: dict[str, float], answers: list[httpx.Response]) -> None:
        """Send commands until nobody answers any more."""
        with suppress(httpx.TransportError), httpx.Client(base_url=self.process.address, timeout=DEADLINE) as client:
            for number in range(1, 1000):
                if kind == "task":
                    answer = client.post("/api/tasks", json=task)
                else:
                    answer = client.patch("/api/simulation/settings", json={"load": 0.1 + number / 1000})
                assert answer.status_code in (200, 201), answer.text
                answers.append(answer)

    def end_and_resume(self) -> None:
        COUNTS["kills"] += 1
        self.client.close()
        with suppress(ProcessLookupError):
            self.process.end(signal.SIGKILL)
        self.process.__exit__(None, None, None)
        self.serve()
        status = self.wait_for_race()
        assert status["run_id"] == self.number, "".join(self.process.lines)
        self.run.paused = False
        for number in self.runs:
            self.check_run(number)
        self.check_uploads()

    # --- what must hold ----------------------------------------------------------------------------------------

    @invariant()
    def health_tells_the_truth(self) -> None:
        COUNTS["steps"] += 1
        self.since += 1
        if not self.runs:
            return
        health, status = self.get("/api/health"), self.get("/api/status")
        state = "paused" if self.run.paused else "running"
        assert (health["state"], health["engine"]["kind"], status["state"]) == ("ok", state, state), health
        assert health["tasks"]["message"] == health["store"]["message"] == status["notice"] == ""
        current = self.get("/api/simulation/settings")["settings"]
        assert current == (self.run.settings or current)

    def check_run(self, number: int) -> None:
        """Compare what is stored of a run with what was answered."""
        run, stored = self.runs[number], self.read_tasks(number)
        assert sorted(stored) == list(range(len(stored))), "tasks are missing"
        assert len(stored) >= run.least_tasks
        for task_id, task in run.tasks.items():
            assert {name: stored[task_id][name] for name in task} == task
        log = [each["change"] for each in self.get(f"/api/runs/{number}")["changes"]]
        rest = iter([each for each in log if "task" not in each])
        assert all(change in rest for change in run.changes), (run.changes, log)  # in this order
        assert sum("task" in each for each in log) >= len(run.tasks)

    def read_tasks(self, number: int) -> dict[int, dict[str, Any]]:
        found, after = dict[int, dict[str, Any]](), dict[str, int]()
        while True:
            page = self.get("/api/tasks", run=number, limit=1000, **after)
            found |= {each["task_id"]: each for each in page["tasks"]}
            if page["next"] is None:
                return found
            after = {"after": page["next"]}

    def check_uploads(self) -> None:
        listed = self.get("/api/workloads")
        assert {each["name"] for each in listed["workloads"] if each["kind"] == "upload"} == set(self.uploads)
        assert listed["problems"] == []
        for name, content in self.uploads.items():
            assert self.client.get(f"/api/workloads/{name}/file").content == content

    def teardown(self) -> None:
        try:
            if self.runs:
                self.end_and_resume()
        finally:
            self.client.close()
            self.process.__exit__(None, None, None)
            shutil.rmtree(self.folder, ignore_errors=True)
            if STEPS:
                print(", ".join(f"{count:,} {what}" for what, count in COUNTS.items()))  # noqa: T201  # who waits asks


def test_whatever_was_answered_is_there_after_any_commands_kills_and_restarts() -> None:
    walks = math.ceil(1.2 * STEPS / WALK) if STEPS else 2  # some are cut short, and the first one is the simplest
    # Nothing is shrunk: the service runs in real time, so that no walk is the same twice.
    run_state_machine_as_test(
        Walk,
        settings=settings(
            max_examples=walks,
            stateful_step_count=WALK if STEPS else 15,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
