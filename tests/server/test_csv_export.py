"""A running export holds every result once, and old files are moved aside."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from hybrid_scheduler.live.settings import LiveSettings
from hybrid_scheduler.live.simulation import ContinuousSimulation
from hybrid_scheduler.server.csv_export import COLUMNS, KEPT_FILES, CsvExport
from hybrid_scheduler.storage.rows import ResultRows
from live_server import live


def results(count: int) -> list[ResultRows]:
    race = ContinuousSimulation(LiveSettings(schedulers=("greedy", "round_robin"), pace=None))
    rows: list[ResultRows] = []
    race.sinks.append(
        lambda event: rows.extend(
            ResultRows.from_placements(name, each)
            for name, each in (event.placed.placements if event.placed else {}).items()
        )
    )
    race.step(count)
    race.stop()
    return rows


def test_every_result_is_a_line_and_full_files_are_moved_aside(tmp_path: Path) -> None:
    export = CsvExport(tmp_path / "out" / "history.csv", max_bytes=500)
    for _ in range(KEPT_FILES + 3):
        export.write(7, results(3))
    with export.path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert {(row["run_id"], row["scheduler_name"]) for row in rows} == {("7", "greedy"), ("7", "round_robin")}
    assert float(rows[0]["finish_time"]) > 0
    kept = sorted(each.name for each in export.path.parent.iterdir())
    assert kept == ["history.csv", *(f"history.csv.{number}" for number in range(1, KEPT_FILES + 1))]


@pytest.mark.asyncio
async def test_a_race_is_exported_while_it_runs(tmp_path: Any) -> None:
    path = tmp_path / "history.csv"
    async with live(f"sqlite:///{tmp_path}/hms.db", autostart=True, export_csv=path) as served:
        await served.until_tasks(5)
    assert len(path.read_text().splitlines()) > 5


@pytest.mark.asyncio
async def test_a_model_is_fitted_to_what_is_stored_and_offered(tmp_path: Any) -> None:
    async with live(f"sqlite:///{tmp_path}/hms.db", autostart=True, data_dir=tmp_path, pace=2000.0) as served:
        await served.until_tasks(300)
        await served.manager.flush()
        await served.manager.train_offline()
        assert (tmp_path / "models" / "offline.model.json").is_file()
