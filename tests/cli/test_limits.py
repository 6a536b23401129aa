"""Numbers and names beyond all measure are refused in one line, at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHAIN = "\n".join(
    ["a0: &a0 {" + ", ".join(f"k{key}: 1" for key in range(10)) + "}"]
    + [f"a{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 10)}]}}" for level in range(1, 12)]
)


def run(folder: Path, *arguments: str) -> str:
    """Run a command that must fail, and return its only line."""
    hms = Path(sys.executable).with_name("hms")
    done = subprocess.run([hms, *arguments], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.parametrize("text", ["nodes: [{cpu: 1, gpu: 99999999}]\n", CHAIN])
def test_a_cluster_file_that_would_take_gigabytes_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.yaml").write_text(text)
    line = run(tmp_path, "compare", "--tasks", "10", "--seeds", "1", "--cluster", "c.yaml")
    assert line.startswith("hms: cluster file c.yaml")


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--cluster", "/dev/zero", "cluster file /dev/zero cannot be read (it is a pipe or a device)"),
        ("--profile", "/dev/zero", "profile /dev/zero cannot be read (it is a pipe or a device)"),
        ("--gpus", "10000000", "10,000,001 devices, at most 100,000"),
        ("-o", "x" * 300, "File name too long"),
        ("-o", "/proc/self/mem", "/proc/self/mem"),
    ],
)
def test_options_beyond_all_measure_are_refused_in_one_line(
    tmp_path: Path, option: str, value: str, says: str
) -> None:
    assert says in run(tmp_path, "compare", "--tasks", "10", "--seeds", "1", "--schedulers", "eft", option, value)
