"""Figures of single tasks: where and when each ran under every scheduler, and what the tasks are like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.reports.data import Replay, ensure_replay
from hybrid_scheduler.reports.style import (
    INK,
    add_grid,
    add_legend,
    apply_style,
    get_axes,
    get_panels,
    label,
    plot_styles,
    set_log_x,
)
from hybrid_scheduler.workloads.statistics import best_times, distribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.core import Cluster, Placements, Tasks
    from hybrid_scheduler.core.tasks import Floats
    from hybrid_scheduler.studies.compare import Result

FILL = "#8fa3b8"
CDF_MARKERS, CDF_POINTS = 6, 400
"""Per line of a CDF: enough markers to tell lines apart in grey, and no more points than can be seen."""
SHARE_BINS, TIME_BINS = 20, 24
GANTT_TASKS, GANTT_ROWS = 60, 24  # what stays legible on a page


@apply_style
def plot_latency_cdf(found: Result | Replay, ax: Axes | None = None) -> Axes:
    """Draw which share of the tasks had ended how long after it arrived: further left is sooner."""
    replay = ensure_replay(found)
    ax = get_axes(ax, 2.65)
    styles = plot_styles(replay.placements)
    for name in replay.ranking:
        placements, style = replay.placements[name], styles[name]
        seconds = np.sort(placements.turnaround[placements.ran])
        if len(seconds):
            shares = np.linspace(1.0 / len(seconds), 1.0, len(seconds))
            every = max(1, len(seconds) // CDF_MARKERS)
            thin = np.unique(np.linspace(0, len(seconds) - 1, CDF_POINTS).astype(int))
            ax.plot(
                seconds[thin], 100 * shares[thin], color=style.colour, linestyle=style.dash, marker=style.marker,
                markevery=max(1, every * len(thin) // len(seconds)), label=label(name),
            )  # fmt: skip
    set_log_x(ax, [float(value) for each in replay.placements.values() for value in each.turnaround[each.ran]])
    ax.set_ylim(0, 101)
    add_grid(ax, "y")
    ax.set_xlabel(f"time from arrival to finish (s), seed {replay.seed}, {replay.origin}")
    ax.set_ylabel("tasks ended (%)")
    add_legend(ax, list(replay.placements))
    return ax


@apply_style
def plot_gpu_fraction(found: Result | Replay, ax: Axes | None = None) -> Axes:
    """Draw a histogram per scheduler of the GPU share of its tasks, relative to the most common share."""
    replay = ensure_replay(found)
    ax = get_axes(ax, 0.75 + 0.29 * max(len(replay.placements), 2))
    styles = plot_styles(replay.placements)
    edges = np.linspace(0, 1, SHARE_BINS + 1)
    for row, name in enumerate(replay.ranking):
        placements = replay.placements[name]
        shares = placements.gpu_fraction[placements.ran]
        counts = np.histogram(shares, edges)[0]
        ax.bar(
            100 * edges[:-1], -0.72 * counts / max(1, counts.max()), width=100 / SHARE_BINS, bottom=row + 0.4,
            align="edge", color=styles[name].colour, edgecolor="white", linewidth=0.4,
        )  # fmt: skip
        ax.axhline(row + 0.4, color="#5a6675", linewidth=0.6)
        if len(shares):
            ax.annotate(f"mean {shares.mean():.0%}", (102, row), va="center", fontsize=8, annotation_clip=False)
    ax.set_yticks(range(len(replay.placements)), [label(name) for name in replay.ranking])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(replay.placements) - 0.45, -0.55)
    ax.set_xlim(0, 114)
    ax.set_xticks(range(0, 101, 20))
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(f"share of a task given to a GPU (%), how often; seed {replay.seed}, {replay.origin}")
    return ax


@apply_style
def plot_allocation(found: Result | Replay, ax: Axes | None = None) -> Axes:
    """Draw one line per scheduler: the mean GPU share of its tasks over time."""
    replay = ensure_replay(found)
    ax = get_axes(ax, 2.5)
    styles = plot_styles(replay.placements)
    for name in replay.ranking:
        placements, style = replay.placements[name], styles[name]
        groups = [rows for rows in np.array_split(np.flatnonzero(placements.ran), TIME_BINS) if len(rows)]
        ends = np.array([rows[-1] + 1.0 for rows in groups])
        shares = np.array([placements.gpu_fraction[rows].mean() for rows in groups])
        ax.plot(
            ends, 100 * shares, color=style.colour, linestyle=style.dash, marker=style.marker, markersize=4.5,
            markevery=3, label=label(name),
        )  # fmt: skip
    ax.set_ylim(-3, 103)
    add_grid(ax, "y")
    ax.set_xlabel(f"tasks arrived (number), seed {replay.seed}, {replay.origin}")
    ax.set_ylabel("mean share on a GPU (%)")
    add_legend(ax, list(replay.placements))
    return ax


@apply_style
def plot_gantt(found: Result | Replay, ax: Axes | None = None, schedulers: list[str] | None = None) -> Axes:
    """Draw a line per device for the best and the worst scheduler; hatched: the share of a split task."""
    replay = ensure_replay(found)
    devices = next(iter(replay.placements.values())).cluster.devices
    shown = 1 if 2 * len(devices) > GANTT_ROWS else 2
    names = schedulers or list(dict.fromkeys((replay.ranking[0], replay.ranking[-1])))[:shown]
    devices = devices[:GANTT_ROWS]
    ax = get_axes(ax, 0.75 + 0.19 * (len(devices) + 1) * len(names))
    styles = plot_styles(replay.placements)
    ticks: dict[int, str] = {}
    for block, name in enumerate(names):
        top, colour = block * (len(devices) + 1), styles[name].colour
        ax.annotate(label(name), (0, top - 0.72), fontsize=8.5, fontweight="bold", color=colour, va="center")
        for line, device in enumerate(devices):
            ticks[top + line] = device.name
            _draw_spans(ax, top + line, replay.placements[name], device.index, colour)
    ax.set_yticks(list(ticks), list(ticks.values()), fontsize=7.5)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) * (len(devices) + 1) - 1.4, -1.1)
    ax.set_xlim(left=0)
    number = min(GANTT_TASKS, len(replay.tasks))
    ax.set_xlabel(f"time (s); the first {number} tasks of seed {replay.seed}, {replay.origin}")
    return ax


def _draw_spans(ax: Axes, line: int, placements: Placements, device: int, colour: str) -> None:
    """Draw when a device ran the first tasks."""
    sides = (
        (placements.gpu, placements.gpu_start, placements.gpu_seconds),
        (placements.cpu, placements.cpu_start, placements.cpu_seconds),
    )
    is_share = (placements.gpu >= 0) & (placements.cpu >= 0)
    spans = list[tuple[float, float, bool]]()  # start and seconds, and whether it is a share of a split task
    for devices, start, seconds in sides:
        rows = np.flatnonzero(devices[:GANTT_TASKS] == device)
        spans += [(float(start[row]), float(seconds[row]), bool(is_share[row])) for row in rows]
    for split in (False, True):
        ranges = [(start, seconds) for start, seconds, is_split in sorted(spans) if is_split is split]
        if ranges:
            face, edge, hatch = ("white", colour, "//////") if split else (colour, "white", "")
            ax.broken_barh(ranges, (line - 0.38, 0.76), facecolor=face, edgecolor=edge, hatch=hatch, linewidth=0.6)
    if not spans:
        ax.annotate("idle", (0, line), (3, 0), textcoords="offset points", va="center", fontsize=7, color=INK)


@apply_style
def plot_workload(found: Result | Replay, ax: Axes | None = None) -> Axes:
    """Draw three panels: histogram of sizes, intensity over memory, and the share of work in the longest tasks."""
    tasks = ensure_replay(found).tasks
    sizes, kinds, work = get_panels(ax, 3, 2.5)
    low, high = float(tasks.size.min()), float(tasks.size.max())
    bins = np.geomspace(low, high * 1.0001, 21) if high > 10 * low else np.linspace(low * 0.999, high * 1.001, 21)
    sizes.hist(tasks.size, bins=bins.tolist(), color=FILL, edgecolor="white", linewidth=0.5)
    if high > 10 * low:
        sizes.set_xscale("log")
    sizes.set_xlabel("size N (units)")
    sizes.set_ylabel("tasks (number)")
    add_grid(sizes, "y")
    kinds.plot(
        tasks.memory_required, tasks.compute_intensity, ".", color=INK, markersize=2.5, alpha=0.35, rasterized=True
    )
    kinds.set_xlabel("memory (MB)")
    kinds.set_ylabel("compute intensity (0 to 1)")
    kinds.set_ylim(-0.03, 1.03)
    _draw_work(tasks, work)
    return sizes


def share_in_longest_tenth(work: Floats) -> float:
    """Return the share of all work that is in the longest tenth of the tasks."""
    ordered = np.sort(work)[::-1]
    return float(ordered[: max(1, round(0.1 * len(ordered)))].sum() / ordered.sum())


def _draw_work(tasks: Tasks, ax: Axes) -> None:
    """Draw the Lorenz curve of the base durations, longest tasks first."""
    ordered = np.sort(tasks.duration_estimate)[::-1]
    shares = np.linspace(0, 100, len(ordered) + 1)
    done = 100 * np.concatenate([[0.0], np.cumsum(ordered)]) / ordered.sum()
    ax.plot(shares, done, color=INK)
    ax.plot([0, 100], [0, 100], color=FILL, linewidth=1, linestyle=(0, (2, 2)))
    tenth = 100 * share_in_longest_tenth(tasks.duration_estimate)
    ax.plot([10], [tenth], "o", color=INK, markersize=4)
    text, box = f"longest 10 %:\n{tenth:.0f} % of work", {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    ax.annotate(text, (10, tenth), (0.98, 0.08), textcoords="axes fraction", ha="right", fontsize=8, bbox=box)
    ax.set_xlabel("longest tasks (%)")
    ax.set_ylabel("their share of work (%)")
    ax.set_ylim(0, 103)


@apply_style
def plot_trace_shape(tasks: Tasks, cluster: Cluster, ax: Axes | None = None) -> Axes:
    """Draw three panels of a task file: arrivals over time, times on the fastest class, memory."""
    arrivals, seconds, memory = get_panels(ax, 3, 2.5)
    span = float(np.ptp(tasks.arrival_time))
    unit, scale = ("days", 86_400.0) if span >= 3 * 86_400 else ("hours", 3600.0) if span >= 3 * 3600 else ("s", 1.0)
    _draw_histogram(arrivals, tasks.arrival_time / scale, f"arrival ({unit})", logarithmic=False)
    _draw_histogram(seconds, best_times(tasks, cluster), "time on the fastest class (s)")
    _draw_histogram(memory, tasks.memory_required, "memory (MB)")
    arrivals.set_ylabel("tasks (number)")
    return arrivals


def _draw_histogram(ax: Axes, values: Floats, xlabel: str, logarithmic: bool = True) -> None:
    ax.set_xlabel(xlabel)
    found = distribution(values)
    if found.minimum == found.maximum:  # a bar without a width says less than its number
        ax.text(0.5, 0.5, f"{found.minimum:g} for all", transform=ax.transAxes, ha="center", va="center")
        ax.set_xticks([])
        ax.set_yticks([])
        return
    if logarithmic and found.scale == "log":
        ax.set_xscale("log")
        ax.stairs(found.counts, found.edges, fill=True, color=FILL)
    else:
        counts, edges = np.histogram(values, 40)
        ax.stairs(counts, edges, fill=True, color=FILL)
    add_grid(ax, "y")
