"""Figures use the registry's colours and markers, tell schedulers apart, and repeat byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.markers import MarkerStyle

from hybrid_scheduler import registry
from hybrid_scheduler.reports import gallery
from hybrid_scheduler.reports.style import MARKERS, label, plot_styles, save_figure
from reports.sample_runs import SPECS, build_run_data


def test_lines_and_bars_are_drawn_in_the_style_of_their_scheduler() -> None:
    styles = {label(spec): style for spec, style in plot_styles(SPECS).items()}
    for line in gallery.draw("latency_cdf", build_run_data()).get_lines():
        style = styles[str(line.get_label())]
        assert (to_hex(str(line.get_color())), line.get_marker()) == (style.colour, style.marker)
    bars = gallery.draw("makespan", build_run_data()).patches
    hatches = {to_hex(bar.get_facecolor()): bar.get_hatch() for bar in bars}
    assert hatches[styles["oracle"].colour]
    assert hatches[styles["greedy"].colour] in (None, "")


def test_no_two_schedulers_look_alike() -> None:
    names = ["hybrid_ml", "oracle", "eft", "mine.py", "price", "a", "b"]
    styles = plot_styles(names)
    assert len({each.colour for each in styles.values()}) == len(names)
    assert len({each.marker for each in styles.values()}) == len(names)
    assert styles["hybrid_ml"].colour == "#0b7a96"


def test_variants_of_a_scheduler_share_its_colour_and_differ_in_marker_and_dash() -> None:
    styles = plot_styles(["rl_agent", "rl_agent:gamma=0.5", "rl_agent:gamma=0.6"])
    assert len({each.colour for each in styles.values()}) == 1
    assert len({each.marker for each in styles.values()}) == 3
    assert len({each.dash for each in styles.values()}) == 3


def test_matplotlib_can_draw_every_marker_of_the_registry() -> None:
    assert set(MARKERS) == set(get_args(registry.Marker))
    for marker in MARKERS.values():
        assert np.size(MarkerStyle(marker).get_path().vertices)


def test_names_lose_their_folders_and_stay_short() -> None:
    assert label("some/folder/mine.py:Mine") == "mine.py:Mine"
    assert label("eft") == "eft"
    assert len(label("x" * 80)) == 24


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_figure_is_the_same_file(kind: str, tmp_path: Path) -> None:
    for name in ("one", "other"):
        save_figure(gallery.draw("makespan_over_bound", build_run_data()), tmp_path / f"{name}.{kind}")
    assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"other.{kind}").read_bytes()
