"""The reader chooses a format by name or by content, and refuses files that do not belong together."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import reader
from workloads.formats.samples import SAMPLES


def test_files_of_two_formats_are_not_read_together(tmp_path: Path) -> None:
    paths = [*SAMPLES["csv"](tmp_path), *SAMPLES["parquet"](tmp_path)]
    with pytest.raises(InputError, match=r"tasks\.csv is csv, .*tasks\.parquet is parquet: read files of different"):
        reader.read_all(paths)
    with pytest.raises(InputError, match=r"the format csv takes one file: give .*tasks\.csv alone"):
        reader.read_all([paths[0], paths[0]])


def test_what_has_no_end_is_not_begun(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", tmp_path / "pipe"):
        with pytest.raises(InputError, match=r"^\S+ is a pipe or a device, which may have no end: save"):
            reader.read_all([path])


def test_a_mistyped_format_is_answered_with_a_guess(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="unknown format 'parket': did you mean 'parquet'"):
        reader.read_all([tmp_path], "parket")


def test_json_of_no_known_kind_is_not_taken_for_a_table(tmp_path: Path) -> None:
    (tmp_path / "what.json").write_text('{"answer": 42}', encoding="utf-8")
    with pytest.raises(InputError, match=r"what\.json is JSON of no known kind, known are parquet, csv, alibaba"):
        reader.read(tmp_path / "what.json")
