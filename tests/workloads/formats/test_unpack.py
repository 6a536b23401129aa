"""Packed files are told by their content, unpacked as a stream, and refused when they are bombs or damaged."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import reader, unpack

LINES = b"size,compute_intensity,memory_required\n" + b"5,0.5,1\n" * 50

Pack = Callable[[bytes], bytes]


def _zstd(content: bytes) -> bytes:
    packed: bytes = pa.Codec("zstd").compress(content, asbytes=True)
    return packed


@pytest.mark.parametrize("pack", [gzip.compress, _zstd], ids=["gzip", "zstd"])
def test_a_packed_file_is_told_by_its_content_not_by_its_name(pack: Pack, tmp_path: Path) -> None:
    (tmp_path / "tasks.txt").write_bytes(pack(LINES))
    assert reader.detect_format(tmp_path / "tasks.txt").name == "csv"
    assert len(reader.read(tmp_path / "tasks.txt")) == 50


def test_a_plain_file_may_be_called_packed(tmp_path: Path) -> None:
    (tmp_path / "tasks.csv.gz").write_bytes(LINES)
    assert len(reader.read(tmp_path / "tasks.csv.gz")) == 50


@pytest.mark.parametrize("pack", [gzip.compress, _zstd], ids=["gzip", "zstd"])
def test_a_zip_bomb_is_refused_while_it_unpacks_and_in_little_memory(
    pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpack, "SMALL", 1 << 20)
    path = tmp_path / "bomb.csv"
    path.write_bytes(pack(LINES[:39] + b"5,0.5,1\n" * 10_000_000))
    tracemalloc.start()
    with pytest.raises(InputError, match=r"bomb\.csv unpacks to more than 200 times its size") as refused:
        reader.read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # the whole: 80 MB of text and 240 MB of columns
    assert "\n" not in str(refused.value)


def test_a_file_that_unpacks_to_more_than_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HMS_MOST_UNPACKED", "100")
    (tmp_path / "tasks.csv.gz").write_bytes(gzip.compress(LINES))
    with pytest.raises(InputError, match=r"tasks\.csv\.gz unpacks to more than 100 bytes: take a part of it"):
        reader.read(tmp_path / "tasks.csv.gz")


def test_a_limit_that_is_no_number_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HMS_MOST_UNPACKED", "4 GiB")
    (tmp_path / "tasks.csv.gz").write_bytes(gzip.compress(LINES))
    with pytest.raises(InputError, match="HMS_MOST_UNPACKED is '4 GiB', expected a number of bytes"):
        reader.read(tmp_path / "tasks.csv.gz")


def test_files_in_parts_are_read_whole(tmp_path: Path) -> None:
    half = b"5,0.5,1\n" * 10
    packs: dict[str, Pack] = {"a.gz": gzip.compress, "a.zst": _zstd}
    for name, pack in packs.items():
        (tmp_path / name).write_bytes(pack(LINES) + pack(half))
        assert len(reader.read(tmp_path / name)) == 60


def test_a_missing_file_and_a_folder_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv does not exist: check the path"):
        reader.read(tmp_path / "none.csv")
    with pytest.raises(InputError, match=r"cannot be read .*: check the path"):
        reader.read(tmp_path)
