"""The whole API against its own description: whatever is sent, no 5xx, and every answer is as promised.

`HMS_FUZZ=1` sends far more, and other things every time.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation.meta import TestPhase
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from databases import new_database
from live_server import DEADLINE, Live, live
from served import build_app

HUNT = bool(os.environ.get("HMS_FUZZ"))
PACE = 20.0
CLIENT, SESSION = httpx.Client(timeout=DEADLINE), requests.Session()
"""One of each: a new one reads all certificates of the machine."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
SCHEMA: dict[str, Any] = build_app("sqlite:///:memory:").openapi()
api = schemathesis.openapi.from_dict(
    SCHEMA,
    config=schemathesis.Config.from_dict(
        {"request-timeout": DEADLINE, "generation": {"deterministic": not HUNT, "database": "none"}}
    ),
)


# What the databases differ in has tests of its own; a hunt asks both, a usual run the stricter one.
@pytest.fixture(scope="module", params=["sqlite", "postgresql"] if HUNT else ["postgresql"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """The service on a port, with an event loop of its own: the requests come from a blocking client."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('openapi')}/hms.db"
    else:
        url = new_database(request.getfixturevalue("postgres"))
    folder = tmp_path_factory.mktemp("data")
    loop, serving = asyncio.new_event_loop(), live(url, pace=PACE, frame_seconds=0.5, data_dir=folder)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield asyncio.run_coroutine_threadsafe(serving.__aenter__(), loop).result()
    asyncio.run_coroutine_threadsafe(serving.__aexit__(None, None, None), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def calm(service: Live) -> None:
    """See to it that a simulation is there, and at a pace that leaves few rows to export."""
    simulation = service.manager.simulation
    if simulation is None or not service.manager.active:
        CLIENT.post(f"{service.address}/api/simulation/start", json={"pace": PACE})
    elif simulation.settings.pace != PACE:
        CLIENT.patch(f"{service.address}/api/simulation/settings", json={"pace": PACE})
    for each in CLIENT.get(f"{service.address}/api/experiments").json()["experiments"]:
        if each["state"] in ("queued", "running"):  # whatever was asked for could take hours
            CLIENT.delete(f"{service.address}/api/experiments/{each['id']}")


COVERED: Counter[str] = Counter()


def is_left_out(case: schemathesis.Case[Any]) -> bool:
    """Whether a usual run leaves a request out: of the thousand that try every limit of a field, it sends some."""
    if HUNT or case.meta is None or case.meta.phase.name is not TestPhase.COVERAGE:
        return False
    COVERED[case.operation.label] += 1
    return COVERED[case.operation.label] % 4 != 1


@api.parametrize()
@settings(
    max_examples=200 if HUNT else 4,
    derandomize=not HUNT,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate, *([Phase.shrink] if HUNT else [])],
)
def test_every_answer_is_as_described(case: schemathesis.Case[Any], service: Live) -> None:
    if is_left_out(case):
        return
    case.call_and_validate(base_url=service.address, checks=CHECKS, session=SESSION)
    if case.method != "GET":
        calm(service)


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in SCHEMA["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def test_every_operation_is_described_and_names_its_errors() -> None:
    for name, operation in operations():
        assert operation["summary"], name
        assert operation["description"], name
        assert operation["tags"], name
        assert any(status.startswith(("4", "5")) for status in operation["responses"]), name
        for status, answer in operation["responses"].items():
            assert answer["description"], (name, status)
            assert answer["content"], (name, status)


def test_every_field_of_an_answer_is_always_there_and_has_no_title() -> None:
    for name, schema in SCHEMA["components"]["schemas"].items():
        fields = schema.get("properties", {})
        assert not [field for field, about in fields.items() if "title" in about], name


def test_both_sets_of_paths_are_there() -> None:
    wanted = """simulation/start simulation/stop simulation/pause simulation/resume simulation/step simulation/status
        simulation/settings status pause resume full_history history/comparative tasks schedulers comparison
        matrix/wins matrix/correlation distribution/sizes heatmap utilization runs runs/{run_id} runs/{run_id}/export
        runs/{run_id}/figures compare workloads workloads/{name} workloads/{name}/file experiments
        experiments/{experiment_id} models metrics health"""
    assert {f"/api/{path}" for path in wanted.split()} <= set(SCHEMA["paths"])
