"""Model files that keep loading: arrays (`model_arrays.py`), and beside them a manifest with kind and SHA-256.

Version 1.0 wrote pickles, which can run any code when they are read. They are still read, but only the parts of
models in `PARTS` are looked up: a file that names anything more is refused, whatever its manifest says, unless the
caller trusts it.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from pathlib import Path
from typing import Any

from hybrid_scheduler import __version__
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.files import atomic_write, sha256
from hybrid_scheduler.learning.model_arrays import MAGIC, pack, unpack

FORMAT = 2  # 1: pickles
LEARNING = "hybrid_scheduler.learning"
RENAMED_CLASSES = {  # in files of version 1.0
    (f"{LEARNING}.forest_lessons", "Models"): (f"{LEARNING}.forest", "ForestModels"),
    (f"{LEARNING}.learnt_times", "LearntTimes"): (f"{LEARNING}.durations", "DurationModel"),
}
PARTS = {  # what a model of version 1.0 may consist of: none of these does anything but hold values
    f"{LEARNING}.forest": {"ForestModels"},
    f"{LEARNING}.durations": {"DurationModel"},
    f"{LEARNING}.predictors": {"RandomForestPredictor", "XGBoostPredictor"},
    f"{LEARNING}.compiled_forest": {"CompiledForest"},
    f"{LEARNING}.insight": {"Retrain"},
    "numpy": {"dtype", "ndarray"},
    **{key: {"_reconstruct", "scalar"} for key in ("numpy.core.multiarray", "numpy._core.multiarray")},
    **{key: {"_frombuffer"} for key in ("numpy.core.numeric", "numpy._core.numeric")},
    "xgboost.sklearn": {"XGBRegressor"},
    "xgboost.core": {"Booster"},
    "builtins": {"bytearray"},
    "collections": {"deque", "OrderedDict"},
}
LIBRARIES = ("numpy", "scikit-learn", "torch", "xgboost-cpu")


def manifest_path(path: str | Path) -> Path:
    """Return where the manifest of a model file stands."""
    return Path(f"{path}.json")


def save_model(
    model: Any,
    path: str | Path,
    *,
    kind: str,
    features: tuple[str, ...],
    training: dict[str, Any],
    cluster: dict[str, int] | None = None,
) -> None:
    """Write a model and its manifest."""
    with atomic_write(path) as scratch:
        scratch.write_bytes(pack(model))
    write_manifest(path, kind=kind, features=features, training=training, cluster=cluster)


def write_manifest(
    path: str | Path,
    *,
    kind: str,
    features: tuple[str, ...],
    training: dict[str, Any],
    cluster: dict[str, int] | None = None,
) -> None:
    """Write what a model file is and its SHA-256 beside it."""
    manifest = {
        "format": FORMAT,
        "version": __version__,
        "kind": kind,
        "features": list(features),
        "libraries": installed_versions(),
        "training": training,
        "cluster": cluster or {},
        "sha256": sha256(path),
    }
    with atomic_write(manifest_path(path)) as scratch:
        scratch.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def load_model(path: str | Path, *, kind: str, trusted: bool = False) -> Any:
    """Read a model file after checking its manifest."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"model file {path} does not exist: train one with hms train")
    content = file.read_bytes()  # once: what was checked is what is read
    if not trusted:
        check_manifest(read_manifest(path), path, kind, content)
    try:
        return unpack(content) if content.startswith(MAGIC) else _Unpickler(BytesIO(content), trusted).load()
    except ForeignPartError as error:
        raise InputError(
            f"model file {path} names {error}, which is no part of a model and might run code: train it again, "
            "or pass trusted=True if you made it"
        ) from None
    except SchedulerError:  # such as a library that is not installed
        raise
    except Exception as error:
        raise InputError(f"model file {path} cannot be read ({type(error).__name__}): train it again") from error


class ForeignPartError(pickle.UnpicklingError):
    """A model file that names something else than parts of a model."""


class _Unpickler(pickle.Unpickler):
    """Finds parts of models, also by the names of version 1.0, and nothing else in a file that is not trusted."""

    def __init__(self, file: BytesIO, trusted: bool) -> None:
        super().__init__(file)
        self._trusted = trusted

    def find_class(self, module: str, name: str) -> Any:
        module, name = RENAMED_CLASSES.get((module, name), (module, name))
        if not self._trusted and name not in PARTS.get(module, ()):
            raise ForeignPartError(f"{module}.{name}")
        return super().find_class(module, name)


def list_models(directory: str | Path, problems: list[str] | None = None) -> list[dict[str, Any]]:
    """Return name, kind, version, training and whether it is intact of every model in a folder.

    With a list of `problems`, what is wrong with one model is added there and hides no other.
    """
    found = []
    for beside in sorted(Path(directory).glob("*.json")):
        file = beside.with_suffix("")
        if not file.is_file():
            continue
        try:
            manifest = read_manifest(file)
        except InputError as error:
            if problems is None:
                raise
            problems.append(str(error))
            continue
        found.append(
            {
                "file": file.name,
                "kind": str(manifest.get("kind")),
                "version": str(manifest.get("version")),
                "training": manifest.get("training", {}),
                "intact": manifest.get("sha256") == sha256(file),
            }
        )
    return found


def read_manifest(path: str | Path) -> dict[str, Any]:
    """Read the manifest beside a model file."""
    beside = manifest_path(path)
    try:
        manifest = json.loads(beside.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"model file {path} has no manifest ({beside.name}), so it is not read: train it again, "
            "or pass trusted=True if you made it"
        ) from None
    except (ValueError, OSError):
        raise InputError(f"manifest {beside} is damaged: train the model again with hms train") from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("format"), int):
        raise InputError(f"{beside} is no manifest of a model: train the model again with hms train")
    return manifest


def check_manifest(manifest: dict[str, Any], path: str | Path, kind: str, content: bytes | None = None) -> None:
    """Refuse a model of another format or kind, and one whose bytes are not those that were saved."""
    if manifest["format"] > FORMAT:
        raise InputError(f"{path} has format {manifest['format']}, this version reads up to {FORMAT}: upgrade")
    if manifest.get("kind") != kind:
        raise InputError(f"{path} holds a '{manifest.get('kind')}' model, expected '{kind}'")
    if manifest.get("sha256") != (sha256(path) if content is None else hashlib.sha256(content).hexdigest()):
        raise InputError(
            f"{path} is not the file its manifest describes (SHA-256 differs): it is not read; train it again"
        )


def installed_versions() -> dict[str, str]:
    """Return the versions of the libraries that models depend on."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
