"""`hms serve`: ports, addresses and a database that cannot be opened."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.server.serve import browser_url, listen
from live_server import DEADLINE, Process


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
        assert browser_url(listener) == f"http://localhost:{listener.getsockname()[1]}"


def test_a_database_that_cannot_be_opened_ends_the_command_with_a_line(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        with Process(tmp_path, f"postgresql://u:hidden@127.0.0.1:{closed.getsockname()[1]}/x") as process:
            code = process._process.wait(DEADLINE)
            process._reader.join()
    text = "".join(process.lines)
    assert code == 2
    assert "cannot be reached" in text
    assert "Traceback" not in text
    assert "hidden" not in text
