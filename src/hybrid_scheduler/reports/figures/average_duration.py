"""Figure: how long a task takes on average, and how much of that it really runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_scheduler.reports.figures.bars import height_of, write_beside
from hybrid_scheduler.reports.numbers import quantity
from hybrid_scheduler.reports.style import axes, label, light_grid, log_x, looks, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.compare import Result


@styled
def plot_average_duration(result: Result, ax: Axes | None = None) -> Axes:
    """Draw the mean time from arrival to finish with its interval, and left of it the mean time of execution."""
    order = result.ranking("mean_turnaround")
    ax = axes(ax, height_of(len(order)))
    shown = looks(result.comparison.schedulers)
    for position, spec in enumerate(order):
        whole, runs = (result.interval(spec, name) for name in ("mean_turnaround", "mean_execution"))
        look = shown[spec]
        error = [[whole.mean - whole.low], [whole.high - whole.mean]]
        ax.plot([runs.mean, whole.mean], [position, position], color=look.colour, linewidth=1)
        ax.plot(runs.mean, position, marker="|", markersize=9, color=look.colour, markeredgewidth=1.6)
        ax.errorbar(
            whole.mean, position, xerr=error, color=look.colour, marker=look.mark, capsize=2.5, markersize=6.5
        )
        write_beside(ax, quantity(whole.mean, "s"), (whole.high, position))
    ax.set_yticks(range(len(order)), [label(name) for name in order])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(order) - 0.5, -0.5)
    _scale(ax, [result.interval(spec, name).mean for spec in order for name in ("mean_turnaround", "mean_execution")])
    light_grid(ax, "x")
    ax.set_xlabel(f"mean time from arrival to finish (s), {result.comparison.how}; the bar | is how long a task runs")
    return ax


def _scale(ax: Axes, values: list[float]) -> None:
    """Seconds beside minutes: a logarithmic axis where values differ by more than ten times."""
    known = [value for value in values if value > 0]
    if known and max(known) > 10 * min(known):
        log_x(ax, known)
        ax.set_xlim(min(known) / 1.5, max(known) * 4)
    elif known:
        ax.set_xlim(0, 1.3 * max(known))
