"""Figure: what the tasks are like: sizes, intensity against memory, and where the work is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.reports.material import Replay, replayed
from hybrid_scheduler.reports.style import INK, light_grid, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.core.tasks import Floats, Tasks
    from hybrid_scheduler.studies.compare import Result

FILL = "#8fa3b8"


def share_of_largest(work: Floats, largest: float = 0.1) -> float:
    """Return the share of all work that is in the largest tasks, a tenth of them by default."""
    ordered = np.sort(work)[::-1]
    return float(ordered[: max(1, round(largest * len(ordered)))].sum() / ordered.sum())


@styled
def plot_workload(found: Result | Replay, ax: Axes | None = None) -> Axes:
    """Draw three panels: histogram of sizes, intensity over memory, and the share of work in the longest tasks."""
    tasks = replayed(found).tasks
    sizes, kinds, work = panels(ax, 3, 2.5)
    _sizes(tasks, sizes)
    kinds.plot(
        tasks.memory_required, tasks.compute_intensity, ".", color=INK, markersize=2.5, alpha=0.35, rasterized=True
    )
    kinds.set_xlabel("memory (MB)")
    kinds.set_ylabel("compute intensity (0 to 1)")
    kinds.set_ylim(-0.03, 1.03)
    _work(tasks, work)
    return sizes


def _sizes(tasks: Tasks, ax: Axes) -> None:
    low, high = float(tasks.size.min()), float(tasks.size.max())
    bins = np.geomspace(low, high * 1.0001, 21) if high > 10 * low else np.linspace(low * 0.999, high * 1.001, 21)
    ax.hist(tasks.size, bins=bins.tolist(), color=FILL, edgecolor="white", linewidth=0.5)
    if high > 10 * low:
        ax.set_xscale("log")
    ax.set_xlabel("size N (units)")
    ax.set_ylabel("tasks (number)")
    light_grid(ax, "y")


def _work(tasks: Tasks, ax: Axes) -> None:
    ordered = np.sort(tasks.duration_estimate)[::-1]
    shares = np.linspace(0, 100, len(ordered) + 1)
    done = 100 * np.concatenate([[0.0], np.cumsum(ordered)]) / ordered.sum()
    ax.plot(shares, done, color=INK)
    ax.plot([0, 100], [0, 100], color=FILL, linewidth=1, linestyle=(0, (2, 2)))
    tenth = 100 * share_of_largest(tasks.duration_estimate)
    ax.plot([10], [tenth], "o", color=INK, markersize=4)
    words, paper = f"longest 10 %:\n{tenth:.0f} % of work", {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    ax.annotate(words, (10, tenth), (0.98, 0.08), textcoords="axes fraction", ha="right", fontsize=8, bbox=paper)
    ax.set_xlabel("longest tasks (%)")
    ax.set_ylabel("their share of work (%)")
    ax.set_ylim(0, 103)
