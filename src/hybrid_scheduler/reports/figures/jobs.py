"""Shared clusters: what is used and what waits over time, slowdown by width, and how even it is among users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_scheduler.core.job_metrics import THRESHOLD, bounded_slowdown, measure_users
from hybrid_scheduler.core.machines import WHOLE
from hybrid_scheduler.core.schedule import LINES, Schedule
from hybrid_scheduler.reports.style import add_grid, apply_style, create_figure, get_axes, set_log_x
from hybrid_scheduler.studies.jobs import Window

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.core.tasks import Floats

STEPS = 200  # moments of a curve
WIDTHS = 5  # groups of jobs, each twice as wide as the one before or as many as there are
DASHES = ("-", (0, (4, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)), (0, (8, 3)))
HEIGHT = 2.6


@apply_style
def plot_jobs(window: Window) -> Axes:
    """Draw use, queue, slowdown by width and fairness beside each other, a curve for each policy."""
    panels: list[Axes] = list(create_figure(4.6).subplots(2, 2).flat)
    for draw, panel in zip((_draw_use, _draw_queue, _draw_widths, _draw_users), panels, strict=True):
        draw(window, panel)
    _add_legend(panels[1], panels[2])
    return panels[0]


@apply_style
def plot_use_over_time(window: Window, ax: Axes | None = None) -> Axes:
    """Draw the share of GPUs, or of cores if there are none, that are in use."""
    return _finish(_draw_use(window, get_axes(ax, HEIGHT)))


@apply_style
def plot_queue(window: Window, ax: Axes | None = None) -> Axes:
    """Draw how many jobs wait."""
    return _finish(_draw_queue(window, get_axes(ax, HEIGHT)))


@apply_style
def plot_slowdown_by_width(window: Window, ax: Axes | None = None) -> Axes:
    """Draw the mean bounded slowdown of narrow and wide jobs."""
    return _finish(_draw_widths(window, get_axes(ax, HEIGHT)))


@apply_style
def plot_fairness(window: Window, ax: Axes | None = None) -> Axes:
    """Draw the mean bounded slowdown of the users, the least slowed first: flat is fair."""
    return _finish(_draw_users(window, get_axes(ax, HEIGHT)))


def _finish(ax: Axes) -> Axes:
    _add_legend(ax, ax)
    return ax


def _add_legend(ax: Axes, source: Axes) -> None:
    ax.legend(*source.get_legend_handles_labels(), loc="center left", bbox_to_anchor=(1.0, 0.5))


def _style(number: int, policy: str) -> dict[str, Any]:
    return {"color": f"C{number % 10}", "linestyle": DASHES[number // 10 % len(DASHES)], "label": policy}


def _draw_use(window: Window, ax: Axes) -> Axes:
    for number, (policy, schedule) in enumerate(window.schedules.items()):
        moments, used, _ = trace_load(schedule)
        ax.plot(moments / 3600, 100 * used, **_style(number, policy))
    gpus = next(iter(window.schedules.values())).machines.total_gpus > 0
    return _label(ax, "time (h)", "GPUs in use (%)" if gpus else "cores in use (%)")


def _draw_queue(window: Window, ax: Axes) -> Axes:
    for number, (policy, schedule) in enumerate(window.schedules.items()):
        moments, _, waiting = trace_load(schedule)
        ax.plot(moments / 3600, waiting, **_style(number, policy))
    return _label(ax, "time (h)", "jobs that wait")


def _draw_widths(window: Window, ax: Axes) -> Axes:
    for number, (policy, schedule) in enumerate(window.schedules.items()):
        ax.plot(*group_by_width(schedule, window.threshold), marker="o", markersize=3, **_style(number, policy))
    set_log_x(ax, next(iter(window.schedules.values())).jobs.width.tolist())
    return _set_log_y(_label(ax, "width (GPUs or cores)", "mean bounded slowdown (×)"))


def _draw_users(window: Window, ax: Axes) -> Axes:
    for number, (policy, schedule) in enumerate(window.schedules.items()):
        users = sorted(each["bounded_slowdown"] for each in measure_users(schedule, window.threshold).values())
        ax.plot(np.linspace(0, 100, len(users)), users, marker="o", markersize=3, **_style(number, policy))
    return _set_log_y(_label(ax, "users, the least slowed first (%)", "mean bounded slowdown (×)"))


def _label(ax: Axes, across: str, up: str) -> Axes:
    ax.set_xlabel(across)
    ax.set_ylabel(up)
    add_grid(ax, "y")
    return ax


def _set_log_y(ax: Axes) -> Axes:
    from matplotlib.ticker import NullFormatter

    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    low, high = ax.get_ylim()
    ax.yaxis.set_minor_formatter((lambda value, _: f"{value:g}") if high < 10 * low else NullFormatter())
    return ax


def trace_load(schedule: Schedule) -> tuple[Floats, Floats, Floats]:
    """Return moments, the share of GPUs (cores without any) in use then, and how many jobs wait."""
    jobs, machines, lines = schedule.jobs, schedule.machines, schedule.list_stints()
    lines = lines._replace(**{name: getattr(lines, name)[np.isfinite(lines.end)] for name in LINES})
    ran = schedule.ran & np.isfinite(schedule.finish)
    moments = np.linspace(jobs.arrival.min(), lines.end.max(initial=jobs.arrival.max()), STEPS)
    parts = np.maximum(jobs.gpus, 1)
    held = np.where(jobs.gpus > 0, jobs.width, 0.0) if machines.total_gpus else jobs.width
    capacity = machines.total_gpus or machines.cpu_milli.sum() / WHOLE
    each, alone = (held / parts)[lines.row], (1.0 / parts)[lines.row]
    used = _count_until(lines.begin, each, moments) - _count_until(lines.end, each, moments)
    running = _count_until(lines.begin, alone, moments) - _count_until(lines.end, alone, moments)
    ones = np.ones(int(ran.sum()))
    here = _count_until(jobs.arrival[ran], ones, moments) - _count_until(schedule.finish[ran], ones, moments)
    return moments, used / capacity, np.round(here - running, 6)


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
