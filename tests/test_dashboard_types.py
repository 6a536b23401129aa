"""The dashboard's types are made from the API's own description, so the two ends cannot drift apart unnoticed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_description_that_the_types_are_made_from_is_todays() -> None:
    script = ROOT / "dashboard" / "scripts" / "schemas.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run make types\n{done.stdout}{done.stderr}"
