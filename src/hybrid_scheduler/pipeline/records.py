"""A record says what a finished phase was made from and what it wrote; a phase that has one is not done again."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hybrid_scheduler import __version__
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import sha256, written_whole

SCHEMA = 1
KIND = "pipeline_phase"


@dataclass(frozen=True)
class Inputs:
    """All that the results of a phase follow from."""

    options: dict[str, Any]
    files: dict[str, str]  # SHA-256 by path
    version: str = __version__

    def differs(self, before: Inputs) -> str:
        """Say what has changed since `before`; empty if nothing has."""
        for name, value in self.options.items():
            was = before.options.get(name)
            if value != was:
                return f"{name} is {_short(value)}, was {_short(was)}"
        for name, digest in self.files.items():
            if digest != before.files.get(name):
                return f"{name} is another one"
        if self.files.keys() != before.files.keys() or self.options.keys() != before.options.keys():
            return "it is made from something else"
        return "" if self.version == before.version else f"version {before.version} made it, this is {self.version}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"


@dataclass(frozen=True)
class Record:
    """One finished phase."""

    phase: str
    inputs: Inputs
    outputs: dict[str, str]  # SHA-256 of every file, by its path below the pipeline's folder
    facts: dict[str, Any] = field(default_factory=dict)  # what came of it, the same for the same inputs
    measured: dict[str, Any] = field(default_factory=dict)  # wall times and what else a clock has told

    def write(self, path: Path) -> None:
        """Write the record, whole or not at all."""
        document = {"kind": KIND, "schema": SCHEMA, **asdict(self)}
        with written_whole(path) as scratch:
            scratch.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_record(path: Path, phase: str) -> Record | None:
    """Return a phase's record, None if there is none; one that cannot be trusted is an error."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError):
        raise _torn(path) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check its rights") from None
    if not isinstance(data, dict) or data.get("kind") != KIND or not isinstance(data.get("schema"), int):
        raise _torn(path)
    if data["schema"] > SCHEMA:
        raise InputError(
            f"{path} was written by a newer version (schema {data['schema']}, known {SCHEMA}): upgrade, or choose "
            "another --out"
        )
    try:
        return _built(data, phase)
    except (KeyError, TypeError, ValueError):
        raise _torn(path) from None


def _built(data: dict[str, Any], phase: str) -> Record:
    if data["phase"] != phase:
        raise ValueError(phase)
    parts = {name: _mapping(data[name]) for name in ("outputs", "facts", "measured")}
    inputs = _mapping(data["inputs"])
    made = Inputs(_mapping(inputs["options"]), _mapping(inputs["files"]), str(inputs["version"]))
    return Record(phase, made, **parts)


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value


def _torn(path: Path) -> InputError:
    return InputError(f"{path} is torn or no record of a phase: remove it, and its phase is done again")


def digests(root: Path, places: tuple[str, ...]) -> dict[str, str]:
    """Return the SHA-256 of every file at or below these places of a folder, by its path below the folder."""
    found: dict[str, str] = {}
    for place in places:
        path = root / place
        files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
        found.update({each.relative_to(root).as_posix(): sha256(each) for each in files if each.is_file()})
    return found
