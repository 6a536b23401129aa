"""Profiles as JSON files: written whole or not at all, checked when read."""

from __future__ import annotations

import dataclasses
import json
import types
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from hybrid_scheduler import __version__
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.files import written_whole
from hybrid_scheduler.profiling.calibration import calibrate
from hybrid_scheduler.profiling.profile import Profile

SCHEMA = 1


KIND = "hardware_profile"


AGAIN = "measure it again with hms profile -o FILE"


Built = TypeVar("Built")


def save(profile: Profile, path: str | Path) -> None:
    """Write a profile with its calibration."""
    with written_whole(path) as scratch:
        scratch.write_text(to_json(profile), encoding="utf-8")


def to_json(profile: Profile) -> str:
    """Return the file's text."""
    head = {"kind": KIND, "schema": SCHEMA, "version": __version__}
    document = {**head, **profile.to_dict(), "calibration": calibrate(profile).to_dict()}
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def load_profile(path: str | Path) -> Profile:
    """Read a profile; a file that is torn, of a newer version or none at all is refused in one line."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"profile {path} does not exist: check the path, or {AGAIN}") from None
    except UnicodeDecodeError:
        raise InputError(f"profile {path} is no text: {AGAIN}") from None
    except OSError as error:
        raise InputError(f"profile {path} cannot be read ({error.strerror}): check the path") from None
    try:
        return from_json(text)
    except SchedulerError as error:
        raise InputError(f"profile {path}: {error}") from None


def from_json(text: str) -> Profile:
    """Build a profile from the text of its file."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(f"it is torn or no JSON: {AGAIN}") from None
    if not isinstance(data, dict) or data.get("kind") != KIND:
        raise InputError(f'it is no hardware profile (no "kind": "{KIND}"): {AGAIN}')
    schema = data.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise InputError(f"schema is {schema!r}, expected a whole number from 1 to {SCHEMA}: {AGAIN}")
    if schema > SCHEMA:
        raise InputError(f"it was written by a newer version (schema {schema}, known {SCHEMA}): upgrade to read it")
    return _built(Profile, data, "")


def _built(kind: type[Built], data: Any, where: str) -> Built:
    """Build a dataclass from plain data; entries that follow from others are not read."""
    if not isinstance(data, dict):
        raise _wrong(where or "the file", data, "a mapping")
    hints = get_type_hints(kind)
    values = {}
    for each in dataclasses.fields(kind):  # type: ignore[arg-type]  # only dataclasses come here
        place = f"{where}.{each.name}".lstrip(".")
        if each.name in data:
            values[each.name] = _value(hints[each.name], data[each.name], place)
        elif each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING:
            raise InputError(f"{place} is missing: {AGAIN}")
    try:
        return kind(**values)
    except InputError as error:
        raise InputError(f"{where}: {error}; {AGAIN}" if where else f"{error}; {AGAIN}") from None


def _value(hint: Any, data: Any, where: str) -> Any:
    if get_origin(hint) in (Union, types.UnionType):
        inner = next(each for each in get_args(hint) if each is not type(None))
        return None if data is None else _value(inner, data, where)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _built(hint, data, where)
    if get_origin(hint) is tuple:
        return tuple(_value(get_args(hint)[0], each, f"{where}[{n}]") for n, each in enumerate(_list(data, where)))
    if get_origin(hint) is dict:
        return _words(data, where)
    return _plain(hint, data, where)


def _plain(hint: Any, data: Any, where: str) -> Any:
    if hint is float and isinstance(data, int | float) and not isinstance(data, bool):
        try:
            return float(data)
        except OverflowError:
            raise _wrong(where, "a huge number", "a number") from None
    if hint in (int, str) and isinstance(data, hint) and not isinstance(data, bool):
        return data
    raise _wrong(where, data, {float: "a number", int: "a whole number", str: "a word"}[hint])


def _list(data: Any, where: str) -> list[Any]:
    if not isinstance(data, list):
        raise _wrong(where, data, "a list")
    return data


def _words(data: Any, where: str) -> dict[str, str]:
    if not isinstance(data, dict) or not all(isinstance(each, str) for each in data.values()):
        raise _wrong(where, data, "a mapping of words")
    return data


def _wrong(where: str, data: Any, expected: str) -> InputError:
    shown = repr(data)
    return InputError(f"{where} is {shown if len(shown) <= 40 else shown[:39] + '…'}, expected {expected}: {AGAIN}")
