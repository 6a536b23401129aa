"""What the figure of shared clusters draws is what the schedule says."""

from __future__ import annotations

from hybrid_scheduler import registry
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import Machines
from hybrid_scheduler.core.schedule import Schedule, schedule_jobs
from hybrid_scheduler.reports.figures.jobs import group_by_width, plot_jobs, trace_load
from hybrid_scheduler.studies.jobs import Window


def run() -> Schedule:
    jobs = Jobs.build(seconds=[100, 100, 50], arrival=[0, 0, 10], cpu_milli=[3000, 3000, 1000], user=[0, 1, 1])
    return schedule_jobs(jobs, Machines.pool(4), registry.job_orders.create("fcfs"), interpreted=True)


def test_use_and_queue_follow_the_schedule() -> None:
    moments, used, waiting = trace_load(run())
    assert moments[[0, -1]].tolist() == [0.0, 200.0]
    assert used[0] == 0.75
    assert waiting[0] == 1.0  # the second fits beside nobody
    assert waiting[moments > 100].max() == 0.0
    assert used.max() <= 1.0
    assert used[-1] == 0.0


def test_slowdown_is_averaged_over_jobs_of_similar_width() -> None:
    width, slowdown = group_by_width(run())
    assert width.tolist() == [1.0, 3.0]
    assert slowdown.tolist() == [2.8, 1.5]  # 140 s for 50, and 100 and 200 s for 100


def test_a_figure_has_a_curve_for_each_policy_in_every_panel() -> None:
    figure = plot_jobs(Window("twice", {"fcfs": run(), "again": run()}, 10.0)).figure
    assert [len(panel.lines) for panel in figure.axes] == [2, 2, 2, 2]
