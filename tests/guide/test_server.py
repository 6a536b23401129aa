"""`uvicorn src.dashboard_server:app --reload` serves the API and the dashboard from the root of the checkout."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import httpx

from guide.blocks import ROOT
from hybrid_scheduler import __version__

T = TypeVar("T")
PATIENCE = 300.0  # seconds: only so that a hang ends


def wait_for(look: Callable[[], T | None], output: Path) -> T:
    """Look until there is something to see; after minutes of nothing, fail with what the server said."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if (found := look()) is not None:
            return found
        time.sleep(0.05)
    raise AssertionError(output.read_text(encoding="utf-8"))


@contextmanager
def serving(folder: Path, *words: str) -> Iterator[tuple[str, Path]]:
    """Start uvicorn on a free port with everything that it writes in a folder; yield its address and its output."""
    output = folder / "output.txt"
    environment = {"DATA_DIR": str(folder / "data"), "LOG_FILE": str(folder / "app.log"), "AUTOSTART": "false"}
    with output.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            [str(Path(sys.executable).with_name("uvicorn")), *words, "--port", "0"],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def address() -> str | None:
        said = output.read_text(encoding="utf-8")
        assert process.poll() is None, said
        found = re.search(r"running on (http://[\d.]+:\d+)", said)
        return found[1] if found else None

    try:
        yield wait_for(address, output), output
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # the reloader and the server that it has started
            process.wait()


def get(address: str) -> httpx.Response | None:
    """Ask; a server that is not there yet, or is just reloading, is None."""
    try:
        answer = httpx.get(address, timeout=PATIENCE)
    except httpx.TransportError:
        return None
    return answer if answer.status_code == 200 else None


def test_the_guides_command_serves_the_api_and_the_page(tmp_path: Path) -> None:
    with serving(tmp_path, "src.dashboard_server:app", "--reload") as (address, output):
        health = wait_for(lambda: get(f"{address}/api/health"), output).json()
        assert (health["state"], health["version"]) == ("ok", __version__)
        assert "<title>" in wait_for(lambda: get(address), output).text
        assert (tmp_path / "data" / "hms.db").is_file()
