"""Experiments: their tables, intervals and pictures; the long runs are for `hms experiment`."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers_cli import hms
from hybrid_scheduler.core import Cluster
from hybrid_scheduler.errors import UnknownNameError
from hybrid_scheduler.reports.figures.study import plot_study
from hybrid_scheduler.reports.style import save_figure
from hybrid_scheduler.studies import experiments
from hybrid_scheduler.studies.experiments import Study


def study(places: tuple[float | str, ...]) -> Study:
    made = Study("made", "x", ("y", "z"))
    for seed in range(3):
        for x in places:
            made.add("one", x, seed, y=1.0 + seed, z=0.1)
            made.add("other", x, seed, y=100.0 + seed, z=0.2)
    return made


def test_points_are_intervals_over_seeds() -> None:
    each = study((1.0, 2.0)).points("one", "y")
    assert list(each) == [1.0, 2.0]
    assert each[1.0].mean == pytest.approx(2.0)
    assert each[1.0].low < 2.0 < each[1.0].high


def test_the_table_has_one_line_a_run() -> None:
    lines = study(("a",)).to_csv().splitlines()
    assert lines[0] == "series,x,seed,y,z"
    assert lines[1] == "one,a,0,1.0,0.1"
    assert len(lines) == 7


@pytest.mark.parametrize("places", [(0.5, 1.0, 2.0), ("only one",)])
def test_the_picture_shows_every_series(places: tuple[float | str, ...], tmp_path: Path) -> None:
    ax = plot_study(study(places))
    legend = ax.get_legend()
    texts = [*ax.get_yticklabels(), *(legend.get_texts() if legend else [])]
    shown = {text.get_text() for text in texts}
    assert {"one", "other"} <= shown
    save_figure(ax, tmp_path / "study.png")
    assert (tmp_path / "study.png").read_bytes().startswith(b"\x89PNG")


def test_after_a_shift_the_online_forest_is_several_times_better_than_the_static_one() -> None:
    found = experiments.run("shift", (3,), Cluster.default())
    assert found.points("hybrid_ml", "static_over_this")["after the shift"].mean > 4
    assert found.points("hybrid_ml", "over_optimum")["after the shift"].mean < 1.5
    assert found.points("oracle", "over_optimum")["after the shift"].mean < 1.05


def test_an_unknown_experiment_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'shift'"):
        experiments.run("shiftt", (0,), Cluster.default())


def test_an_experiment_never_replaces_results(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("precious")
    done = hms("experiment", "shift", "-o", str(tmp_path))
    assert done.code == 2
    assert "not empty" in done.err
