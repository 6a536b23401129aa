"""Model files: only what was saved is read, everything else is refused with a clear word."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.model_files import manifest_path
from hybrid_scheduler.learning.predictors import RandomForestPredictor, XGBoostPredictor


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    generator = np.random.default_rng(0)
    model = RandomForestPredictor(n_estimators=5)
    model.fit_all(generator.normal(size=(40, 2)), generator.normal(size=40), ("a", "b"))
    model.save(tmp_path / "model.pkl", {"rows": 40})
    return tmp_path / "model.pkl"


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return Path.write_text, (self.path, "boom")


def test_the_manifest_says_what_the_file_is(saved: Path) -> None:
    manifest = json.loads(manifest_path(saved).read_text())
    assert manifest["kind"] == "random_forest"
    assert manifest["features"] == ["a", "b"]
    assert manifest["training"] == {"rows": 40}
    assert len(manifest["sha256"]) == 64
    assert {"numpy", "scikit-learn"} <= set(manifest["libraries"])


def test_an_exchanged_file_is_not_even_unpickled(saved: Path, tmp_path: Path) -> None:
    saved.write_bytes(pickle.dumps(Bomb(tmp_path / "exploded")))
    with pytest.raises(InputError, match="SHA-256 differs"):
        RandomForestPredictor.load(saved)
    assert not (tmp_path / "exploded").exists()


def _edit(path: Path, **changes: object) -> None:
    manifest = json.loads(manifest_path(path).read_text())
    manifest_path(path).write_text(json.dumps(manifest | changes))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-7]), "SHA-256 differs"),
        (lambda path: path.write_bytes(b""), "SHA-256 differs"),
        (lambda path: manifest_path(path).unlink(), "has no manifest"),
        (lambda path: manifest_path(path).write_text('{"format": 1'), "torn"),
        (lambda path: manifest_path(path).write_text("[]"), "no manifest"),
        (lambda path: _edit(path, format=99), "upgrade"),
        (lambda path: _edit(path, kind="xgboost"), "expected 'random_forest'"),
        (lambda path: path.unlink(), "does not exist"),
    ],
)
def test_damaged_files_are_refused(saved: Path, damage: Callable[[Path], object], words: str) -> None:
    damage(saved)
    with pytest.raises(InputError, match=words) as error:
        RandomForestPredictor.load(saved)
    assert "\n" not in str(error.value)


def test_another_kind_of_model_is_refused(saved: Path) -> None:
    with pytest.raises(InputError, match="expected 'xgboost'"):
        XGBoostPredictor.load(saved)


def test_a_trusted_file_is_read_without_its_manifest(saved: Path) -> None:
    manifest_path(saved).unlink()
    assert RandomForestPredictor.load(saved, trusted=True).feature_names_ == ("a", "b")


def test_a_trusted_file_that_is_no_pickle_is_refused(saved: Path) -> None:
    saved.write_bytes(b"hello")
    with pytest.raises(InputError, match="cannot be read"):
        RandomForestPredictor.load(saved, trusted=True)
