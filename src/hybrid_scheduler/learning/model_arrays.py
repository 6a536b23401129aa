"""Models as plain arrays: a zip of .npy files, one of which is JSON that says how the others belong together.

Such a file holds no code and names none: arrays are read without pickle, and the classes that it may ask for are
those of `CLASSES`, which hold values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from io import BytesIO
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.compiled_forest import CompiledForest, check_forest

CLASSES = {  # name → module
    "ForestModels": "forest",
    "DurationModel": "durations",
    "CompiledForest": "compiled_forest",
    **dict.fromkeys(
        ("RandomForestPredictor", "XGBoostPredictor", "SVMPredictor", "NeuralNetworkPredictor"), "predictors"
    ),
}
MAGIC = b"PK"  # of a zip; a pickle begins with another byte
STRUCTURE = "structure"
Arrays = dict[str, npt.NDArray[Any]]


def pack(model: Any) -> bytes:
    """Return a model as the bytes of a file: the same model gives the same bytes."""
    arrays: Arrays = {}
    structure = json.dumps(_take_apart(model, arrays))
    content = BytesIO()
    np.savez(content, allow_pickle=False, **arrays, **{STRUCTURE: np.frombuffer(structure.encode(), np.uint8)})
    return content.getvalue()


def unpack(content: bytes) -> Any:
    """Build the model that `pack` took apart; whatever is no such file is an error."""
    with ZipFile(BytesIO(content)) as packed:
        if any(each.compress_type != ZIP_STORED for each in packed.infolist()):  # as a bomb would be
            raise ValueError("the arrays are compressed")
    with np.load(BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return _put_together(json.loads(arrays.pop(STRUCTURE).tobytes()), arrays)


def is_plain(value: Any) -> bool:
    """Return whether a value is numbers, texts and arrays only."""
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biuf"
    return value is None or isinstance(value, str | bool | int | float | np.generic)


def _take_apart(value: Any, arrays: Arrays) -> Any:
    """Return a value as JSON that refers to arrays."""
    if isinstance(value, bytes | bytearray):
        return {"bytes": _add_array(np.frombuffer(value, np.uint8), arrays)}
    if isinstance(value, dict):
        return {"dict": [[key, _take_apart(each, arrays)] for key, each in value.items()]}
    name = type(value).__name__
    if name in CLASSES:
        state = value._asdict() if isinstance(value, CompiledForest) else value.__getstate__()
        return {"class": name, "state": _take_apart(state, arrays)}
    if isinstance(value, list | tuple):
        return {name: [_take_apart(each, arrays) for each in value]}
    if not is_plain(value):
        raise InputError(f"a {name} cannot be part of a model file: keep numbers, texts and arrays in a model")
    if isinstance(value, np.ndarray):
        return {"array": _add_array(value, arrays)}
    return value.item() if isinstance(value, np.generic) else value


def _add_array(value: npt.NDArray[Any], arrays: Arrays) -> str:
    name = f"array{len(arrays)}"
    arrays[name] = value
    return name


def _put_together(node: Any, arrays: Mapping[str, npt.NDArray[Any]]) -> Any:
    if not isinstance(node, dict):
        return node
    if "class" in node:
        return _build(str(node["class"]), _put_together(node["state"], arrays))
    ((kind, value),) = node.items()
    if kind == "array":
        return arrays[value]
    if kind == "bytes":
        return bytearray(arrays[value].tobytes())
    if kind == "dict":
        return {key: _put_together(each, arrays) for key, each in value}
    return {"list": list, "tuple": tuple}[kind](_put_together(each, arrays) for each in value)


def _build(name: str, state: dict[str, Any]) -> Any:
    kind: Any = getattr(import_module(f"hybrid_scheduler.learning.{CLASSES[name]}"), name)
    if kind is CompiledForest:
        return check_forest(kind(**state))
    model = kind.__new__(kind)
    getattr(model, "__setstate__", model.__dict__.update)(state)
    return model
