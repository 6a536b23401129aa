"""Models of the database and model files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from hybrid_scheduler.learning.model_files import save_model
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from served import Service, serving
from stored import new_run

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def service(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Service]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HMS_CACHE_DIR", str(tmp_path / "cache"))
    async with serving(url) as service:
        yield service


def keep_model(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    save_model({}, folder / "forest.pkl", kind="forest", features=("size",), training={"rows": 5})
    return folder / "forest.pkl"


async def test_models_of_runs_and_files_are_listed(service: Service) -> None:
    keep_model(Path("models"))
    run_id = await new_run(service.manager.store)
    number = await service.manager.store.add_model("hybrid_ml", "models/a.pkl", "ab12", {"r2": 0.9}, run_id)
    answer = await service.get("/api/models")
    (stored,) = answer["stored"]
    assert (stored["id"], stored["run_id"], stored["training"]) == (number, run_id, {"r2": 0.9})
    (file,) = answer["files"]
    assert (file["folder"], file["file"], file["kind"], file["intact"]) == ("models", "forest.pkl", "forest", True)
    assert answer["problems"] == []


async def test_an_exchanged_file_is_not_intact(service: Service) -> None:
    keep_model(Path("models")).write_bytes(b"something else")
    assert [each["intact"] for each in (await service.get("/api/models"))["files"]] == [False]


async def test_a_torn_manifest_hides_only_its_own_folder(service: Service) -> None:
    keep_model(Path("models"))
    Path("models/forest.pkl.json").write_text("{")
    keep_model(Path("cache/models"))
    answer = await service.get("/api/models")
    assert len(answer["files"]) == len(answer["problems"]) == 1
    assert "forest.pkl.json" in answer["problems"][0]


async def test_what_the_learners_of_a_run_know_is_kept_when_it_ends(url: str, tmp_path: Path) -> None:
    async with serving(url, schedulers=("hybrid_ml", "eft"), data_dir=tmp_path) as service:
        await service.step(60)
        run_id = service.manager.run_id
        await service.manager.stop()
        (kept,) = (await service.get("/api/models"))["stored"]
    assert (kept["run_id"], kept["scheduler_name"]) == (run_id, "hybrid_ml")
    assert Path(kept["path"]).is_file()
    assert HybridML(model=kept["path"]).knows
