"""Figure: time against energy, and who cannot be beaten in one without losing in the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_scheduler.core.metrics import Interval
from hybrid_scheduler.reports.style import axes, label, light_grid, log_x, looks, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.compare import Result
    from hybrid_scheduler.studies.experiments import Study

Point = tuple[Interval, Interval]
TIME, COSTS = "mean_turnaround", "energy"


def points_of(found: Result | Study) -> dict[str, Point]:
    """Return time and energy of every scheduler of a comparison, or of every setting of an experiment."""
    from hybrid_scheduler.studies.compare import Result

    if isinstance(found, Result):
        specs = found.comparison.schedulers
        return {spec: (found.interval(spec, TIME), found.interval(spec, COSTS)) for spec in specs}
    return {
        f"{series}, {found.x_name} {x:g}": (time, found.points(series, COSTS)[x])
        for series in found.series
        for x, time in found.points(series, TIME).items()
    }


def front(points: dict[str, Point]) -> list[str]:
    """Return who is on the front, fastest first: nobody is at least as good in both and better in one."""
    order = sorted(points, key=lambda name: (points[name][0].mean, points[name][1].mean))
    kept: list[str] = []
    for name in order:
        if not kept or points[name][1].mean < points[kept[-1]][1].mean:
            kept.append(name)
    return kept


@styled
def plot_pareto(found: Result | Study, ax: Axes | None = None) -> Axes:
    """Draw energy over mean turnaround with both intervals, and the front as a line."""
    points = points_of(found)
    ax = axes(ax, 2.75)
    shown, best = looks(points), front(points)
    for name, (time, energy) in points.items():
        look = shown[name]
        ax.errorbar(
            time.mean, energy.mean,
            xerr=[[time.mean - time.low], [time.high - time.mean]],
            yerr=[[energy.mean - energy.low], [energy.high - energy.mean]],
            color=look.colour, marker=look.mark, markersize=7, linestyle="none", elinewidth=1,
            markerfacecolor=look.colour if name in best else "white", label=label(name, 34), zorder=3,
        )  # fmt: skip
    line = [(points[name][0].mean, points[name][1].mean) for name in best]
    ax.plot(*zip(*line, strict=True), color="#5a6675", linewidth=1, linestyle=(0, (2, 2)), label="front", zorder=1)
    times = [each.mean for each, _ in points.values() if each.mean > 0]
    if times and max(times) > 10 * min(times):
        log_x(ax, times)
    ax.margins(0.08)
    light_grid(ax, "y")
    from hybrid_scheduler.studies.compare import Result

    how = found.comparison.how if isinstance(found, Result) else "simulated"
    ax.set_xlabel(f"mean time from arrival to finish (s), {how}")
    ax.set_ylabel("energy of the run (J)")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.6)
    return ax
