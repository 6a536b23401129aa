"""Run what is missing and write RESULTS.md: `python -m docs.results --help` shows how to do only a part."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import typer

from docs.results.data import collect_results, dump_results, merge_results, read_results
from docs.results.figures import draw_figures
from docs.results.page import FIGURES, build_page
from docs.results.plan import PLAN, SEEDS
from docs.results.runner import ROOT, run_missing
from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.files import atomic_write

NUMBERS, PAGE = ROOT / "docs" / "results.json", ROOT / "RESULTS.md"


def main(arguments: list[str]) -> None:
    """Run what is missing, then write; the next call continues an interrupted one."""
    options = _parser().parse_args(arguments)
    os.chdir(ROOT)  # commands name files of the repository
    try:
        if not options.write:
            runs = [run for run in PLAN if options.only is None or run.name in options.only]
            run_missing(runs, options.seeds, _log)
        if not options.no_write:
            write()
    except SchedulerError as error:
        sys.exit(f"results: {error}")
    except (KeyboardInterrupt, typer.Abort):  # a command turns the first into the second
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
    """Write the numbers of all run directories, and from those numbers the page and its figures."""
    results = merge_results(read_results(NUMBERS), collect_results())
    _write_text(NUMBERS, dump_results(results))
    rounded = read_results(NUMBERS)  # the page must follow from the file alone
    _write_text(PAGE, build_page(rounded))
    draw_figures(rounded, ROOT / FIGURES)


def _write_text(path: Path, text: str) -> None:
    with atomic_write(path) as scratch:
        scratch.write_text(text, encoding="utf-8")


def _log(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
