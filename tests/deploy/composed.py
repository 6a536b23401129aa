"""Reads the Compose file and the Dockerfile as an engine would, and runs what they start as plain processes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

ROOT = Path(__file__).parents[2]
DEADLINE = 300.0  # seconds; only there so that a hang ends


def compose(values: Mapping[str, str]) -> dict[str, Any]:
    """Return the services of the Compose file with its variables filled in."""
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    services: dict[str, Any] = yaml.safe_load(re.sub(r"\$\{(\w+)(?::([-?])([^}]*))?\}", filler(values), text))[
        "services"
    ]
    return services


def filler(values: Mapping[str, str]) -> Any:
    def fill(found: re.Match[str]) -> str:
        name, kind, rest = found.groups()
        if name in values:
            return values[name]
        assert kind == "-", f"{name} has no default"
        return str(rest)

    return fill


def image() -> tuple[list[str], dict[str, str]]:
    """Return the entry point and the environment of the image's last stage."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    last = text.rpartition("\nFROM ")[2]
    variables = [part for line in re.findall(r"^ENV (.+)$", last, flags=re.M) for part in line.split()]
    entry: list[str] = json.loads(re.findall(r"^ENTRYPOINT (.+)$", last, flags=re.M)[-1])
    return entry, dict(part.split("=", 1) for part in variables)


class Container:
    """A service of the Compose file as a process: its command, its environment, some of it adapted."""

    def __init__(self, service: Mapping[str, Any], folder: Path, adapted: Mapping[str, str]) -> None:
        entry, variables = image()
        program, *arguments = entry + list(service["command"])
        quiet = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "HMS_CACHE_DIR")}
        self.environment = {**variables, **service["environment"], **quiet, **adapted}
        self._process = subprocess.Popen(
            [Path(sys.executable).with_name(program), *arguments],
            cwd=folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._said, self._ready = "", threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._said += line
            if "watch it at" in line:
                self._ready.set()
        self._ready.set()

    @property
    def address(self) -> str:
        """Where it listens, once it does."""
        assert self._ready.wait(DEADLINE), self._said
        found = re.search(r"watch it at http://localhost:(\d+)", self._said)
        assert found, self._said
        return f"http://127.0.0.1:{found[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(DEADLINE)
        if self._process.stdout:
            self._process.stdout.close()
