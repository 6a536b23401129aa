"""The numbers behind figures, and figures that are drawn from other things than a kept run."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler.bounds.turnaround import certified_front
from hybrid_scheduler.core import Cluster
from hybrid_scheduler.learning.insight import CurvePoint
from hybrid_scheduler.reports.data import replay
from hybrid_scheduler.reports.figures.bars import compute_speed_ups
from hybrid_scheduler.reports.figures.comparisons import collect_points, find_front
from hybrid_scheduler.reports.figures.fronts import AXES, collect_means, trace_front
from hybrid_scheduler.reports.figures.learning import plot_learning_curve
from hybrid_scheduler.reports.figures.placements import plot_gantt
from reports.sample_runs import run_comparison
from reports.test_gallery import overhang, render


def test_a_figure_can_be_drawn_from_a_comparison_alone() -> None:
    ax = plot_gantt(run_comparison(seeds=1, specs=("eft", "greedy")))
    assert len(ax.collections) > 5


def test_speed_up_is_that_over_round_robin_or_the_slowest() -> None:
    assert compute_speed_ups(run_comparison())["round_robin"].mean == 1.0
    others = compute_speed_ups(run_comparison(seeds=1, specs=("eft", "greedy")))
    assert others["greedy"].mean == 1.0
    assert others["eft"].mean > 1.0


def test_the_pareto_front_holds_what_nothing_dominates() -> None:
    points = collect_points(run_comparison())
    front = find_front(points)
    for name, (time, energy) in points.items():
        dominated = any(
            other[0].mean <= time.mean and other[1].mean <= energy.mean and other != (time, energy)
            for other in points.values()
        )
        assert dominated is (name not in front)


@pytest.mark.parametrize("measure", AXES)
def test_no_policy_is_where_a_front_says_that_none_can_be(measure: str) -> None:
    shown = replay(run_comparison())
    points = collect_means(shown, measure)
    right, top = (2 * max(each[axis] for each in points.values()) for axis in (0, 1))
    for whole in (False, True):
        front = certified_front(shown.tasks, Cluster.default(), measure, whole=whole, points=4, iterations=10)
        edge = trace_front(front, right, top)
        assert edge[0].tolist() == [front[-1, 0], top]
        assert edge[-1].tolist() == [right, front[0, 1]]
        for spec, (time, amount) in points.items():
            if not (whole and shown.placements[spec].split.any()):
                assert time >= front[-1, 0]
                assert amount >= np.interp(time, edge[:, 0], edge[:, 1]) * (1 - 1e-9)


def test_the_agents_training_curve_is_drawn() -> None:
    curve = [CurvePoint(tasks=50 * k, steps=k, loss=1.0 / k, epsilon=0.9**k, reward=-1.0 / k) for k in range(1, 40)]
    assert overhang(render(plot_learning_curve(curve))) < 0.02
