"""Files of any format can be uploaded, are refused whole, and are raced like our own."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import reader, unpack
from hybrid_scheduler.workloads.library import Library
from hybrid_scheduler.workloads.source import digest_of
from workloads.formats.samples import SAMPLES, swf_file

ALONE = sorted(name for name in SAMPLES if name not in ("gavel",))  # that one needs its table of throughputs


@pytest.mark.parametrize("name", ALONE)
def test_a_file_of_any_format_is_kept_and_gives_its_tasks(name: str, tmp_path: Path) -> None:
    shelf, file = Library(tmp_path / "shelf"), SAMPLES[name](tmp_path)[0]
    with shelf.adding("trace") as place:
        place.write_bytes(gzip.compress(file.read_bytes()))
    entry = shelf.entry("trace")
    assert entry.format == name
    assert entry.tasks == len(shelf.tasks("upload:trace")) > 0
    assert digest_of(shelf.tasks("upload:trace")) == digest_of(reader.read(file))


def test_a_torn_file_is_called_by_its_name_and_leaves_nothing(tmp_path: Path) -> None:
    shelf, file = Library(tmp_path / "shelf"), swf_file(tmp_path)[0]
    with (
        pytest.raises(InputError, match=r"^trace line 11: there are 1\d fields, expected 18"),
        shelf.adding("trace") as place,
    ):
        place.write_bytes(file.read_bytes()[:-20])
    assert list((tmp_path / "shelf").iterdir()) == []


def test_an_uploaded_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "SMALL", 1 << 20)
    shelf = Library(tmp_path / "shelf")
    with (
        pytest.raises(InputError, match=r"^bomb unpacks to more than 200 times its size"),
        shelf.adding("bomb") as place,
    ):
        place.write_bytes(gzip.compress(b"\n" * 50_000_000))
    assert list((tmp_path / "shelf").iterdir()) == []
