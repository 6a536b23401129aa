"""Figure: who ran what when on which device, for the first tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.reports.material import Replay, replayed
from hybrid_scheduler.reports.style import INK, axes, label, looks, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.core.placements import Placements
    from hybrid_scheduler.studies.compare import Result

TASKS, ROWS = 60, 24  # what can be told apart on a page
Strip = tuple[float, float, bool]  # from, seconds, split


def strips(placements: Placements, device: int, tasks: int = TASKS) -> list[Strip]:
    """Return what a device did with the first tasks."""
    found: list[Strip] = []
    sides = (
        (placements.gpu, placements.gpu_start, placements.gpu_seconds),
        (placements.cpu, placements.cpu_start, placements.cpu_seconds),
    )
    both = (placements.gpu >= 0) & (placements.cpu >= 0)
    for where, start, seconds in sides:
        rows = np.flatnonzero(where[:tasks] == device)
        found += [(float(start[row]), float(seconds[row]), bool(both[row])) for row in rows]
    return sorted(found)


def chosen(one: Replay) -> list[str]:
    """Return the best scheduler and the worst, or only the best where devices are many."""
    ranking, devices = one.ranking, len(next(iter(one.placements.values())).cluster.devices)
    return [ranking[0]] if len(ranking) == 1 or 2 * devices > ROWS else [ranking[0], ranking[-1]]


@styled
def plot_gantt(found: Result | Replay, ax: Axes | None = None, schedulers: list[str] | None = None) -> Axes:
    """Draw a line per device for the best and the worst scheduler; hatched: the share of a split task."""
    one = replayed(found)
    names = schedulers or chosen(one)
    devices = next(iter(one.placements.values())).cluster.devices[:ROWS]
    ax = axes(ax, 0.75 + 0.19 * (len(devices) + 1) * len(names))
    shown = looks(one.placements)
    ticks: dict[int, str] = {}
    for block, name in enumerate(names):
        top = block * (len(devices) + 1)
        ax.annotate(
            label(name), (0, top - 0.72), fontsize=8.5, fontweight="bold", color=shown[name].colour, va="center"
        )
        for line, device in enumerate(devices):
            ticks[top + line] = device.name
            _draw(ax, top + line, strips(one.placements[name], device.index), shown[name].colour)
    ax.set_yticks(list(ticks), list(ticks.values()), fontsize=7.5)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) * (len(devices) + 1) - 1.4, -1.1)
    ax.set_xlim(left=0)
    number = min(TASKS, len(one.tasks))
    ax.set_xlabel(f"time (s); the first {number} tasks of seed {one.seed}, {one.how}")
    return ax


def _draw(ax: Axes, line: int, found: list[Strip], colour: str) -> None:
    for split in (False, True):
        spans = [(start, seconds) for start, seconds, both in found if both is split]
        if spans:
            inside, edge, hatch = ("white", colour, "//////") if split else (colour, "white", "")
            ax.broken_barh(spans, (line - 0.38, 0.76), facecolor=inside, edgecolor=edge, hatch=hatch, linewidth=0.6)
    if not found:
        ax.annotate("idle", (0, line), (3, 0), textcoords="offset points", va="center", fontsize=7, color=INK)
