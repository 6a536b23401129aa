"""What the bar figures share: one bar per scheduler, best on top, its interval and its number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hybrid_scheduler.core.metrics import MEASURES, Interval
from hybrid_scheduler.reports.numbers import plain
from hybrid_scheduler.reports.style import INK, LIMIT, axes, label, looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.compare import Result


def height_of(bars: int) -> float:
    """Return inches for that many bars."""
    return 0.7 + 0.235 * max(bars, 2)


def draw_bars(rows: Mapping[str, Interval], unit: str, xlabel: str, ax: Axes | None = None) -> Axes:
    """Draw horizontal bars in the order of the rows."""
    ax = axes(ax, height_of(len(rows)))
    shown = looks(rows)
    for position, (name, each) in enumerate(rows.items()):
        look = shown[name]
        ax.barh(position, each.mean, height=0.66, color=look.colour, hatch=look.hatch, edgecolor="white", linewidth=0)
        if each.high > each.low:
            error = [[each.mean - each.low], [each.high - each.mean]]
            ax.errorbar(each.mean, position, xerr=error, color=INK, elinewidth=1.1, capsize=2.5, linestyle="none")
        beside = (max(each.high, 0.0), position)
        write_beside(ax, plain(each.mean, unit), beside)
    ax.set_yticks(range(len(rows)), [label(name) for name in rows])
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    _leave_room(ax, rows, unit)
    ax.locator_params(axis="x", nbins=5)
    ax.set_xlabel(xlabel)
    return ax


def write_beside(ax: Axes, words: str, place: tuple[float, float]) -> None:
    """Write a number right of a bar or point, on white so that no line crosses it."""
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    ax.annotate(words, place, (6, 0), textcoords="offset points", va="center", fontsize=8, bbox=paper, zorder=4)


def _leave_room(ax: Axes, rows: Mapping[str, Interval], unit: str) -> None:
    """Widen the axis so that the number beside the longest bar stays inside."""
    longest = max((each.high for each in rows.values()), default=1.0)
    letters = max((len(plain(each.mean, unit)) for each in rows.values()), default=4)
    ax.set_xlim(0, max(longest, 1e-12) * (1.05 + 0.022 * letters))


def draw_measure(result: Result, name: str, xlabel: str = "", ax: Axes | None = None) -> Axes:
    """Draw one measure of a comparison, best on top."""
    about = MEASURES[name]
    order = result.ranking(name)
    rows = {spec: result.interval(spec, name) for spec in (order if about.less_is_better else order[::-1])}
    words = xlabel or name.replace("_", " ")
    return draw_bars(rows, about.unit, f"{words}{_unit(about.unit)}, {result.comparison.how}", ax)


def _unit(unit: str) -> str:
    return " (ratio)" if unit == "×" else f" ({unit})"


def mark_limit(ax: Axes, place: float, words: str) -> None:
    """Draw a dashed line that says what it is, above the bars."""
    ax.axvline(place, color=LIMIT, linewidth=1.3, linestyle=(0, (4, 2)), zorder=3)
    where = (place, 1.0)
    axis = ax.get_xaxis_transform()
    ax.annotate(words, where, (3, 2), xycoords=axis, textcoords="offset points", color=LIMIT, fontsize=8)
