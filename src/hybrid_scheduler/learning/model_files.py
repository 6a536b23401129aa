"""Model files that keep loading: a pickle, and beside it a manifest that says what it is and its SHA-256.

A pickle can run any code when it is read. It is therefore read only if its digest is the one in the manifest
written with it, or if the caller says that the file is trusted. That protects against a file that was exchanged or
damaged, not against someone who can write both files.
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
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import atomic_write, sha256

FORMAT = 1
LEARNING = "hybrid_scheduler.learning"
RENAMED_CLASSES = {  # in files of version 1.0
    (f"{LEARNING}.forest_lessons", "Models"): (f"{LEARNING}.forest", "ForestModels"),
    (f"{LEARNING}.learnt_times", "LearntTimes"): (f"{LEARNING}.durations", "DurationModel"),
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
        scratch.write_bytes(pickle.dumps(model, protocol=5))
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
        "libraries": _versions(),
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
        return _Unpickler(BytesIO(content)).load()  # its digest was checked, or the caller vouches
    except Exception as error:
        raise InputError(f"model file {path} cannot be read ({type(error).__name__}): train it again") from error


class _Unpickler(pickle.Unpickler):
    """Finds the classes that files of version 1.0 name."""

    def find_class(self, module: str, name: str) -> Any:
        return super().find_class(*RENAMED_CLASSES.get((module, name), (module, name)))


def list_models(directory: str | Path) -> list[dict[str, Any]]:
    """Return name, kind, version, training and whether it is intact of every model in a folder."""
    found = []
    for beside in sorted(Path(directory).glob("*.json")):
        file = beside.with_suffix("")
        if not file.is_file():
            continue
        manifest = read_manifest(file)
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
        raise InputError(f"manifest {beside} is torn: train the model again with hms train") from None
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


def _versions() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
