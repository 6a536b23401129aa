"""The snippets of the project's guide run as it writes them, in its order, in one folder with a finished pipeline."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import pytest

from helpers_cli import hms
from hybrid_scheduler.profiler import load_profile
from small_pipeline import write_small

PAGE = (Path(__file__).parent / "guide.md").read_text(encoding="utf-8")
SNIPPETS = dict(re.findall(r"## (.*?)\n\n```python\n(.*?)```", PAGE, flags=re.DOTALL))
SHOWN = {
    "Look for MPS": ["MPS available: ", "MPS built: "],
    "Profile the hardware": ["CPU/GPU Ratio: ", "GPU should handle: "],
    "Generate a workload": ["Generated 10000 tasks", "Avg task size: ", "Avg compute intensity: 0.5"],
    "Train a model": ["Train R²: ", "Test R²: 0.9", "'task_size': "],
    "Run the offline trainer": ["Training complete!", "'compute_intensity': "],
    "Schedule online": ["Scheduled 1000 tasks", "Average GPU utilization: ", "  gpu_3: "],
    "Evaluate baselines": ["round_robin:", "random:", "greedy:", "Makespan: ", "Max time: "],
    "Analyse the results of `python main.py`": [],
}


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Stand in one folder while the snippets run, as a reader of the guide does; pictures go to files only."""
    place, backend = tmp_path_factory.mktemp("guide"), mpl.get_backend()
    mpl.use("agg")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        write_small(place)
        yield place
    mpl.use(backend)


def run_snippet(title: str) -> None:
    exec(compile(SNIPPETS[title], title, "exec"), {"__name__": "__main__"})  # noqa: S102  # our own page


def test_every_snippet_of_the_guide_is_here() -> None:
    assert list(SNIPPETS) == list(SHOWN)


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")  # the guide shows its picture at the end
def test_the_guide_from_its_first_day_to_its_last(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for title, words in SHOWN.items():
        if title.startswith("Analyse"):
            keeps_what_the_reader_made(folder)
        run_snippet(title)
        printed = capsys.readouterr().out
        for word in words:
            assert word in printed, f"{title}: {word!r} is not in {printed}"
    assert load_profile("data/profiles/hardware_profile.json").sizes == [16, 32]
    assert Path("data/results/performance_analysis.png").stat().st_size > 10_000


def keeps_what_the_reader_made(folder: Path) -> None:
    """Run the pipeline after the weeks before it: what the reader has made by hand is kept aside, and named."""
    mine = Path("data/workload_traces/training_workload.csv").read_bytes()
    done = hms("pipeline")
    assert done.code == 0, done.err
    assert (
        "training_workload.csv of before is now data/earlier/1/data/workload_traces/training_workload.csv" in done.out
    )
    assert (folder / "data/earlier/1/data/workload_traces/training_workload.csv").read_bytes() == mine
