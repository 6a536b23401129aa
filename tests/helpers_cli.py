"""Run the command line in this process or as a process of its own, and check how it refuses."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

from hybrid_scheduler.cli.main import run

TERMINAL = ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "TERM")
SCRIPT = Path(sys.executable).parent / "hms"


@dataclass(frozen=True)
class Finished:
    """What a command left behind: its exit code and both of its streams."""

    code: int | str | None
    out: str
    err: str


def hms(*words: str) -> Finished:
    """Run `hms` in this process through the function that the installed script calls."""
    out, err = io.StringIO(), io.StringIO()
    quiet = {key: value for key, value in os.environ.items() if key not in TERMINAL}
    with (
        mock.patch.object(sys, "argv", ["hms", *words]),
        mock.patch.dict(os.environ, quiet, clear=True),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        run()
    return Finished(ended.value.code, out.getvalue(), err.getvalue())


def process(*words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Finished:
    """Run a program as a process of its own, without a terminal."""
    quiet = {key: value for key, value in os.environ.items() if key not in TERMINAL}
    done = subprocess.run(
        words, cwd=cwd, env={**quiet, **(env or {})}, capture_output=True, text=True, timeout=120, check=False
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def hms_process(*words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Finished:
    """Run the installed `hms` script."""
    return process(str(SCRIPT), *words, cwd=cwd, env=env)


def python(code: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """Run lines of Python in a fresh interpreter and return what they print."""
    done = process(sys.executable, "-c", code, cwd=cwd, env=env)
    assert done.code == 0, done.err
    return done.out


def refused(finished: Finished, *says: str) -> None:
    """Check that a command ended with exit code 2 and one line on stderr that says all of this."""
    lines = finished.err.splitlines()
    assert len(lines) == 1, f"expected one line on stderr, got:\n{finished.err}"
    assert lines[0].startswith("hms: "), lines[0]
    assert not re.search(r"known:\s*(\(|$)", lines[0]), f"names no alternative: {lines[0]}"
    for words in says:
        assert words in lines[0], f"{words!r} is not in: {lines[0]}"
    assert finished.out == ""
    assert finished.code == 2


def files_in(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder, hidden ones too, with its bytes; folders end in a slash."""
    return {
        f"{path.relative_to(folder)}{'/' if path.is_dir() else ''}": b"" if path.is_dir() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if "__pycache__" not in path.parts
    }
