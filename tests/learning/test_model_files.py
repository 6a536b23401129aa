"""Model files: only what was saved is read, everything else is refused with a clear word."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.model_arrays import pack, unpack
from hybrid_scheduler.learning.model_files import list_models, load_model, manifest_path, save_model, write_manifest
from hybrid_scheduler.learning.predictors import MODEL_TYPES, Predictor, RandomForestPredictor, XGBoostPredictor
from hybrid_scheduler.schedulers.rl_agent import RLAgent


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
        (lambda path: manifest_path(path).write_text('{"format": 1'), "damaged"),
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


def test_a_trusted_file_that_is_no_model_is_refused(saved: Path) -> None:
    saved.write_bytes(b"hello")
    with pytest.raises(InputError, match="cannot be read"):
        RandomForestPredictor.load(saved, trusted=True)


def test_one_torn_manifest_hides_no_other_model(saved: Path, tmp_path: Path) -> None:
    for name in ("a.model", "b.model"):
        RandomForestPredictor.load(saved).save(tmp_path / "listed" / name)
    manifest_path(tmp_path / "listed" / "a.model").write_text('{"format": 1, "ki')
    problems = list[str]()
    assert [each["file"] for each in list_models(tmp_path / "listed", problems)] == ["b.model"]
    assert len(problems) == 1
    assert "a.model.json is damaged" in problems[0]


def _write_agent(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    write_manifest(path, kind="rl_agent", features=(), training={})


@pytest.mark.parametrize("change", ["nan", "missing", "empty", "shape", "bytes", "truncated", "code", "list"])
def test_a_bad_file_of_an_agent_is_refused_in_one_line(tmp_path: Path, change: str) -> None:
    path, agent = tmp_path / "agent.pth", RLAgent(model="none")
    tensors: Any = {name: torch.from_numpy(each.copy()) for name, each in agent.weights.items()}
    tensors["typical"] = torch.tensor(agent.time_scale, dtype=torch.float64)  # as version 1.0 wrote it
    written = io.BytesIO()
    if change == "nan":
        tensors["w2"][0, 0] = float("nan")
    elif change == "missing":
        del tensors["b1"]
    elif change == "empty":
        tensors["w1"] = torch.empty((0, 4))
    elif change == "shape":
        tensors["b1"] = torch.zeros(3)
        tensors["w2"] = torch.zeros((5, 7))
    elif change == "list":
        tensors = [1, 2]
    elif change == "code":
        tensors["typical"] = Path("somewhere")  # a class that weights do not need
    torch.save(tensors, written)
    content = {"bytes": b"\x80\x05nonsense" * 9, "truncated": written.getvalue()[:200]}.get(
        change, written.getvalue()
    )
    _write_agent(path, content)
    with pytest.raises(InputError, match=r"agent\.pth") as refusal:
        agent.load_model(path)
    assert "\n" not in str(refusal.value)


def test_a_file_that_would_run_code_is_refused_though_its_manifest_matches(saved: Path, tmp_path: Path) -> None:
    bomb, mark = tmp_path / "bomb.model", tmp_path / "mark"
    bomb.write_bytes(pickle.dumps(Bomb(mark)))
    write_manifest(bomb, kind="random_forest", features=("a", "b"), training={})
    with pytest.raises(InputError, match="might run code"):
        RandomForestPredictor.load(bomb)
    assert not mark.exists()


def _fit(kind: type[Predictor]) -> tuple[Predictor, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(60, 2))
    return kind().fit_all(rows, rows @ [0.4, -0.2] + 0.5, ("a", "b")), rows


@pytest.mark.parametrize("kind", MODEL_TYPES.values())
def test_every_type_of_model_is_kept_as_arrays_and_predicts_the_same_bits(
    kind: type[Predictor], tmp_path: Path
) -> None:
    model, rows = _fit(kind)
    model.save(tmp_path / "one.model")
    with np.load(tmp_path / "one.model", allow_pickle=False) as file:
        assert {file[name].dtype.kind for name in file.files} <= set("iufb")
    again = kind.load(tmp_path / "one.model")
    assert np.array_equal(again.predict(rows), model.predict(rows))
    again.save(tmp_path / "two.model")
    assert (tmp_path / "two.model").read_bytes() == (tmp_path / "one.model").read_bytes()


def test_a_pickle_of_version_1_0_is_still_read(tmp_path: Path) -> None:
    model, rows = _fit(RandomForestPredictor)
    old = tmp_path / "old.pkl"
    old.write_bytes(pickle.dumps(model, protocol=5))
    write_manifest(old, kind="random_forest", features=("a", "b"), training={})
    assert np.array_equal(RandomForestPredictor.load(old).predict(rows), model.predict(rows))


def test_weights_that_version_1_0_wrote_with_torch_are_still_read(tmp_path: Path) -> None:
    agent, old, written = RLAgent(model="none", seed=3), tmp_path / "agent.pth", io.BytesIO()
    tensors = {name: torch.from_numpy(each.copy()) for name, each in agent.weights.items()}
    torch.save({**tensors, "typical": torch.tensor(2.5, dtype=torch.float64)}, written)
    _write_agent(old, written.getvalue())
    again = RLAgent(model=str(old))
    assert again.time_scale == 2.5
    assert all(np.array_equal(again.weights[name], each) for name, each in agent.weights.items())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda kept: kept["weights"]["w2"].fill(np.nan), "no numbers"),
        (lambda kept: kept["weights"].pop("b1"), "no weights"),
        (lambda kept: kept["weights"].update(w1=np.zeros((0, 4), np.float32)), "no numbers"),
        (lambda kept: kept["weights"].update(b1=np.zeros(3, np.float32)), "other sizes"),
        (lambda kept: kept.update(durations=[1]), "no weights"),
        (lambda kept: kept.clear(), "no weights"),
    ],
)
def test_bad_arrays_of_an_agent_are_refused_in_one_line(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], words: str
) -> None:
    path, agent = tmp_path / "agent.pth", RLAgent(model="none")
    agent.save_model(path)
    kept = load_model(path, kind="rl_agent")
    change(kept)
    save_model(kept, path, kind="rl_agent", features=(), training={})
    with pytest.raises(InputError, match=words) as refusal:
        agent.load_model(path)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("part", "number"),
    [("child", 10**6), ("child", -1), ("feature", 2), ("leaf", 10**6), ("roots", -9), ("depth", 2**40)],
)
def test_a_forest_whose_arrays_lead_out_of_them_is_refused(saved: Path, part: str, number: int) -> None:
    model = RandomForestPredictor.load(saved)
    assert model.compiled_ is not None
    getattr(model.compiled_, part)[0] = number % 2**31 if part == "child" and number > 0 else number
    saved.write_bytes(pack(model))
    write_manifest(saved, kind="random_forest", features=("a", "b"), training={})
    with pytest.raises(InputError, match="cannot be read"):
        RandomForestPredictor.load(saved)


def test_a_file_of_arrays_names_no_other_class_and_holds_no_object() -> None:
    with pytest.raises(InputError, match="a Bomb cannot be part of a model file"):
        pack({"model": Bomb(Path("nowhere"))})
    told = pack({"class": 1}).replace(b'{"dict": [["class", 1]]}', b'{"class":"os","state":1}')
    with pytest.raises(KeyError, match="os"):
        unpack(_rezip(told))


def _rezip(content: bytes) -> bytes:
    """Write the arrays again, so that their checksums are right."""
    offset = content.index(b"\x93NUMPY")
    written = io.BytesIO()
    np.savez(written, structure=np.frombuffer(content[offset + 128 : offset + 128 + 24], np.uint8))
    return written.getvalue()
