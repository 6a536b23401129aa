"""Shared clusters: what is used and what waits over time, slowdown by width, and how even it is among users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_scheduler.core.job_metrics import THRESHOLD, bounded_slowdown, measure_users
from hybrid_scheduler.core.machines import WHOLE
from hybrid_scheduler.core.preemption import PreemptiveSchedule
from hybrid_scheduler.core.schedule import Schedule
from hybrid_scheduler.reports.style import add_grid, apply_style, create_figure, set_log_x

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.core.tasks import Floats

STEPS = 200  # moments of a curve
WIDTHS = 5  # groups of jobs, each twice as wide as the one before or as many as there are
DASHES = ("-", (0, (4, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)), (0, (8, 3)))


@apply_style
def plot_jobs(schedules: Mapping[str, Schedule], threshold: float = THRESHOLD) -> Axes:
    """Draw schedules of the same jobs in four panels, a curve for each policy.

    Policies that interrupt jobs are left out of the upper ones: when each of their jobs ran is not kept.
    """
    from matplotlib.ticker import NullFormatter

    panels: list[Axes] = list(create_figure(4.6).subplots(2, 2).flat)
    for number, (policy, schedule) in enumerate(schedules.items()):
        style: dict[str, Any] = {"color": f"C{number % 10}", "linestyle": DASHES[number // 10 % len(DASHES)]}
        if not isinstance(schedule, PreemptiveSchedule):
            moments, used, queue = trace_load(schedule)
            panels[0].plot(moments / 3600, 100 * used, **style)
            panels[1].plot(moments / 3600, queue, **style)
        style |= {"marker": "o", "markersize": 3, "label": policy}
        panels[2].plot(*group_by_width(schedule, threshold), **style)
        users = sorted(each["bounded_slowdown"] for each in measure_users(schedule, threshold).values())
        panels[3].plot(np.linspace(0, 100, len(users)), users, **style)
    jobs = next(iter(schedules.values())).jobs
    titles = (
        ("hours", "GPUs in use (%)" if (jobs.gpus > 0).any() else "cores in use (%)"),
        ("hours", "jobs that wait"),
        ("width (GPUs or cores)", "mean bounded slowdown"),
        ("users, the least slowed first (%)", "mean bounded slowdown"),
    )
    for panel, (across, up) in zip(panels, titles, strict=True):
        panel.set_xlabel(across)
        panel.set_ylabel(up)
        add_grid(panel, "y")
    set_log_x(panels[2], jobs.width.tolist())
    for panel in panels[2:]:
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        low, high = panel.get_ylim()
        between = (lambda value, _: f"{value:g}") if high < 10 * low else NullFormatter()
        panel.yaxis.set_minor_formatter(between)
    panels[1].legend(*panels[2].get_legend_handles_labels(), loc="center left", bbox_to_anchor=(1.0, 0.5))
    return panels[0]


def trace_load(schedule: Schedule) -> tuple[Floats, Floats, Floats]:
    """Return moments, the share of GPUs (cores without any) in use then, and how many jobs wait."""
    ran, jobs, machines = schedule.ran & np.isfinite(schedule.finish), schedule.jobs, schedule.machines
    arrival, start, finish = jobs.arrival[ran], schedule.start[ran], schedule.finish[ran]
    moments = np.linspace(jobs.arrival.min(), finish.max(initial=jobs.arrival.max()), STEPS)
    held = np.where(jobs.gpus > 0, jobs.width, 0.0)[ran] if machines.total_gpus else jobs.width[ran]
    capacity = machines.total_gpus or machines.cpu_milli.sum() / WHOLE
    used = _count_until(start, held, moments) - _count_until(finish, held, moments)
    ones = np.ones(len(start))
    waiting = _count_until(arrival, ones, moments) - _count_until(start, ones, moments)
    return moments, used / capacity, waiting


def _count_until(times: Floats, weights: Floats, moments: Floats) -> Floats:
    """Return the sum of the weights of what has happened by each moment."""
    order = np.argsort(times)
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    return sums[np.searchsorted(times[order], moments, side="right")]


def group_by_width(schedule: Schedule, threshold: float = THRESHOLD) -> tuple[Floats, Floats]:
    """Return the mean width and the mean bounded slowdown of groups of jobs of similar width."""
    ran = schedule.ran & np.isfinite(schedule.finish)
    width, slowdown = schedule.jobs.width[ran], bounded_slowdown(schedule, threshold)[ran]
    edges = np.unique(np.quantile(width, np.linspace(0, 1, WIDTHS + 1)))
    group = np.clip(np.searchsorted(edges, width, side="right") - 1, 0, max(len(edges) - 2, 0))
    found = [(width[group == each].mean(), slowdown[group == each].mean()) for each in np.unique(group)]
    columns = np.array(found).reshape(-1, 2).T
    return columns[0], columns[1]
