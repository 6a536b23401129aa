"""Every format tells its own files from others, accounts for every row, and reads or refuses any bytes."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.conversion import import_files
from hybrid_scheduler.workloads.formats import reader, unpack
from hybrid_scheduler.workloads.formats.reader import ASSUMED, IGNORED, MEASURED
from hybrid_scheduler.workloads.source import compute_digest
from workloads.formats.samples import SAMPLES

NAMES = sorted(reader.formats.table)
pytestmark = pytest.mark.parametrize("name", NAMES)


def _packed(paths: Sequence[Path], ending: str) -> list[Path]:
    packed = []
    for path in paths:
        twin = path.with_name(f"{path.name}.{ending}")
        content = path.read_bytes()
        twin.write_bytes(
            gzip.compress(content) if ending == "gz" else pa.Codec("zstd").compress(content, asbytes=True)
        )
        packed.append(twin)
    return packed


def test_it_has_a_sample_and_knows_its_first_bytes(name: str, tmp_path: Path) -> None:
    form = reader.load_format(name)
    assert form.name == name
    assert form.sniff(unpack.read_head(SAMPLES[name](tmp_path)[0]))


def test_it_does_not_take_samples_of_others_for_its_own(name: str, tmp_path: Path) -> None:
    form = reader.load_format(name)
    for other in set(SAMPLES) - {name}:
        for path in SAMPLES[other](tmp_path):
            assert not form.sniff(unpack.read_head(path)), path


def test_it_does_not_know_bytes_of_no_format(name: str) -> None:
    form = reader.load_format(name)
    assert not any(form.sniff(head) for head in (b"", b"\n", b"\x00" * 50, b"{", b"[", b"hello world\n", b"1,2\n"))


def test_its_mapping_says_on_what_ground_every_column_is_used(name: str) -> None:
    mapping = reader.load_format(name).mapping
    assert {each.ground for each in mapping} <= {MEASURED, ASSUMED, IGNORED}
    assert any(each.ground == MEASURED for each in mapping)
    assert all(bool(each.becomes) != (each.ground == IGNORED) for each in mapping)
    assert all(each.column or each.note for each in mapping)
    assert all("\n" not in f"{each.column}{each.note}" for each in mapping)


def test_every_row_of_its_sample_became_a_task_or_was_skipped_for_a_reason(name: str, tmp_path: Path) -> None:
    found = reader.read_all(SAMPLES[name](tmp_path))
    assert found.rows == found.used + sum(found.skipped.values()) > 0
    assert 0 < found.used <= found.rows
    assert len(found.tasks) > 0
    assert all(reason and count > 0 for reason, count in found.skipped.items())


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_its_packed_twin_gives_the_same_tasks(name: str, ending: str, tmp_path: Path) -> None:
    paths = SAMPLES[name](tmp_path)
    plain, twin = reader.read_all(paths), reader.read_all(_packed(paths, ending))
    assert compute_digest(plain.tasks) == compute_digest(twin.tasks)
    assert replace(plain, tasks=twin.tasks) == twin


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_its_tasks_come_back_from_our_own_tables(name: str, ending: str, tmp_path: Path) -> None:
    report = import_files(SAMPLES[name](tmp_path), tmp_path / f"written.{ending}")
    assert compute_digest(reader.read(report.tasks_file)) == compute_digest(report.found.tasks)


def test_its_files_may_be_given_in_any_order(name: str, tmp_path: Path) -> None:
    paths = SAMPLES[name](tmp_path)
    there, back = reader.read_all(paths), reader.read_all(paths[::-1])
    assert compute_digest(there.tasks) == compute_digest(back.tasks)
    assert there.cluster == back.cluster


def test_a_packed_file_that_is_cut_off_is_refused(name: str, tmp_path: Path) -> None:
    for path in [*_packed(SAMPLES[name](tmp_path), "gz"), *_packed(SAMPLES[name](tmp_path), "zst")]:
        path.write_bytes(path.read_bytes()[:-6])
        with pytest.raises(InputError, match=path.name) as refused:
            reader.read_all([path], name)
        assert "\n" not in str(refused.value)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_change_of_its_bytes_gives_tasks_or_one_line_that_names_the_file(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / f"garbled_{name}"
    folder.mkdir(exist_ok=True)
    paths = SAMPLES[name](folder)
    victim = paths[data.draw(st.integers(0, len(paths) - 1))]
    victim.write_bytes(_garbled(victim.read_bytes(), data))
    try:
        found = reader.read_all(paths, name)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017  # an error is one of two good ends
        assert any(str(path) in str(error) for path in paths)  # noqa: PT017  # as above
        return
    assert found.rows == found.used + sum(found.skipped.values())
    assert len(found.tasks) > 0


PIECES = [b"", b"\n", b",", b"\x00", b"\xff", b'"', b"-1", b"nan", b"inf", b"1e999", b"9" * 30, b"{", b"]", b";"]


def _garbled(content: bytes, data: st.DataObject) -> bytes:
    """Cut a file off, or put something else in place of some bytes, once or a few times."""
    if data.draw(st.booleans()):
        return content[: data.draw(st.integers(0, len(content)))]
    for _ in range(data.draw(st.integers(1, 4))):
        first = data.draw(st.integers(0, len(content)))
        last = min(len(content), first + data.draw(st.integers(0, 8)))
        content = content[:first] + data.draw(st.sampled_from(PIECES) | st.binary(max_size=3)) + content[last:]
    return content
