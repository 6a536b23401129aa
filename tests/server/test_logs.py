"""Logs: masked, rotated, and sent to clients."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from hybrid_scheduler.server.logs import MASK, configure_logging
from hybrid_scheduler.settings import load_settings
from live_server import live, until


@pytest.fixture
def restored_logs() -> Iterator[None]:
    handlers, level = logging.getLogger().handlers[:], logging.getLogger().level
    yield
    logger.remove()
    logger.configure(patcher=lambda _: None)
    logging.getLogger().handlers[:] = handlers
    logging.getLogger().setLevel(level)


@pytest.mark.usefixtures("restored_logs")
def test_secrets_are_masked_wherever_they_are_logged(tmp_path: Path) -> None:
    file = tmp_path / "logs" / "app.log"
    settings = load_settings(
        token="long-random-word",
        database_url="postgresql://u:hidden-word@h/x",
        log_file=file,
        log_json=True,
    )
    configure_logging(settings)
    logger.info("token long-random-word, and {}", "hidden-word")
    logging.getLogger("some.library").warning("%s in postgresql://u:hidden-word@h/x", "long-random-word")
    logger.complete()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["record"]["message"] for line in lines] == [f"token {MASK}, and {MASK}", f"{MASK} in {MASK}"]
    assert lines[1]["record"]["name"] == "some.library"
    assert "hidden-word" not in file.read_text()
    assert "long-random-word" not in file.read_text()


@pytest.mark.usefixtures("restored_logs")
def test_secrets_in_tracebacks_and_addresses_are_masked(tmp_path: Path) -> None:
    file = tmp_path / "app.log"
    configure_logging(
        load_settings(postgres_host="db", postgres_password="p@ss/word", token="a-long-word", log_file=file)
    )
    for words in ("no answer from postgresql://u:p%40ss%2Fword@db/x, header Bearer a-long-word", "plain trouble"):
        logger.opt(exception=OSError(words)).error("something failed")
    logger.complete()
    text = file.read_text()
    assert f"no answer from postgresql://u:{MASK}@db/x, header Bearer {MASK}" in text
    assert "p%40ss" not in text
    assert "a-long-word" not in text
    assert "OSError: plain trouble" in text
    assert text.count("something failed") == 2


@pytest.mark.usefixtures("restored_logs")
def test_the_file_is_rotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybrid_scheduler.server.logs.ROTATION", "1 KB")
    configure_logging(load_settings(log_file=tmp_path / "app.log"))
    for _ in range(200):
        logger.info("x" * 50)
    files: list[Any] = list(tmp_path.glob("app*.log"))
    assert 2 <= len(files) <= 6


@pytest.mark.asyncio
async def test_log_lines_reach_those_who_watch(tmp_path: Any) -> None:
    from loguru import logger

    async with live(f"sqlite:///{tmp_path}/hms.db") as served, served.watch() as client:
        await until(lambda: served.manager.hub.clients)
        logger.warning("mind the gap")
        line = await client.next("log")
        assert (line["level"], line["message"]) == ("WARNING", "mind the gap")
