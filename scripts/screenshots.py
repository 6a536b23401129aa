"""`make screenshots`: serve a race with something to show, and take the pictures of the docs that show it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[1]
HMS = Path(sys.executable).parent / "hms"
SETTINGS = {"LOAD": "0.9", "PACE": "20", "SEED": "0", "PORT": "0", "LOG_FILE": "none", "PYTHONUNBUFFERED": "1"}


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Run `hms serve` in an empty folder; hand out its address."""
    environment = {**os.environ, **SETTINGS, "DATA_DIR": str(folder / "data")}
    with subprocess.Popen([HMS, "serve"], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            lines = iter(process.stdout or ())
            yield next(line.split()[-1] for line in lines if "watch it at" in line)
        finally:
            process.terminate()


def ask(url: str, body: bytes | None = None, kind: str = "application/json") -> Any:
    """Send a request to the served race and return its answer."""
    request = Request(url, data=body, headers={"content-type": kind})  # noqa: S310  # our own server
    with urlopen(request, timeout=60) as answer:  # noqa: S310  # our own server
        return json.load(answer)


def prepare(url: str, folder: Path) -> dict[str, str]:
    """Upload a trace and let an experiment run; return which picture shows which page."""
    subprocess.run(
        [HMS, "generate", "bursty", "-n", "400", "-o", folder / "bursty.csv"], check=True, capture_output=True
    )
    ask(f"{url}/api/workloads?name=lab.csv", (folder / "bursty.csv").read_bytes(), "text/csv")
    wanted = {
        "workload": "long_tail",
        "tasks": 1000,
        "load": 1.0,
        "schedulers": ["greedy", "oracle", "eft", "price"],
        "seeds": 5,
    }
    number = ask(f"{url}/api/experiments", json.dumps(wanted).encode())["id"]
    while ask(f"{url}/api/experiments/{number}")["state"] in ("queued", "running"):
        time.sleep(0.5)
    return {
        "dashboard": "/",
        "experiments": f"/experiments?run={number}",
        "workloads": "/workloads?name=lab.csv",
    }


def main() -> None:
    """Take the pictures."""
    with tempfile.TemporaryDirectory() as scratch, served(Path(scratch)) as url:
        pages = prepare(url, Path(scratch))
        images = ROOT / "docs" / "images"
        words = [f"{picture}={path}" for picture, path in pages.items()]
        subprocess.run(["node", "scripts/pictures.mjs", url, images, *words], cwd=ROOT / "dashboard", check=True)
    print("\n".join(str((images / f"{picture}.png").relative_to(ROOT)) for picture in pages))


if __name__ == "__main__":
    main()
