"""Figure: how much later each scheduler ends than the best, with paired intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_scheduler.core.metrics import Interval
from hybrid_scheduler.reports.figures.bars import height_of, write_beside
from hybrid_scheduler.reports.numbers import percent
from hybrid_scheduler.reports.style import LIMIT, axes, label, light_grid, looks, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.compare import Result


def behind_the_best(result: Result) -> dict[str, Interval]:
    """Return the paired difference of every other scheduler to the best, as a share of the best."""
    name = result.time
    best, *others = result.ranking(name)
    base = result.interval(best, name).mean
    gaps = {spec: result.difference(spec, best, name) for spec in others}
    return {spec: Interval(gap.mean / base, gap.low / base, gap.high / base) for spec, gap in gaps.items()}


@styled
def plot_differences(result: Result, ax: Axes | None = None) -> Axes:
    """Draw one point per scheduler with its interval; an interval that touches the line is no clear difference."""
    best, gaps = result.ranking(result.time)[0], behind_the_best(result)
    ax = axes(ax, height_of(len(gaps)))
    shown = looks(result.comparison.schedulers)
    for position, (name, each) in enumerate(gaps.items()):
        error = [[100 * (each.mean - each.low)], [100 * (each.high - each.mean)]]
        look = shown[name]
        ax.errorbar(
            100 * each.mean, position, xerr=error, color=look.colour, marker=look.mark, capsize=3, linestyle="none"
        )
        words = percent(each.mean) + ("" if each.excludes_zero() else " (not clear)")
        write_beside(ax, words, (100 * each.high, position))
    ax.axvline(0, color=LIMIT, linewidth=1.3, linestyle=(0, (4, 2)))
    _scale(ax, gaps)
    ax.set_yticks(range(len(gaps)), [label(name) for name in gaps])
    ax.set_ylim(max(len(gaps), 1) - 0.5, -0.5)
    light_grid(ax, "x")
    ax.set_xlabel(
        f"{result.time.replace('_', ' ')} longer than {label(best)} (%), paired by seed, {result.comparison.how}"
    )
    return ax


def _scale(ax: Axes, gaps: dict[str, Interval]) -> None:
    """Per cent beside multiples: small gaps stay visible on an axis that is linear near 0."""
    highest = 100 * max((each.high for each in gaps.values()), default=1.0)
    lowest = 100 * min((each.low for each in gaps.values()), default=0.0)
    near = 100 * min((abs(each.mean) for each in gaps.values() if each.mean), default=1.0)
    if highest > 50 * max(near, 0.5):
        ax.set_xscale("symlog", linthresh=1.0, linscale=0.5)
        ax.set_xlim(min(lowest * 2, -0.5), highest * 8)
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    else:
        ax.set_xlim(min(1.1 * lowest, -0.03 * highest), max(1.3 * highest, 0.1))
