"""Every figure draws from real measures, says what its axes are, stays inside its paper and keeps to the palette."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.markers import MarkerStyle

from hybrid_scheduler import registry
from hybrid_scheduler.errors import InputError, UnknownNameError
from hybrid_scheduler.reports import gallery
from hybrid_scheduler.reports.data import ReportData
from hybrid_scheduler.reports.figures.gantt import plot_gantt
from hybrid_scheduler.reports.figures.learning_curve import plot_learning_curve
from hybrid_scheduler.reports.figures.pareto import front, points_of
from hybrid_scheduler.reports.figures.speed_up import speed_ups
from hybrid_scheduler.reports.style import MARKERS, label, plot_styles, save_figure
from hybrid_scheduler.schedulers.rl_agent import CurvePoint
from reports.kept import SHAPES, result, run_material, study_material

CASES = [
    *(("run", each.name) for each in gallery.suitable(run_material())),
    *((name, each.name) for name in SHAPES for each in gallery.suitable(study_material(name))),
]


def material_of(where: str) -> ReportData:
    return run_material() if where == "run" else study_material(where)


def drawn(ax: Axes) -> Figure:
    figure = ax.get_figure(root=True)
    assert figure is not None
    FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]  # matplotlib leaves it untyped
    return figure


def overhang(figure: Figure) -> float:
    """Return by how many inches something that is drawn sticks out of the paper."""
    paper, drawn = figure.get_size_inches(), figure.get_tightbbox()
    return float(max(-drawn.x0, -drawn.y0, drawn.x1 - paper[0], drawn.y1 - paper[1]))


@pytest.mark.parametrize(("where", "name"), CASES, ids=[f"{name}-{where}" for where, name in CASES])
def test_a_figure_has_labels_with_units_and_no_text_outside(where: str, name: str) -> None:
    figure = drawn(gallery.draw(name, material_of(where)))
    for ax in figure.axes:
        assert ax.get_xlabel()
        named = ax.get_ylabel() or [text.get_text() for text in ax.get_yticklabels()]
        assert named
        numbers = ax.get_xlabel() + ax.get_ylabel()
        assert "(" in numbers or "offered load" in numbers or "weight" in numbers, f"no unit in {numbers!r}"
    assert overhang(figure) < 0.02


@pytest.mark.parametrize(("where", "name"), CASES, ids=[f"{name}-{where}" for where, name in CASES])
def test_a_figure_fits_into_axes_of_the_caller(where: str, name: str) -> None:
    figure = Figure(figsize=(6, 4), layout="constrained")
    ax = gallery.draw(name, material_of(where), ax=figure.subplots())
    assert ax.get_figure(root=True) is figure
    assert drawn(ax).axes


def test_colours_and_marks_are_those_of_the_palette() -> None:
    ax = gallery.draw("latency_cdf", run_material())
    for line in ax.get_lines():
        spec = next(spec for spec in result().comparison.schedulers if label(spec) == line.get_label())
        look = plot_styles(result().comparison.schedulers)[spec]
        assert (to_hex(str(line.get_color())), line.get_marker()) == (look.colour, look.mark)
    bars = gallery.draw("makespan", run_material())
    shown = {to_hex(bar.get_facecolor()): bar.get_hatch() for bar in bars.patches}
    look = plot_styles(["oracle", "greedy"])
    assert shown[look["oracle"].colour]
    assert shown[look["greedy"].colour] in (None, "")


def test_no_two_schedulers_look_alike() -> None:
    names = ["hybrid_ml", "oracle", "eft", "mine.py", "price", "a", "b"]
    found = plot_styles(names)
    assert len({each.colour for each in found.values()}) == len(names)
    assert len({each.mark for each in found.values()}) == len(names)
    assert found["hybrid_ml"].colour == "#0b7a96"


def test_variants_of_a_scheduler_share_its_colour_and_differ_in_mark_and_dash() -> None:
    found = plot_styles(["rl_agent", "rl_agent:gamma=0.5", "rl_agent:gamma=0.6"])
    assert len({each.colour for each in found.values()}) == 1
    assert len({each.mark for each in found.values()}) == 3
    assert len({each.dash for each in found.values()}) == 3


def test_matplotlib_can_draw_every_marker_of_the_registry() -> None:
    assert set(MARKERS) == set(get_args(registry.Marker))
    for mark in MARKERS.values():
        assert MarkerStyle(mark).get_path().vertices.size


def test_names_lose_their_folders_and_stay_short() -> None:
    assert label("some/folder/mine.py:Mine") == "mine.py:Mine"
    assert label("eft") == "eft"
    assert len(label("x" * 80)) == 24


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_figure_is_the_same_file(kind: str, tmp_path: Path) -> None:
    for name in ("one", "other"):
        save_figure(gallery.draw("makespan_over_bound", run_material()), tmp_path / f"{name}.{kind}")
    assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"other.{kind}").read_bytes()


def test_a_wrong_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'makespan'"):
        gallery.draw("makspan", run_material())


def test_a_figure_of_something_else_says_what_it_needs() -> None:
    with pytest.raises(InputError, match="needs a run of hms experiment load: from this run there are makespan_over"):
        gallery.draw("load_sweep", run_material())


def test_a_figure_can_be_drawn_from_a_comparison_alone() -> None:
    ax = plot_gantt(result(seeds=1, specs=("eft", "greedy")))
    assert len(ax.collections) > 5


def test_panels_need_axes_that_have_a_place() -> None:
    ax = Figure().add_axes((0.1, 0.1, 0.8, 0.8))
    with pytest.raises(InputError, match="subplots"):
        gallery.draw("workload", run_material(), ax=ax)


def test_speed_up_is_that_over_round_robin_or_the_slowest() -> None:
    assert speed_ups(result())["round_robin"].mean == 1.0
    others = speed_ups(result(seeds=1, specs=("eft", "greedy")))
    assert others["greedy"].mean == 1.0
    assert others["eft"].mean > 1.0


def test_the_front_holds_whoever_is_not_beaten_in_both() -> None:
    points = points_of(result())
    kept = front(points)
    for name, (time, energy) in points.items():
        beaten = any(
            other[0].mean <= time.mean and other[1].mean <= energy.mean and other != (time, energy)
            for other in points.values()
        )
        assert beaten is (name not in kept)


def test_the_agents_curve_is_drawn() -> None:
    curve = [CurvePoint(tasks=50 * k, steps=k, loss=1.0 / k, epsilon=0.9**k, reward=-1.0 / k) for k in range(1, 40)]
    figure = drawn(plot_learning_curve(curve))
    assert overhang(figure) < 0.02
