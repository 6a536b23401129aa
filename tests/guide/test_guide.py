"""The Python blocks of the guide run as written, in their order, in one folder with a finished pipeline."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import pytest

from guide.blocks import blocks, copied_blocks, documents, needs_guide, python_blocks
from helpers_cli import hms
from hybrid_scheduler.profiling.profile_file import load_profile
from hybrid_scheduler.profiling.timing import Sampling
from small_pipeline import write_small

ANALYSIS = "Analyse the results of `python main.py`"
PRINTED = {
    "Look for MPS": ["MPS available: ", "MPS built: "],
    "Profile the hardware": ["CPU/GPU Ratio: ", "GPU should handle: "],
    "Generate a workload": ["Generated 10000 tasks", "Avg task size: ", "Avg compute intensity: 0.5"],
    "Train a model": ["Train R²: ", "Test R²: 0.9", "'task_size': "],
    "Run the offline trainer": ["Training complete!", "'compute_intensity': "],
    "Schedule online": ["Scheduled 1000 tasks", "Average GPU utilization: ", "  gpu_3: "],
    "Evaluate baselines": ["round_robin:", "random:", "greedy:", "Makespan: ", "Max time: "],
    ANALYSIS: [],
    "Look again if MPS is missing": [],
}
"""What each block prints, among other things."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder to stand in while the blocks run, so that what they write stays out of the checkout."""
    place, backend = tmp_path_factory.mktemp("guide"), mpl.get_backend()
    mpl.use("agg")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        write_small(place)
        # How well a machine is measured and a model is judged is tested where they live.
        patch.setattr("hybrid_scheduler.profiling.profiler.Sampling", lambda: Sampling(1, 1, 1, 0.0, 0.0))
        patch.setattr("hybrid_scheduler.learning.predictors.Predictor._cross_validate", lambda *_: {})
        yield place
    mpl.use(backend)


@needs_guide
def test_guide_md_is_what_the_guide_says_statement_by_statement() -> None:
    written = [code for text in documents() for code in python_blocks(text)]
    for code, copied in zip(written, copied_blocks().values(), strict=True):
        assert ast.dump(ast.parse(copied)) == ast.dump(ast.parse(code))


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")  # the guide shows its picture at the end
def test_the_guide_runs_from_its_first_block_to_its_last(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = blocks()
    assert list(found) == list(PRINTED)
    for title, code in found.items():
        if title == ANALYSIS:
            run_the_pipeline(folder)
        exec(compile(code, title, "exec"), {"__name__": "__main__"})  # noqa: S102  # the guide's own code
        printed = capsys.readouterr().out
        for words in PRINTED[title]:
            assert words in printed, f"{title}: {words!r} is not in {printed}"
    assert load_profile("data/profiles/hardware_profile.json").sizes == [16, 32]
    assert Path("data/results/performance_analysis.png").stat().st_size > 10_000


def run_the_pipeline(folder: Path) -> None:
    """Run the pipeline after the blocks before it: what they have written is kept aside, and named."""
    trace = "data/workload_traces/training_workload.csv"
    before = Path(trace).read_bytes()
    done = hms("pipeline")
    assert done.code == 0, done.err
    assert f"training_workload.csv of before is now data/earlier/1/{trace}" in done.out
    assert (folder / "data/earlier/1" / trace).read_bytes() == before
