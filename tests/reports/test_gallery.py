"""Every figure of the table draws, labels its axes with units, stays inside its paper and has a caption."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from helpers_cli import files_in, hms, refused
from hybrid_scheduler.errors import InputError, UnknownNameError
from hybrid_scheduler.reports import gallery
from hybrid_scheduler.reports.comparison_report import format_caption
from hybrid_scheduler.reports.data import ReportData
from reports.sample_runs import EXPERIMENTS, build_experiment_data, build_jobs_data, build_run_data

CASES = [
    *(("run", each.name) for each in gallery.list_suitable(build_run_data())),
    *(("jobs", each.name) for each in gallery.list_figures() if each.needs == "jobs"),
    *((name, each.name) for name in EXPERIMENTS for each in gallery.list_suitable(build_experiment_data(name))),
]


def build_data(where: str) -> ReportData:
    if where == "jobs":
        return build_jobs_data()
    return build_run_data() if where == "run" else build_experiment_data(where)


def render(ax: Axes) -> Figure:
    figure = ax.get_figure(root=True)
    assert figure is not None
    FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]  # matplotlib leaves it untyped
    return figure


def overhang(figure: Figure) -> float:
    """Return by how many inches something that is drawn sticks out of the paper."""
    paper, box = figure.get_size_inches(), figure.get_tightbbox()
    return float(max(-box.x0, -box.y0, box.x1 - paper[0], box.y1 - paper[1]))


def test_every_figure_is_tried_below() -> None:
    assert {name for _, name in CASES} == {each.name for each in gallery.list_figures()}


@pytest.mark.parametrize(("where", "name"), CASES, ids=[f"{name}-{where}" for where, name in CASES])
def test_a_figure_has_labels_with_units_and_no_text_outside(where: str, name: str) -> None:
    figure = render(gallery.draw(name, build_data(where)))
    for ax in figure.axes:
        assert ax.get_xlabel()
        assert ax.get_ylabel() or [text.get_text() for text in ax.get_yticklabels()]
        labels = ax.get_xlabel() + ax.get_ylabel()
        assert "(" in labels or "offered load" in labels or "weight" in labels, f"no unit in {labels!r}"
    assert overhang(figure) < 0.02


@pytest.mark.parametrize(("name", "where"), {name: where for where, name in CASES}.items())
def test_a_figure_fits_into_axes_of_the_caller(name: str, where: str) -> None:
    figure = Figure(figsize=(6, 4), layout="constrained")
    ax = gallery.draw(name, build_data(where), ax=figure.subplots())
    assert ax.get_figure(root=True) is figure
    figure.draw_without_rendering()  # makes room for its labels
    assert figure.axes


@pytest.mark.parametrize("figure", gallery.list_figures(), ids=lambda each: each.name)
def test_a_line_of_the_table_names_known_traits_and_fields(figure: gallery.FigureEntry) -> None:
    assert figure.needs in gallery.NEEDS
    assert figure.in_report in gallery.IN_REPORT
    assert format_caption(figure, build_run_data()).endswith(".")


def test_panels_need_axes_that_have_a_place() -> None:
    ax = Figure().add_axes((0.1, 0.1, 0.8, 0.8))
    with pytest.raises(InputError, match="subplots"):
        gallery.draw("workload", build_run_data(), ax=ax)


def test_a_wrong_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'makespan'"):
        gallery.draw("makspan", build_run_data())


def test_a_figure_of_another_run_names_the_run_that_it_needs() -> None:
    with pytest.raises(InputError, match="needs a run of hms experiment load: from this run there are makespan_over"):
        gallery.draw("load_sweep", build_run_data())


def test_figures_are_listed_and_drawn_by_name(run: Path) -> None:
    listing = hms("plot", "--list")
    assert "latency_cdf" in listing.out
    assert "one seed is run again" in listing.out
    assert max(map(len, listing.out.splitlines())) <= 80
    assert hms("plot", "run", "-f", "makespan").out == "wrote run/figures/makespan.png\n"
    assert hms("plot", "run", "-f", "gantt", "-o", "g.svg").code == 0
    refused(hms("plot", "run", "-f", "makespan"), "run/figures/makespan.png exists")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("plot", "no run to draw"),
        ("plot run -f makspan", "did you mean 'makespan'?"),
        ("plot run -f capacity", "needs a run of hms capacity"),
        ("plot run --format jpeg", "unknown format 'jpeg'"),
        ("plot run -o all.png", "give a folder"),
        ("plot run -f makespan -o x.png --format svg", "let them say the same"),
        ("plot run -f makespan -o x.xyz", "xyz"),
    ],
)
@pytest.mark.usefixtures("run")
def test_contradictory_options_are_refused(arguments: str, message: str) -> None:
    before = files_in(Path())
    refused(hms(*arguments.split(" ")), message)
    assert files_in(Path()) == before
