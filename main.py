"""Runs the five phases, as `hms pipeline` does: `python main.py --help` shows the options."""

from __future__ import annotations

import sys

try:
    from hybrid_scheduler.cli.main import run
except ModuleNotFoundError as error:
    sys.exit(f"main.py: {error.name} is not installed: run `make setup`, then `.venv/bin/python main.py`")

if __name__ == "__main__":
    sys.argv[1:1] = ["pipeline"]
    run()
