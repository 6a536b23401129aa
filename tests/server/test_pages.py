"""The pages for a browser: the dashboard's files and the API reference."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient

from hybrid_scheduler.server.pages import mount_dashboard
from served import serving

pytestmark = pytest.mark.asyncio
SCRIPT = b"console.log('race');" * 50


def client(folder: Path) -> AsyncClient:
    app = FastAPI()
    mount_dashboard(app, folder)
    return AsyncClient(transport=ASGITransport(app), base_url="http://localhost")


@pytest.fixture
def built(tmp_path: Path) -> Path:
    assets = tmp_path / "assets"
    assets.mkdir()
    (tmp_path / "index.html").write_text("<title>race</title>")
    (assets / "index-1a2b.js").write_bytes(SCRIPT)
    (assets / "index-1a2b.js.gz").write_bytes(gzip.compress(SCRIPT))
    (assets / "font-3c4d.woff2").write_bytes(b"letters")
    return tmp_path


async def test_the_page_is_asked_for_every_time_and_hashed_files_are_kept(built: Path) -> None:
    async with client(built) as browser:
        page = await browser.get("/")
        assert page.text == "<title>race</title>"
        assert page.headers["cache-control"] == "no-cache"
        font = await browser.get("/assets/font-3c4d.woff2")
        assert font.headers["cache-control"] == "public, max-age=31536000, immutable"


async def test_browsers_that_can_get_the_compressed_twin(built: Path) -> None:
    async with client(built) as browser:
        packed = await browser.get("/assets/index-1a2b.js", headers={"accept-encoding": "gzip"})
        assert packed.headers["content-encoding"] == "gzip"
        assert int(packed.headers["content-length"]) < len(SCRIPT)
        plain = await browser.get("/assets/index-1a2b.js", headers={"accept-encoding": "identity"})
        assert "content-encoding" not in plain.headers
        for answer in (packed, plain):
            assert answer.content == SCRIPT
            assert answer.headers["content-type"].startswith("text/javascript")


@pytest.mark.parametrize("path", ["/experiments", "/workloads?name=trace.csv", "/tour"])
async def test_pages_of_the_dashboard_can_be_linked_to(built: Path, path: str) -> None:
    async with client(built) as browser:
        assert (await browser.get(path)).text == "<title>race</title>"


@pytest.mark.parametrize(
    "path", ["/nothing", "/assets/gone-5e6f.js", "/favicon.ico", "/../pyproject.toml", "/%2e%2e/secret.txt"]
)
async def test_a_file_that_is_not_there_is_not_found(built: Path, path: str) -> None:
    async with client(built) as browser:
        assert (await browser.get(path)).status_code == 404


async def test_without_a_build_the_page_says_how_to_get_one(tmp_path: Path) -> None:
    async with client(tmp_path / "web") as browser:
        answer = await browser.get("/")
        assert answer.status_code == 200
        assert "make dashboard" in answer.text


async def test_the_reference_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    async with serving(f"sqlite:///{tmp_path}/hms.db") as service:
        page = await service.client.get("/docs")
        paths = (await service.client.get("/api/openapi.json")).json()["paths"]
    assert "content-security-policy" in page.headers
    assert "<script" not in page.text
    assert "http" not in page.text
    assert all(path in page.text for path in paths)
