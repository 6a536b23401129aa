"""Workloads over REST: a file goes in whole or not at all, its shape is shown, and the race runs on it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import pytest_asyncio

from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.formats import csv
from hybrid_scheduler.workloads.generator import PRESETS
from served import Service, serving

pytestmark = pytest.mark.asyncio
LINES = b"size,compute_intensity,memory_required,arrival_time\n" + b"".join(
    b"%d,0.%d,%d,%d\n" % (100 + 50 * row, row % 10, 10 + row, row) for row in range(50)
)
GRAPH = b"task_id,size,compute_intensity,memory_required,dependencies\n1,9,0.5,1,\n2,9,0.5,1,1\n3,9,0.5,1,1;2\n"


@pytest_asyncio.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with serving(f"sqlite:///{tmp_path}/hms.db", data_dir=tmp_path / "data") as service:
        yield service


@pytest_asyncio.fixture
async def either(url: str, tmp_path: Path) -> AsyncIterator[Service]:
    """The service on either database, for tests of what is stored."""
    async with serving(url, data_dir=tmp_path / "data") as service:
        yield service


async def send(service: Service, name: str, body: bytes | AsyncIterator[bytes] = LINES) -> httpx.Response:
    return await service.client.post("/api/workloads", params={"name": name}, content=body)


async def listed(service: Service, kind: str = "upload") -> list[dict[str, Any]]:
    return [each for each in (await service.get("/api/workloads"))["workloads"] if each["kind"] == kind]


def message(answer: httpx.Response) -> str:
    return str(answer.json()["error"]["message"])


async def test_a_file_is_uploaded_listed_shown_fetched_and_deleted(service: Service) -> None:
    answer = await send(service, "trace.csv")
    assert answer.status_code == 201, answer.text
    line = answer.json()
    assert (line["name"], line["spec"], line["format"], line["tasks"]) == ("trace.csv", "upload:trace.csv", "csv", 50)
    assert (line["bytes"], line["duration"], line["live"], line["in_use"]) == (len(LINES), 49.0, True, False)
    assert await listed(service) == [line]
    shape = await service.get("/api/workloads/trace.csv")
    assert {name: shape[name] for name in line} == line
    assert shape["arrival_rate"] == pytest.approx(1.0)
    assert shape["burstiness"] == 0.0
    assert sum(shape["size"]["counts"]) == sum(shape["arrivals"]["counts"]) == 50
    fetched = await service.client.get("/api/workloads/trace.csv/file")
    assert fetched.content == LINES
    assert 'filename="trace.csv"' in fetched.headers["content-disposition"]
    gone = await service.client.delete("/api/workloads/trace.csv")
    assert (gone.status_code, gone.json()) == (200, {"removed": "upload:trace.csv"})
    assert await listed(service) == []
    for path in ("trace.csv", "trace.csv/file"):
        assert await service.refused(f"/api/workloads/{path}") == 404


async def test_every_preset_shows_its_shape(service: Service) -> None:
    assert [each["name"] for each in await listed(service, "preset")] == list(PRESETS)
    shapes = {name: await service.get(f"/api/workloads/{name}") for name in PRESETS}
    assert shapes["mixed"]["offered_load"] == pytest.approx(0.9, rel=0.01)
    assert shapes["pareto"]["size"]["scale"] == "log"
    assert shapes["mixed"]["size"]["scale"] == "linear"
    assert shapes["bursty"]["burstiness"] > 1.3 > shapes["mixed"]["burstiness"]
    assert shapes["cholesky"]["dependency_share"] > 0.9
    assert shapes["cholesky"]["arrival_rate"] is None
    assert not shapes["cholesky"]["live"]
    assert shapes["gpu_friendly"]["gpu_faster_share"] > 0.9 > 0.1 > shapes["cpu_friendly"]["gpu_faster_share"]
    assert all(each["bound"] > 0 for each in shapes.values())
    assert await service.refused("/api/workloads/mixed/file") == 404
    assert (await service.client.delete("/api/workloads/mixed")).status_code == 404


async def test_the_shape_is_told_for_the_cluster_of_the_moment(service: Service) -> None:
    await send(service, "trace.csv")
    before = await service.get("/api/workloads/trace.csv")
    await service.start(num_gpus=1)
    after = await service.get("/api/workloads/trace.csv")
    assert (before["num_gpus"], after["num_gpus"]) == (4, 1)
    assert after["offered_load"] > before["offered_load"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "trace.csv: the file is empty"),
        (b"size,compute_intensity,memory_required\n1,0.5,1\n1,2,1\n", "trace.csv line 3: compute_intensity is 2"),
        (b"a,b\n1,2\n", "trace.csv: column 'size' is missing, found a, b"),
        (b"\xff\xfe\x00", "trace.csv is not UTF-8 text"),
        (b"PAR1nothing", "trace.csv cannot be read as Parquet"),
    ],
)
async def test_a_file_that_cannot_be_used_is_refused_in_one_line(
    service: Service, tmp_path: Path, body: bytes, why: str
) -> None:
    answer = await send(service, "trace.csv", body)
    assert answer.status_code == 400
    assert message(answer).startswith(why)
    assert list((tmp_path / "data" / "workloads").iterdir()) == []


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "A.csv", ".x", "a b", "x" * 101, "x\n"])
async def test_a_name_that_leads_elsewhere_is_refused(service: Service, name: str) -> None:
    assert (await send(service, name)).status_code == 422


async def test_names_are_taken_once_and_not_from_presets(service: Service) -> None:
    assert (await send(service, "a")).status_code == 201
    for name in ("a", "mixed"):
        assert (await send(service, name)).status_code == 409


async def test_an_upload_has_a_limit_of_its_own(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/hms.db"
    body = LINES + b"9,0.5,1,99\n" * 50
    async with serving(url, data_dir=tmp_path, max_body_bytes=1000, max_upload_bytes=len(body)) as service:
        assert (await send(service, "fits", body)).status_code == 201
        told = await send(service, "more", body + b"\n")
        assert (told.status_code, message(told)) == (413, f"the body is larger than {len(body)} bytes")

        async def parts() -> AsyncIterator[bytes]:
            yield body
            yield b"1,0.5,1,99\n"

        untold = await send(service, "more", parts())
        assert untold.status_code == 413
        assert [each["name"] for each in await listed(service)] == ["fits"]
        assert [each.name for each in (tmp_path / "workloads").iterdir()] == ["fits"]
        long = await service.client.post("/api/tasks", content=b" " * 1001)
        assert long.status_code == 413


async def test_the_race_runs_on_a_file_which_then_cannot_be_deleted(either: Service) -> None:
    await send(either, "trace.csv")
    await either.start(preset="upload:trace.csv")
    await either.manager.step(120)
    await either.flush()
    run_id = either.manager.run_id
    first = await either.get("/api/runs/1")
    digits = (await listed(either))[0]["sha256"][:8]
    assert first["settings"]["preset"] == f"upload:trace.csv@{digits}"
    tasks = (await either.get("/api/tasks", run=run_id, limit=120))["tasks"]
    assert [each["size"] for each in tasks] == [100.0 + 50 * (row % 50) for row in range(120)]
    assert (await listed(either))[0]["in_use"]
    refused = await either.client.delete("/api/workloads/trace.csv")
    assert (refused.status_code, message(refused)) == (
        409,
        "workload 'trace.csv' is in use: run 1 races on it: let it race on another one, or stop it",
    )
    answer = await either.client.patch("/api/simulation/settings", json={"preset": "mixed"})
    assert answer.status_code == 200
    refused = await either.client.delete("/api/workloads/trace.csv")
    assert (refused.status_code, message(refused)[:54]) == (
        409,
        "workload 'trace.csv' is in use: run 1 raced on it and ",
    )
    await either.manager.stop()
    assert (await either.client.delete("/api/workloads/trace.csv")).status_code == 200
    await send(either, "trace.csv", LINES + b"1,0.5,1,99\n")
    await either.manager.resume_run(1, paused=True)  # from the checkpoint at its end, which needs the file no more
    assert (await either.client.delete("/api/workloads/trace.csv")).status_code == 200  # another one of this name


async def test_settings_offer_files_and_refuse_what_cannot_race(service: Service) -> None:
    await send(service, "trace.csv")
    await send(service, "graph.csv", GRAPH)
    choices = (await service.get("/api/simulation/settings"))["choices"]["presets"]
    assert "upload:trace.csv" in choices
    assert "upload:graph.csv" not in choices
    await service.start()
    for spec, why in (
        ("upload:graph.csv", "it has dependencies"),
        ("upload:none", "there is no workload 'none'"),
        ("upload:trace.csv@00000000", "is not the file of this run"),
        ("upload:../x", "write upload:NAME"),
    ):
        answer = await service.client.patch("/api/simulation/settings", json={"preset": spec})
        assert answer.status_code == 400, spec
        assert why in message(answer)
    answer = await service.client.patch("/api/simulation/settings", json={"preset": "upload:trace.csv"})
    assert answer.json()["change"]["preset"].startswith("upload:trace.csv@")
    assert (await service.client.post("/api/simulation/stop")).status_code == 200
    again = await service.client.post("/api/simulation/start", json={"preset": "upload:none"})
    assert (again.status_code, again.json()["error"]["kind"]) == (400, "invalid")


async def test_a_run_on_a_file_is_resumed_on_the_same_file_only(either: Service) -> None:
    await send(either, "trace.csv")
    await either.step(70, preset="upload:trace.csv", seed=3)
    await either.manager.stop()
    assert (await either.client.delete("/api/workloads/trace.csv")).status_code == 200
    missing = await either.client.post("/api/runs/1/resume")
    assert (missing.status_code, message(missing)[:33]) == (400, "there is no workload 'trace.csv':")
    await send(either, "trace.csv", LINES + b"1,0.5,1,99\n")
    other = await either.client.post("/api/runs/1/resume")
    assert other.status_code == 400
    assert "'trace.csv' is not the file of this run" in message(other)
    await either.client.delete("/api/workloads/trace.csv")
    await send(either, "trace.csv")
    await either.manager.resume_run(1, paused=True)
    await either.manager.step(10)
    await either.flush()
    sizes = [each["size"] for each in (await either.get("/api/tasks", run=1, limit=80))["tasks"]]
    assert sizes == [100.0 + 50 * (row % 50) for row in range(80)]


async def test_uploads_of_one_name_at_the_same_time_leave_one(service: Service) -> None:
    answers = await asyncio.gather(*(send(service, "same") for _ in range(6)))
    assert sorted(each.status_code for each in answers).count(201) == 1
    assert {each.status_code for each in answers} <= {201, 400, 409}
    assert len(await listed(service)) == 1


async def test_a_large_file_is_taken(service: Service, tmp_path: Path) -> None:
    tasks = WorkloadGenerator(1).generate_preset("pareto", 20_000)
    csv.write(tasks, tmp_path / "large.csv")
    assert (await send(service, "large.csv", (tmp_path / "large.csv").read_bytes())).status_code == 201
    shape = await service.get("/api/workloads/large.csv")
    assert shape["tasks"] == 20_000
    assert shape["size"]["median"] == pytest.approx(float(np.median(tasks.size)))
    assert shape["offered_load"] == pytest.approx(0.9, rel=1e-3)


HEADER = b"size,compute_intensity,memory_required,arrival_time,time_cpu,time_gpu\n"


@pytest.mark.parametrize(
    "row",
    [b"1e308,0.5,1,0,1,1", b"9,0.5,1e308,0,1,1", b"9,0.5,1,1e308,1,1", b"9,0.5,1,0,1e308,1", b"9,0.5,1,0,1,1e308"],
)
async def test_numbers_beyond_all_measure_are_refused_when_they_are_uploaded(service: Service, row: bytes) -> None:
    answer = await send(service, "huge.csv", HEADER + b"9,0.5,1,0,1,1\n" + row + b"\n")
    assert answer.status_code == 400
    assert "expected" in message(answer)


@pytest.mark.parametrize(
    "rows", [b"9,0.5,1,0,1,1e-320\n9,0.5,1,1,1,1e-320\n", b"9,0.5,1,0,1,1\n9,0.5,1,5e-324,1,1\n"]
)
async def test_a_file_too_fine_to_be_stretched_is_refused_and_the_race_goes_on(service: Service, rows: bytes) -> None:
    assert (await send(service, "fine.csv", HEADER + 3 * rows.splitlines(True)[0] + rows)).status_code == 201
    await service.start()
    changed = await service.client.patch("/api/simulation/settings", json={"preset": "upload:fine.csv"})
    assert changed.status_code == 400, changed.text
    await service.step(5)
    assert (await service.get("/api/status"))["state"] == "paused"


async def test_a_file_that_takes_too_long_is_given_up_and_others_are_read_meanwhile(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    released, keep = threading.Event(), service.manager.library.keep

    def stall(name: str, file: Path) -> Any:
        if name.startswith("slow"):
            released.wait(300)
        return keep(name, file)

    monkeypatch.setattr(service.manager.library, "keep", stall)
    slow = asyncio.create_task(send(service, "slow.csv"))
    assert (await send(service, "quick.csv")).status_code == 201
    monkeypatch.setattr("hybrid_scheduler.server.routes.workloads.READ_SECONDS", 0.1)
    given_up = await send(service, "slow2.csv")
    assert (given_up.status_code, "takes longer than 0.1 s" in message(given_up)) == (409, True)
    released.set()
    assert (await slow).status_code == 201
