"""Picture of a file of tasks: when they arrive, how long they take at best, and how much memory they need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.reports.style import light_grid, panels, styled
from hybrid_scheduler.workloads.statistics import distribution, finite_seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.core.cluster import Cluster
    from hybrid_scheduler.core.tasks import Floats, Tasks

FILL = "#8fa3b8"
UNITS = (("days", 86_400.0), ("hours", 3600.0))


@styled
def plot_trace_shape(tasks: Tasks, cluster: Cluster, ax: Axes | None = None) -> Axes:
    """Draw three panels: arrivals over time, times on the fastest class, memory."""
    arrivals, seconds, memory = panels(ax, 3, 2.5)
    unit, factor = _unit_of(float(np.ptp(tasks.arrival_time)))
    _histogram(arrivals, tasks.arrival_time / factor, f"arrival ({unit})", logarithmic=False)
    _histogram(seconds, finite_seconds(tasks, cluster), "time on the fastest class (s)")
    _histogram(memory, tasks.memory_required, "memory (MB)")
    arrivals.set_ylabel("tasks (number)")
    return arrivals


def _unit_of(span: float) -> tuple[str, float]:
    """Return a unit in which a span of seconds is a number of a few digits, and its seconds."""
    return next(((unit, seconds) for unit, seconds in UNITS if span >= 3 * seconds), ("s", 1.0))


def _histogram(ax: Axes, values: Floats, label: str, logarithmic: bool = True) -> None:
    found = distribution(values)
    if found.minimum == found.maximum:  # a bar without a width says less than its number
        ax.text(0.5, 0.5, f"{found.minimum:g} for all", transform=ax.transAxes, ha="center", va="center")
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_xlabel(label)
        return
    if logarithmic and found.scale == "log":
        ax.set_xscale("log")
        ax.stairs(found.counts, found.edges, fill=True, color=FILL)
    else:
        counts, edges = np.histogram(values, 40)
        ax.stairs(counts, edges, fill=True, color=FILL)
    ax.set_xlabel(label)
    light_grid(ax, "y")
