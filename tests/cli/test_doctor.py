"""The doctor says what is missing and how to get it, and touches nothing."""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hybrid_scheduler.cli import doctor
from hybrid_scheduler.cli.doctor import Check, run_check
from hybrid_scheduler.cli.main import app
from hybrid_scheduler.settings import load_settings


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PORT", "0")


def run_doctor(code: int) -> dict[str, dict[str, Any]]:
    done = CliRunner().invoke(app, ["doctor", "--json"])
    assert done.exit_code == code, done.output
    found = json.loads(done.stdout)
    assert found["ok"] is (code == 0)
    return {each["name"]: each for each in found["checks"]}


def test_a_machine_that_runs_the_tests_is_well_and_nothing_is_left_behind(tmp_path: Path) -> None:
    found = run_doctor(0)
    assert {each["state"] for each in found.values()} <= {"ok", "note"}
    assert "bit-identical" in found["compiled loop"]["found"]
    assert found["database"]["found"].startswith("SQLite, data/hms.db will be created")
    assert {f"[{name}]" for name in doctor.EXTRAS} <= set(found)
    assert list(tmp_path.iterdir()) == []


def test_what_keeps_it_from_working_is_told_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "TASKS", 1000)
    monkeypatch.setenv("DATABASE_URL", "postgresql://hms:secret@127.0.0.1:1/hms")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert lines[-1] == "fix: database, Redis"
    database = next(number for number, line in enumerate(lines) if line.startswith("NO  database"))
    assert "cannot be reached" in lines[database]
    assert "start it or correct the address" in lines[database + 1]
    assert "secret" not in done.stdout


def test_wrong_settings_are_one_finding_and_the_other_checks_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRESET", "mixd")
    settings, check = doctor.check_settings()
    assert settings is None
    assert (check.state, "did you mean 'mixed'?" in check.found) == ("fail", True)


def test_a_port_that_another_program_has_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))  # taken, but it does not even listen
        number = other.getsockname()[1]
        found = doctor.check_port(load_settings(port=number))
    assert found == Check(
        f"port {number}",
        "fail",
        f"port {number} is taken by another program",
        "choose another with --port, 0 takes a free one",
    )


def test_too_little_of_anything_is_told(tmp_path: Path) -> None:
    assert doctor.check_python((3, 10, 4)).state == "fail"
    assert doctor.check_memory(1900.0).state == "fail"
    assert doctor.check_memory(2100.0).state == "ok"
    assert "lower KEEP_TASKS" in doctor.check_disk(tmp_path, least_mb=1e12).advice
    assert "make dashboard" in doctor.check_dashboard(tmp_path / "index.html").advice
    assert doctor.check_loop(count=1000, slow=1e12).state == "note"


def test_a_missing_extra_is_a_note_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "version", missing)
    found = doctor.check_extra("postgres")
    assert (found.state, found.found) == ("note", "asyncpg not installed")
    assert found.advice == "only for storing in PostgreSQL: pip install 'hybrid-ml-scheduler[postgres]'"
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert (doctor.check_node().state, "only needed to work on the dashboard" in doctor.check_node().advice) == (
        "note",
        True,
    )


def test_every_extra_of_users_is_checked() -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(doctor.EXTRAS) == set(project["project"]["optional-dependencies"]) - {"all", "bench", "dev"}


def test_a_check_that_raises_is_a_failed_check() -> None:
    def broken() -> Check:
        raise RuntimeError("no such thing\nand more")

    found = run_check("thing", broken)
    assert (found.name, found.state, found.found) == ("thing", "fail", "RuntimeError: no such thing")


class _Damaged(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        part = {"state": "ok", "kind": "disk", "message": ""}
        damaged = {"state": "down", "kind": "sqlite", "message": "the database is damaged (page 7): hms restore"}
        health = {"version": "1", "uptime": 5.0, "store": damaged, "disk": part}
        body = json.dumps(health if "health" in self.path else {"state": "paused", "error": "", "notice": ""})
        self.send_response(503 if "health" in self.path else 200)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class calls it so
        """Say nothing."""


def test_a_damaged_service_is_told_what_is_wrong_with_it() -> None:
    with HTTPServer(("127.0.0.1", 0), _Damaged) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        checks = {check.name: check for check in doctor.check_service(address)}
        server.shutdown()
    assert (checks["store"].state, checks["store"].found) == ("fail", "the database is damaged (page 7)")
    assert checks["store"].advice == "hms restore"
    assert [checks[name].state for name in ("service", "disk", "race")] == ["ok"] * 3
    (unreachable,) = doctor.check_service(address)
    assert (unreachable.state, unreachable.advice) == ("fail", "start it with hms serve, or correct the address")
