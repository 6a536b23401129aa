"""Profile files: JSON, written atomically and validated when read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hybrid_scheduler import __version__
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.files import atomic_write
from hybrid_scheduler.profiling.calibration import calibrate
from hybrid_scheduler.profiling.profile import Profile

SCHEMA = 1
KIND = "hardware_profile"
AGAIN = "measure it again with hms profile -o FILE"
EXPECTED = {
    "float_type": "a number",
    "int_type": "a whole number",
    "string_type": "a word",
    "tuple_type": "a list",
    "dict_type": "a mapping of words",
    "dataclass_type": "a mapping",
}
"""What pydantic expected, by its type of error."""


def save_profile(profile: Profile, path: str | Path) -> None:
    """Write a profile with its calibration."""
    with atomic_write(path) as scratch:
        scratch.write_text(dump_profile(profile), encoding="utf-8")


def dump_profile(profile: Profile) -> str:
    """Return the text of a profile's file."""
    head = {"kind": KIND, "schema": SCHEMA, "version": __version__}
    document = {**head, **profile.to_dict(), "calibration": calibrate(profile).to_dict()}
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def load_profile(path: str | Path) -> Profile:
    """Read a profile; damaged files, newer versions and other files are refused in one line."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"profile {path} does not exist: check the path, or {AGAIN}") from None
    except UnicodeDecodeError:
        raise InputError(f"profile {path} is no text: {AGAIN}") from None
    except OSError as error:
        raise InputError(f"profile {path} cannot be read ({error.strerror}): check the path") from None
    try:
        return parse_profile(text)
    except SchedulerError as error:
        raise InputError(f"profile {path}: {error}") from None


def parse_profile(text: str) -> Profile:
    """Build a profile from the text of its file; derived entries are ignored."""
    from pydantic import TypeAdapter, ValidationError

    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(f"it is damaged or no JSON: {AGAIN}") from None
    if not isinstance(data, dict) or data.get("kind") != KIND:
        raise InputError(f'it is no hardware profile (no "kind": "{KIND}"): {AGAIN}')
    schema = data.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise InputError(f"schema is {schema!r}, expected a whole number from 1 to {SCHEMA}: {AGAIN}")
    if schema > SCHEMA:
        raise InputError(f"it was written by a newer version (schema {schema}, known {SCHEMA}): upgrade to read it")
    try:
        return TypeAdapter(Profile).validate_json(text, strict=True)
    except ValidationError as error:
        raise InputError(_explain(error.errors()[0])) from None


def _explain(problem: Any) -> str:
    """Return one line about an error of pydantic."""
    steps = (f"[{each}]" if isinstance(each, int) else f".{each}" for each in problem["loc"])
    where = "".join(steps).lstrip(".")
    if problem["type"] == "missing":
        return f"{where} is missing: {AGAIN}"
    if problem["type"] == "value_error":  # raised by the dataclass itself
        return f"{where}: {problem['ctx']['error']}; {AGAIN}".removeprefix(": ")
    shown = repr(problem["input"])
    shown = shown if len(shown) <= 40 else f"{shown[:39]}…"
    return f"{where or 'the file'} is {shown}, expected {EXPECTED.get(problem['type'], 'another value')}: {AGAIN}"
