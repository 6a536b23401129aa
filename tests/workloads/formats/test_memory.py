"""A file that does not fit the memory that is left is refused in one line, and nothing of it is written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import import_files
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import memory, reader, unpack
from workloads.formats.instances import wfcommons_file
from workloads.formats.samples import Sample, csv_file, parquet_file

NARROW = """
import resource, sys
import pandas, pyarrow.compute, pyarrow.csv, pyarrow.parquet
from hybrid_scheduler.cli.main import run
from hybrid_scheduler.workloads import conversion
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, [used + int(sys.argv.pop(1))] * 2)
run()
"""
MEGABYTE = 1 << 20


def _import_within(room: int, paths: list[Path], out: Path) -> subprocess.CompletedProcess[str]:
    """Run `hms import` in a process that may take so many bytes more than its libraries do."""
    command = [sys.executable, "-c", NARROW, str(room), "import", *map(str, paths), "-o", str(out)]
    plain = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}  # other pools reserve a gigabyte beforehand
    return subprocess.run(command, capture_output=True, text=True, check=False, env=plain)


@pytest.mark.parametrize(("name", "rows"), [("csv", 250_000), ("swf", 300_000), ("wfcommons", 20_000)])
def test_a_large_file_on_little_memory_is_refused_in_one_line(name: str, rows: int, tmp_path: Path) -> None:
    paths = import_files.written(name, tmp_path, rows)
    assert paths[0].stat().st_size > 25e6
    out = tmp_path / "out" / "tasks.parquet"
    done = _import_within(20 * MEGABYTE, paths, out)
    assert done.returncode == 2, done.stderr
    assert re.fullmatch(rf"hms: {paths[0]} takes .* memory.*: take a part of it, or a machine with .*\n", done.stderr)
    assert not out.parent.exists() or not list(out.parent.iterdir())


def test_where_there_is_room_enough_the_same_file_is_imported(tmp_path: Path) -> None:
    paths = import_files.written("csv", tmp_path, 250_000)
    done = _import_within(600 * MEGABYTE, paths, tmp_path / "tasks.parquet")
    assert done.returncode == 0, done.stderr
    assert "250,000 rows: 250,000 became one task each" in done.stdout


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a machine with 100 MB free tell no more than that."""
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "CGROUP_ROOT", tmp_path)
    (tmp_path / "meminfo").write_text("MemTotal: 400000 kB\nMemAvailable:     100000 kB\n")
    return tmp_path


def test_nine_tenths_of_what_the_machine_has_free_are_left(told: Path) -> None:
    assert memory.available() == int(0.9 * 1024 * 100_000)
    (told / "meminfo").unlink()
    assert memory.available() is None


@pytest.mark.parametrize(
    ("line", "folder", "names"),
    [
        ("0::/box\n", "box", ("memory.max", "memory.current", "inactive_file")),
        ("9:cpu:/\n4:memory:/box\n0::/\n", "memory/box", tuple(memory.CGROUP_FILES["memory"])),
    ],
    ids=["version 2", "version 1"],
)
def test_a_container_may_have_less_than_the_machine(
    line: str, folder: str, names: tuple[str, str, str], told: Path
) -> None:
    (told / "cgroup").write_text(line)
    place = told / folder
    place.mkdir(parents=True)
    (place / "memory.stat").write_text(f"anon 5\n{names[2]} 1000\n")
    (place / names[0]).write_text("50000\n")
    (place / names[1]).write_text("41000\n")
    assert memory.available() == int(0.9 * 10_000)
    (place / names[0]).write_text("max\n")
    assert memory.available() == int(0.9 * 1024 * 100_000)


@pytest.mark.parametrize("sample", [wfcommons_file, parquet_file])
def test_what_would_not_fit_is_refused_before_it_is_read(
    sample: Sample, told: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sample(told)[0]
    (told / "meminfo").write_text("MemAvailable: 0 kB\n")
    monkeypatch.setattr(unpack, "PART", 1)
    with pytest.raises(InputError, match=rf"^{path} takes some 0 MB more memory and 0 MB are left: take a part"):
        reader.read(path)


def test_a_reader_that_runs_out_of_memory_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = csv_file(tmp_path)[0]

    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("pyarrow.csv.read_csv", full)
    with pytest.raises(InputError, match=rf"^{path} takes more memory than there is: take a part of it"):
        reader.read(path)
