"""The dashboard in a real Chromium: how much it loads, when it is seen, what it costs at ten frames a second."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.rows import BenchmarkError, Row, require
from benchmarks.server_process import served
from hybrid_scheduler.server.pages import WEB

SCRIPT = Path(__file__).parents[1] / "dashboard" / "scripts" / "measure.mjs"
# At this pace ten simulated minutes of the usual load pass in about a minute of wall time.
RACERS = ["round_robin", "random", "greedy", "hybrid_ml", "eft", "oracle"]
CONDITIONS = {"frame_seconds": 0.1, "pace": 450, "schedulers": RACERS}
WARM_SECONDS, SECONDS = 80, 60  # the page keeps 600 points: after the first minute nothing should grow


def dashboard() -> list[Row]:
    """Return the page's figures against what we allow it."""
    packed = sorted((WEB / "assets").glob("*.gz"))
    require(bool(packed), "the dashboard is not built: run make dashboard")
    kilobytes = sum(each.stat().st_size for each in packed) / 1000
    with served(**CONDITIONS) as port:
        seen = _measured(f"http://127.0.0.1:{port}/")
    rate = seen["frames_a_second"]  # a busy server sends fewer than it is asked for
    require(rate > 5, f"only {rate:.1f} frames a second came")
    scripting = 100 * seen["script_share"] * 10 / rate
    heap = (seen["heap_after"] / 1e6, seen["heap_before"] / 1e6)
    return [
        Row("dashboard, scripts and styles, gzipped, against 350 kB", kilobytes, 350.0, "kB", 1.0, at_most=True),
        Row("largest contentful paint against 1.5 s", seen["largest_paint_seconds"], 1.5, "s", 1.0, at_most=True),
        Row("scripting at 10 Hz against 20 % of a core", scripting, 20.0, "%", 1.0, at_most=True),
        Row("heap after 10 simulated minutes against before", *heap, "MB", 1.05, at_most=True),
    ]


def _measured(url: str) -> dict[str, Any]:
    command = ["node", str(SCRIPT), url, str(WARM_SECONDS), str(SECONDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)
    if done.returncode:
        raise BenchmarkError(f"the page could not be measured: {done.stderr.strip()[-300:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found
