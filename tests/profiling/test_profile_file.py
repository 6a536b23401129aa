"""Profiles come back as they were; anything else than a profile is refused in one line."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.profiling.calibration import build_cluster
from hybrid_scheduler.profiling.profile import Profile
from hybrid_scheduler.profiling.profile_file import SCHEMA, dump_profile, load_profile, parse_profile, save_profile
from profiles import cpu_only, with_gpu

GOOD: dict[str, Any] = json.loads(dump_profile(with_gpu()))
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.just(10**400),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@pytest.mark.parametrize("profile", [cpu_only(), with_gpu()], ids=["cpu", "gpu"])
def test_a_profile_comes_back_as_it_was(profile: Profile, tmp_path: Path) -> None:
    save_profile(profile, tmp_path / "new" / "profile.json")
    assert load_profile(tmp_path / "new" / "profile.json") == profile
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["profile.json"]


def test_the_file_tells_figures_sources_and_fit(tmp_path: Path) -> None:
    document = json.loads(dump_profile(cpu_only()))
    assert document["schema"] == SCHEMA
    assert document["ratio_source"] == "reference model, not measured"
    assert document["points"][0]["cpu"]["gflops"] == pytest.approx(2.0)
    assert document["points"][0]["gpu"] is None
    assert document["points"][0]["gpu_model_seconds"] > 0
    assert document["calibration"]["sources"]["speedup"] == "reference model, not measured"
    assert document["gpu_fraction"] == pytest.approx(document["cpu_gpu_ratio"] / (1 + document["cpu_gpu_ratio"]))


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="choose another path"):
        save_profile(cpu_only(), tmp_path / "file" / "profile.json")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def refusal(text: str) -> str:
    with pytest.raises(SchedulerError) as refused:
        parse_profile(text)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def without(*keys: str) -> str:
    document = copy.deepcopy(GOOD)
    inner: Any = document
    for key in keys[:-1]:
        inner = inner[int(key)] if isinstance(inner, list) else inner[key]
    del inner[keys[-1]]
    return json.dumps(document)


def test_a_missing_entry_is_named() -> None:
    assert "machine is missing" in refusal(without("machine"))
    assert "points[3].cpu.seconds is missing" in refusal(without("points", "3", "cpu", "seconds"))


def test_a_newer_schema_asks_for_an_upgrade() -> None:
    assert "newer version (schema 2, known 1): upgrade" in refusal(json.dumps({**GOOD, "schema": 2}))


@pytest.mark.parametrize("schema", [None, 0, True, "1", 1.0])
def test_a_schema_that_is_none_is_refused(schema: object) -> None:
    assert "schema is" in refusal(json.dumps({**GOOD, "schema": schema}))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"kind": "model"}', "[" * 100_000])
def test_other_texts_are_no_profile(text: str) -> None:
    assert "hms profile" in refusal(text)


def test_a_measured_gpu_needs_its_link() -> None:
    assert "no link" in refusal(json.dumps({**GOOD, "links": []}))


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "noise").write_bytes(b"\xff\xfe\x00")
    for path, says in (("absent", "does not exist"), ("noise", "is no text"), (".", "cannot be read")):
        with pytest.raises(InputError, match=says):
            load_profile(tmp_path / path)


@settings(deadline=None)
@given(st.integers(0, len(dump_profile(cpu_only())) - 3))
def test_every_torn_file_is_refused(length: int) -> None:
    refusal(dump_profile(cpu_only())[:length])


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the ways to every entry of a document."""
    inside: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inside = list(value.items())
    elif isinstance(value, list):
        inside = list(enumerate(value))
    return [path] * bool(path) + [way for key, each in inside for way in places(each, (*path, key))]


@settings(deadline=None)
@given(st.sampled_from(places(GOOD)), ODD)
def test_an_odd_entry_is_refused_in_one_line_or_harmless(way: tuple[str | int, ...], odd: object) -> None:
    document = copy.deepcopy(GOOD)
    inner: Any = document
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = odd
    said = outcome(json.dumps(document))
    assert "\n" not in said
    assert len(said) < 300


def outcome(text: str) -> str:
    """Return why a text is refused, nothing if it is taken: then it can be used and written again."""
    try:
        build_cluster(parse_profile(dump_profile(parse_profile(text))))
    except SchedulerError as error:
        return str(error)
    return ""
