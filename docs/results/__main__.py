"""Run what is missing and write RESULTS.md: `python -m docs.results --help` shows how to do only a part."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import typer

from docs.results import findings, pictures
from docs.results.page import PICTURES, page
from docs.results.plan import PLAN, SEEDS
from docs.results.running import ROOT, run_missing
from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.files import written_whole

NUMBERS, PAGE = ROOT / "docs" / "results.json", ROOT / "RESULTS.md"


def main(arguments: list[str]) -> None:
    """Run, then write; whoever stops it goes on later."""
    asked = _parser().parse_args(arguments)
    os.chdir(ROOT)  # commands name files of the repository
    try:
        if not asked.write:
            chosen = [run for run in PLAN if asked.only is None or run.name in asked.only]
            run_missing(chosen, asked.seeds, _say)
        if not asked.no_write:
            write()
    except SchedulerError as error:
        sys.exit(f"results: {error}")
    except (KeyboardInterrupt, typer.Abort):  # the second is what the first becomes inside a command
        sys.exit("results: stopped; the next call goes on from here, --write writes what is there")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m docs.results", description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, choices=range(1, SEEDS + 1), help="from 0 on")
    parser.add_argument("--only", nargs="+", choices=[run.name for run in PLAN], help="run these alone")
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--write", action="store_true", help="run nothing, write from what is there")
    either.add_argument("--no-write", action="store_true", help="run, and write another time")
    return parser


def write() -> None:
    """Write the numbers of all run directories, and from those numbers the page and its pictures."""
    found = findings.merged(findings.read(NUMBERS), findings.collect())
    _put(NUMBERS, findings.to_json(found))
    kept = findings.read(NUMBERS)  # rounded: the page must come out of the file alone
    _put(PAGE, page(kept))
    pictures.draw(kept, ROOT / PICTURES)


def _put(path: Path, text: str) -> None:
    with written_whole(path) as scratch:
        scratch.write_text(text, encoding="utf-8")


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
