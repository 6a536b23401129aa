"""Where no policy can be: turnaround against energy and cost, and the certified front below them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.bounds.turnaround import certified_front
from hybrid_scheduler.reports.data import Replay, ensure_replay
from hybrid_scheduler.reports.style import add_grid, apply_style, get_panels, label, plot_styles, set_log_x

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.core.tasks import Floats
    from hybrid_scheduler.studies.compare import Result

AXES = {"energy": ("energy of a task (J)", 1.0), "cost": ("cost of a task (µ$)", 1e6)}
FORBIDDEN = {False: ("no schedule at all", "#aab4c0"), True: ("no schedule of whole tasks", "#dfe4ea")}
"""Name and shade of the area below a front: that of any schedule, and that of schedules of whole tasks."""
WEIGHTS, STEPS = 6, 40  # a vertex more or less cannot be seen, and each costs a search
CURVE = 24  # points of an edge, which is bent on a logarithmic axis


@apply_style
def plot_certified_front(found: Result | Replay, ax: Axes | None = None) -> Axes:
    """Draw mean turnaround of every scheduler against joules and dollars of a task; shaded is where nobody can be."""
    replay = ensure_replay(found)
    panels = get_panels(ax, 2, 2.9)
    for panel, measure in zip(panels, AXES, strict=True):
        _draw_panel(panel, replay, measure)
    panels[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.4, fontsize=7)
    return panels[0]


def collect_means(replay: Replay, measure: str) -> dict[str, tuple[float, float]]:
    """Return mean turnaround and joules or dollars of a task by scheduler, idle devices left out."""
    return {
        spec: (float(each.turnaround[each.ran].mean()), float(getattr(each, measure)[each.ran].mean()))
        for spec, each in replay.placements.items()
    }


def _draw_panel(ax: Axes, replay: Replay, measure: str) -> None:
    points, cluster = collect_means(replay, measure), next(iter(replay.placements.values())).cluster
    title, scale = AXES[measure]
    splitting = [spec for spec, each in replay.placements.items() if each.split.any()]
    fronts = {
        whole: certified_front(replay.tasks, cluster, measure, whole=whole, points=WEIGHTS, iterations=STEPS)
        for whole in (True, False)
        if whole or splitting
    }
    times = [*(time for time, _ in points.values()), *(float(front[-1, 0]) for front in fronts.values())]
    amounts = [*(amount for _, amount in points.values()), *(float(front[0, 1]) for front in fronts.values())]
    left, right, top, bottom = 0.8 * min(times), 1.25 * max(times), 1.05 * max(amounts), 0.9 * min(amounts)
    for whole, front in fronts.items():
        name, shade = FORBIDDEN[whole]
        edge = trace_front(front, right, top)
        corners = [*edge.tolist(), (right, bottom), (left, bottom), (left, top)]
        ax.fill(*np.array([(x, scale * y) for x, y in corners]).T, color=shade, linewidth=0, label=name, zorder=0)
        ax.plot(edge[:, 0], scale * edge[:, 1], color="#5a6675", linewidth=0.9, zorder=1)
    for spec, style in plot_styles(points).items():
        time, amount = points[spec]
        face = "white" if spec in splitting else style.colour
        ax.plot(
            time, scale * amount, color=style.colour, marker=style.marker, markerfacecolor=face, markersize=6.5,
            linestyle="none", label=label(spec, 20), zorder=3,
        )  # fmt: skip
    if right > 10 * left:
        set_log_x(ax, [left, right])
    ax.set_xlim(left, right)
    ax.set_ylim(scale * bottom, scale * top)
    add_grid(ax, "y")
    ax.set_xlabel(f"mean turnaround (s), {replay.origin}")
    ax.set_ylabel(title)


def trace_front(front: Floats, right: float, top: float) -> Floats:
    """Return the edge of the area where no schedule is, from the top of a picture to its right side."""
    vertices = np.array([(front[-1, 0], max(top, front[-1, 1])), *front[::-1].tolist(), (right, front[0, 1])])
    pieces = [np.linspace(one, other, CURVE) for one, other in pairwise(vertices)]
    return np.concatenate(pieces)
