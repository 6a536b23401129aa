"""`make soak`, or `python -m benchmarks.soak --seconds 60`: print what a soak found; 1 if anything was lost."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parents[2]


def main(words: list[str]) -> int:
    """Soak as the options say."""
    sys.path.append(str(ROOT / "tests"))  # where the throw-away PostgreSQL and Redis are
    from benchmarks.soak.run import Plan, soak

    usual = Plan()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=usual.seconds, help="how long, 600 if absent")
    parser.add_argument("--clients", type=int, default=usual.clients, help="clients on /ws, 200 if absent")
    parser.add_argument("--every", type=float, default=usual.every, help="seconds between two troubles")
    parser.add_argument("--schedulers", default="", help="who takes part; the server's six if absent")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    given = parser.parse_args(words)
    plan = replace(
        usual, seconds=given.seconds, clients=given.clients, every=given.every, schedulers=given.schedulers
    )
    plan = replace(plan, warm_up=min(usual.warm_up, given.seconds / 4), growth_matters=given.seconds >= usual.seconds)
    report = soak(plan)
    for line in report.lines():
        mark = {True: "ok", False: "NO", None: "  "}[line.ok]
        print(f"{mark}  {line.name:24}{line.value}")
    if given.json:
        given.json.write_text(json.dumps(report.to_dict(), indent=2) + "\n", encoding="utf-8")
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
