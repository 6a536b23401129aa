"""The example of own tasks runs as a user would run it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_tasks.py"


def test_the_example_of_own_tasks_says_what_it_found_and_where_more_would_run() -> None:
    done = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    found = [line.split(" is about ") for line in lines if "pi is about" in line]
    assert len(found) == 6
    assert all(abs(float(value) - 3.1416) < 0.02 for _, value in found)
    assert "futures are arguments too: 6" in lines
    assert lines[-1] in ("250 would go to cpu", "250 would go to gpu0 (emulated)")
