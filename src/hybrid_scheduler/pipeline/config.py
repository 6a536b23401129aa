"""Reads the pipeline's options from `config.yaml`, which the live service reads too, and writes that file's text."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError

from hybrid_scheduler import registry
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.pipeline.options import OFFLINE, Options, Section, quickened
from hybrid_scheduler.settings import CONFIG_FILE, PIPELINE, AppSettings, read_yaml
from hybrid_scheduler.workload.presets import preset

WIDTH = 118


def read_options(path: Path | None = None, *, quick: bool = False, seed: int | None = None) -> Options:
    """Return the options of a file, `config.yaml` if there is one; what is wrong is told before any work."""
    if path is not None and not path.is_file():
        raise InputError(f"{path} does not exist: check the path, or leave --config out to take the defaults")
    file = path or CONFIG_FILE
    options = _parsed(read_yaml(file), file)
    options = quickened(options) if quick else options
    if seed is not None:
        options = _checked({**options.model_dump(), "seed": seed}, "--seed")
    if preset(options.workload.preset).graph is not None:
        raise InputError(f"preset '{options.workload.preset}' is a graph: the pipeline learns from independent tasks")
    for name in options.evaluation.schedulers:
        if name != OFFLINE:
            _check_scheduler(name)
    return options


def _check_scheduler(spec: str) -> None:
    known = [*registry.schedulers.table, OFFLINE]
    if spec.partition(":")[0] not in known and ".py" not in spec:
        raise unknown_name("scheduler", spec, known)
    registry.schedulers.create(spec)


def _parsed(data: dict[str, Any], file: Path) -> Options:
    known = [*AppSettings.model_fields, PIPELINE]
    for key in data:
        if key not in known:
            raise unknown_name(f"key in {file}:", str(key), known)
    given = data.get(PIPELINE) or {}
    _refuse_unknown(Options, given, PIPELINE, file)
    if given.get("gpus") is None and data.get("num_gpus") is not None:
        given = {**given, "gpus": data["num_gpus"]}
    return _checked(given, str(file))


def _refuse_unknown(section: type[Section], given: Any, where: str, file: Path) -> None:
    if not isinstance(given, Mapping):
        raise InputError(f"{file}: {where} is {given!r}, expected options below it, such as seed: 42")
    for key, value in given.items():
        if key not in section.model_fields:
            raise unknown_name(f"key in {file}, {where}:", str(key), section.model_fields)
        inner = section.model_fields[key].annotation
        if isinstance(inner, type) and issubclass(inner, Section) and value is not None:
            _refuse_unknown(inner, value, f"{where}.{key}", file)


def _checked(given: Mapping[str, Any], file: str) -> Options:
    # A section whose options are all commented out is null in YAML.
    values = {key: value for key, value in given.items() if value is not None}
    try:
        return Options.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        message = str(first["msg"])
        raise InputError(
            f"{file}: {PIPELINE}.{name} is {first['input']!r}: {message[0].lower()}{message[1:]}"
        ) from None


# --- the file ------------------------------------------------------------------------------------------------

HEAD = """\
# All options with their defaults. `hms pipeline` (or `python main.py`) and `hms serve` read this file from the folder
# in which they are started; an option that is not named keeps its default, an unknown one is refused.
#
# --- the live service, hms serve; docs/service.md; the environment and .env go before this file
"""
MIDDLE = f"""
# --- the five phases, hms pipeline; docs/pipeline.md; (quick: …) is what --quick makes of it
{PIPELINE}:
"""


def config_text() -> str:
    """Return a file with every option at its default; those of the service are commented out."""
    service = [line for name, field in AppSettings.model_fields.items() for line in _service_lines(name, field)]
    return HEAD + "\n".join(service) + "\n" + MIDDLE + "\n".join(_lines(Options(), "  ")) + "\n"


def _service_lines(name: str, field: Any) -> Iterator[str]:
    secret = isinstance(field.default, SecretStr)
    value = field.default.get_secret_value() if secret else field.default
    yield from _with_comment(f"# {name}: {_yaml(value)}", str(field.description))


def _lines(section: Section, indent: str) -> Iterator[str]:
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if isinstance(value, Section):
            yield ""
            yield f"{indent}{name}:  # {(type(value).__doc__ or '').rstrip('.')}"
            yield from _lines(value, indent + "  ")
            continue
        extra = field.json_schema_extra
        quick = f" (quick: {_yaml(extra['quick'])})" if isinstance(extra, dict) and "quick" in extra else ""
        yield from _with_comment(f"{indent}{name}: {_yaml(value)}", f"{field.description}{quick}")


def _with_comment(line: str, text: str) -> Iterator[str]:
    """Put the help behind the line if there is room, else above it."""
    if len(line) + len(text) + 4 <= WIDTH:
        yield f"{line}  # {text}"
        return
    margin = " " * (len(line) - len(line.lstrip()))
    yield from textwrap.wrap(text, WIDTH, initial_indent=f"{margin}# ", subsequent_indent=f"{margin}# ")
    yield line


def _yaml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_yaml(each) for each in value)}]"
    plain = isinstance(value, str) and value.replace("_", "").isalnum()
    return str(value) if plain else json.dumps(str(value) if isinstance(value, Path) else value)
