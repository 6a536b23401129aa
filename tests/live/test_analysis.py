"""Statistics over the last tasks: sizes of all magnitudes, and by how much the GPU is faster."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler.core.physics import class_times
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.learning.labels import best_times
from hybrid_scheduler.live import LiveSettings
from hybrid_scheduler.live.analysis import RecentTasks
from hybrid_scheduler.live.race import LiveRace

PRESETS = ("mixed", "pareto", "long_tail", "gpu_friendly")


def run_race(preset: str, count: int = 1500) -> tuple[LiveRace, Floats, Floats, Floats]:
    """Return a race after some tasks, their sizes, intensities and log2 speed-ups."""
    race = LiveRace(LiveSettings(schedulers=("eft",), preset=preset))
    blocks = [race.advance(50) for _ in range(count // 50)]
    cluster = race.settings.cluster
    pairs = [best_times(class_times(block.tasks, cluster), cluster) for block in blocks]
    speedup = np.concatenate([np.log2(cpu / gpu) for cpu, gpu in pairs])
    columns = [np.concatenate([getattr(b.tasks, name) for b in blocks]) for name in ("size", "compute_intensity")]
    return race, columns[0], columns[1], speedup


@pytest.mark.parametrize("preset", PRESETS)
def test_edges_are_logarithmic_where_sizes_span_magnitudes(preset: str) -> None:
    race, sizes, _, _ = run_race(preset)
    analysis = race.analysis()
    assert analysis.log_sizes == (sizes.max() / sizes.min() > 20)
    edges = np.array(analysis.size_edges)
    steps = np.diff(np.log(edges)) if analysis.log_sizes else np.diff(edges)
    assert steps == pytest.approx(np.full(20, steps[0]))
    assert (edges[0], edges[-1]) == (sizes.min(), sizes.max())
    assert sum(analysis.size_counts) == len(sizes)


def test_both_kinds_of_edges_occur() -> None:
    assert {run_race(preset, 500)[0].analysis().log_sizes for preset in PRESETS} == {True, False}


def test_quantiles_of_the_sizes() -> None:
    race, sizes, _, _ = run_race("pareto")
    found = race.analysis().size_quantiles
    assert [found.p50, found.p95, found.p99] == pytest.approx(np.quantile(sizes, (0.5, 0.95, 0.99)).tolist())


@pytest.mark.parametrize("preset", PRESETS)
def test_the_speed_up_of_a_cell_is_the_median_of_its_tasks(preset: str) -> None:
    race, sizes, intensities, speedup = run_race(preset)
    analysis = race.analysis()
    x, y = np.array(analysis.size_edges), np.array(analysis.intensity_edges)
    seen = 0
    for a, row in enumerate(analysis.speedup):
        for b, cell in enumerate(row):
            inside = (sizes >= x[a]) & ((sizes < x[a + 1]) | (a == 19)) & (intensities >= y[b])
            inside &= (intensities < y[b + 1]) | (b == 9)
            if not inside.any():
                assert cell is None
                continue
            seen += int(inside.sum())
            assert cell == pytest.approx(float(np.median(speedup[inside])), abs=1e-4)
    assert seen == len(sizes)


def test_a_cluster_without_gpus_has_no_speed_up() -> None:
    race = LiveRace(LiveSettings(schedulers=("eft",), num_gpus=0))
    race.advance(50)
    assert {cell for row in race.analysis().speedup for cell in row} == {None}


def test_before_the_first_task_the_analysis_is_empty() -> None:
    analysis = RecentTasks().analyse(["eft"])
    assert (analysis.tasks, sum(analysis.size_counts), analysis.log_sizes) == (0, 0, False)
    assert np.isnan(analysis.size_quantiles.p50)
    assert {cell for row in analysis.speedup for cell in row} == {None}


def test_features_have_short_names_and_schedulers_their_own() -> None:
    race = run_race("mixed", 100)[0]
    assert race.analysis().features == ["size", "intensity", "memory", "GPU share", "best time", "eft"]
