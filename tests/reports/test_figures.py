"""The numbers behind figures, and figures that are drawn from other things than a kept run."""

from __future__ import annotations

from hybrid_scheduler.reports.figures.bars import compute_speed_ups
from hybrid_scheduler.reports.figures.comparisons import collect_points, find_front
from hybrid_scheduler.reports.figures.learning import plot_learning_curve
from hybrid_scheduler.reports.figures.placements import plot_gantt
from hybrid_scheduler.schedulers.rl_agent import CurvePoint
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


def test_the_agents_training_curve_is_drawn() -> None:
    curve = [CurvePoint(tasks=50 * k, steps=k, loss=1.0 / k, epsilon=0.9**k, reward=-1.0 / k) for k in range(1, 40)]
    assert overhang(render(plot_learning_curve(curve))) < 0.02
