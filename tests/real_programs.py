"""Programs of their own that run tasks, to be interrupted and killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import real_tasks

HEAD = """
import signal, sys, time
from hybrid_scheduler import HybridScheduler
import real_tasks
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may ignore it
"""


def start(code: str, *words: str) -> subprocess.Popen[str]:
    paths = [str(Path(real_tasks.__file__).parent), os.environ.get("PYTHONPATH", "")]
    return subprocess.Popen(
        [sys.executable, "-c", HEAD + code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )
