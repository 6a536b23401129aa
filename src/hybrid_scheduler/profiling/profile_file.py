"""Profile files: JSON, written atomically and validated when read."""

from __future__ import annotations

import dataclasses
import json
import types
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from hybrid_scheduler import __version__
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.files import atomic_write, read_document
from hybrid_scheduler.profiling.calibration import calibrate
from hybrid_scheduler.profiling.profile import Profile

SCHEMA = 1
KIND = "hardware_profile"
AGAIN = "measure it again with hms profile -o FILE"

Data = TypeVar("Data")


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
        text = read_document(path)
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
    return _parse_dataclass(Profile, data, "")


def _parse_dataclass(kind: type[Data], data: Any, where: str) -> Data:
    if not isinstance(data, dict):
        raise _type_error(where or "the file", data, "a mapping")
    hints = get_type_hints(kind)
    values = {}
    for each in dataclasses.fields(kind):  # type: ignore[arg-type]  # only dataclasses come here
        place = f"{where}.{each.name}".lstrip(".")
        if each.name in data:
            values[each.name] = _parse_value(hints[each.name], data[each.name], place)
        elif each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING:
            raise InputError(f"{place} is missing: {AGAIN}")
    try:
        return kind(**values)
    except InputError as error:
        raise InputError(f"{where}: {error}; {AGAIN}".removeprefix(": ")) from None


def _parse_value(hint: Any, data: Any, where: str) -> Any:
    origin = get_origin(hint)
    if origin is types.UnionType:  # always with None
        return None if data is None else _parse_value(get_args(hint)[0], data, where)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _parse_dataclass(hint, data, where)
    if origin is tuple:
        if not isinstance(data, list):
            raise _type_error(where, data, "a list")
        return tuple(_parse_value(get_args(hint)[0], each, f"{where}[{n}]") for n, each in enumerate(data))
    if origin is dict:
        if not isinstance(data, dict) or not all(isinstance(each, str) for each in data.values()):
            raise _type_error(where, data, "a mapping of words")
        return data
    if hint is float and isinstance(data, int | float) and not isinstance(data, bool):
        try:
            return float(data)
        except OverflowError:
            raise _type_error(where, "a huge number", "a number") from None
    if hint in (int, str) and isinstance(data, hint) and not isinstance(data, bool):
        return data
    raise _type_error(where, data, {float: "a number", int: "a whole number", str: "a word"}[hint])


def _type_error(where: str, data: Any, expected: str) -> InputError:
    shown = repr(data)
    return InputError(f"{where} is {shown if len(shown) <= 40 else shown[:39] + '…'}, expected {expected}: {AGAIN}")
