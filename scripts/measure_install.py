"""Measure what an install costs: `python scripts/measure_install.py dist/*.whl` prints the table of docs/install.md.

Every extra goes on top of a fresh environment with the base install, without pip's cache, so that its own cost shows.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

LEFT_OUT = ("bench", "dev")  # for those who work on the project
LARGEST = 3  # packages that are named


@dataclass(frozen=True)
class Install:
    """An environment after an install."""

    seconds: float
    packages: dict[str, int]  # name and bytes

    @property
    def size(self) -> int:
        """Return the bytes of all packages."""
        return sum(self.packages.values())


def extras_of(wheel: Path) -> list[str]:
    """Return the extras that a wheel offers to its users."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        found = re.findall(r"^Provides-Extra: (\S+)$", archive.read(name).decode(), flags=re.M)
    return [name for name in found if name not in LEFT_OUT]


def install(folder: Path, wheel: Path, extra: str = "") -> Install:
    """Install into an environment and look at what is there."""
    what = f"{wheel}[{extra}]" if extra else str(wheel)
    command = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-cache-dir", what]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # our own pip
    seconds = time.perf_counter() - begin
    if done.returncode:
        sys.exit(f"pip could not install {extra or 'the base'}: {done.stderr.strip()[-500:]}")
    return Install(seconds, packages_in(next((folder / "lib").glob("python*/site-packages"))))


def packages_in(site: Path) -> dict[str, int]:
    """Return the bytes on disk of everything in a folder of packages, byte code included."""
    return {each.name: _bytes(each) for each in site.iterdir() if not each.name.startswith(("pip", "setuptools"))}


def _bytes(place: Path) -> int:
    return sum(each.stat().st_size for each in (place, *place.rglob("*")) if each.is_file())


def row_of(name: str, found: Install, before: Install | None) -> str:
    """Return a line of the table: what this added to what was there before."""
    known = before.packages if before else {}
    new = {each: size for each, size in found.packages.items() if each not in known}
    added = found.size - (before.size if before else 0)
    count = sum(each.endswith(".dist-info") for each in new)
    named = [each for each in new if not each.endswith((".dist-info", ".libs"))]
    largest = sorted(named, key=lambda each: -new[each])
    shown = ", ".join(f"{each} {new[each] / 1e6:.0f}" for each in largest[:LARGEST] if new[each] > 1e6)
    return f"| {name} | {count} | {added / 1e6:,.0f} MB | {found.seconds:.0f} s | {shown} |"


def main(words: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    wheel = parser.parse_args(words).wheel.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        base = Path(scratch) / "base"
        venv.create(base, with_pip=True)
        first = install(base, wheel)
        _say("| install | packages | size | time | largest, MB |\n|---|---|---|---|---|")
        _say(row_of("base", first, None))
        for extra in extras_of(wheel):
            with_extra = Path(scratch) / extra
            shutil.copytree(base, with_extra, symlinks=True, copy_function=os.link)
            _say(row_of(f"`[{extra}]`", install(with_extra, wheel, extra), first))
            shutil.rmtree(with_extra)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
