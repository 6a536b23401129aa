"""`hms serve` and its logs."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.server.logs import MASK, set_up_logs
from hybrid_scheduler.server.serve import address_of, listen
from hybrid_scheduler.settings import load_settings
from live_server import Process


@pytest.fixture
def restored_logs() -> Iterator[None]:
    handlers, level = logging.getLogger().handlers[:], logging.getLogger().level
    yield
    logger.remove()
    logger.configure(patcher=lambda _: None)
    logging.getLogger().handlers[:] = handlers
    logging.getLogger().setLevel(level)


def test_a_taken_port_is_told_in_one_line() -> None:
    with listen("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=rf"port {port} is taken .* --port"):
            listen("127.0.0.1", port)


def test_an_address_that_is_none_is_told() -> None:
    with pytest.raises(InputError, match=r"cannot listen on 203.0.113.1 .* --host"):
        listen("203.0.113.1", 0)


def test_the_address_can_be_typed_into_a_browser() -> None:
    with listen("0.0.0.0", 0) as listener:
        assert address_of(listener) == f"http://localhost:{listener.getsockname()[1]}"


def test_a_database_that_cannot_be_opened_ends_the_command_with_a_line(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        with Process(tmp_path, f"postgresql://u:hidden@127.0.0.1:{closed.getsockname()[1]}/x") as process:
            code = process._process.wait(30)
            process._reader.join()
    text = "".join(process.lines)
    assert code == 2
    assert "cannot be reached" in text
    assert "Traceback" not in text
    assert "hidden" not in text


@pytest.mark.usefixtures("restored_logs")
def test_secrets_are_masked_wherever_they_are_logged(tmp_path: Path) -> None:
    file = tmp_path / "logs" / "app.log"
    settings = load_settings(
        token="long-random-word",
        database_url="postgresql://u:hidden-word@h/x",
        log_file=file,
        log_json=True,
    )
    set_up_logs(settings)
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
    set_up_logs(load_settings(postgres_host="db", postgres_password="p@ss/word", token="a-long-word", log_file=file))
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
    set_up_logs(load_settings(log_file=tmp_path / "app.log"))
    for _ in range(200):
        logger.info("x" * 50)
    files: list[Any] = list(tmp_path.glob("app*.log"))
    assert 2 <= len(files) <= 6
