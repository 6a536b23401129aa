"""Bar charts: one bar per scheduler, best on top, with its 95 % interval and its value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hybrid_scheduler.core.formatting import format_value
from hybrid_scheduler.core.metrics import MEASURES, Interval
from hybrid_scheduler.reports.style import INK, LIMIT, apply_style, get_axes, label, plot_styles, set_log_x

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.compare import Result


MOST_LINEAR = 20.0  # ratios to a bound beyond which the axis is logarithmic


@dataclass(frozen=True)
class MeasureBars:
    """A bar chart of one measure of a comparison; calling it draws the chart and returns the axes."""

    measure: str
    axis: str  # label of the axis; {bound} becomes the bound's name
    limit: str = ""  # label of a dashed line at 1, if there is one

    @apply_style
    def __call__(self, result: Result, ax: Axes | None = None) -> Axes:
        """Draw one bar per scheduler, best on top, with its interval."""
        bound = "bound for measured times" if result.comparison.measured else "certified bound"
        about, ranking = MEASURES[self.measure], result.ranking(self.measure)
        best_first = ranking if about.less_is_better else ranking[::-1]
        rows = {spec: result.interval(spec, self.measure) for spec in best_first}
        unit = "ratio" if about.unit == "×" else about.unit
        ax = draw_bars(rows, about.unit, f"{self.axis.format(bound=bound)} ({unit}), {result.comparison.origin}", ax)
        if self.limit:
            mark_limit(ax, 1.0, self.limit.format(bound=bound))
            highest = max(each.high for each in rows.values())
            if highest > MOST_LINEAR:  # a queue that grows without end would hide all others
                set_log_x(ax, [1.0, highest])
                ax.set_xlim(0.8, highest**1.3)
        return ax


plot_makespan_over_bound = MeasureBars("makespan_over_bound", "makespan / {bound}", limit="{bound}")
plot_time_over_best = MeasureBars(
    "execution_over_best", "time of all tasks / closed-form optimum", limit="best splits"
)
plot_turnaround_over_bound = MeasureBars("turnaround_over_bound", "mean turnaround / {bound}", limit="{bound}")
plot_makespan = MeasureBars("makespan", "makespan")
plot_energy = MeasureBars("energy", "energy of the run")
plot_cost = MeasureBars("cost", "cost of the run")
plot_load_balance = MeasureBars("load_balance", "load balance of the GPUs")


def plot_score(result: Result, ax: Axes | None = None) -> Axes:
    """Draw the measure that decides the comparison."""
    charts = (plot_makespan_over_bound, plot_turnaround_over_bound, plot_time_over_best)
    return next(each for each in charts if each.measure == result.score)(result, ax)


@apply_style
def plot_speed_up(result: Result, ax: Axes | None = None) -> Axes:
    """Draw one bar per scheduler, fastest on top, with the interval of the paired ratios."""
    ax = draw_bars(compute_speed_ups(result), "×", f"speed-up (ratio), {result.comparison.origin}", ax)
    mark_limit(ax, 1.0, label(find_baseline(result)))
    return ax


def find_baseline(result: Result) -> str:
    """Return round robin, or where it does not take part the slowest scheduler."""
    specs = result.comparison.schedulers
    return "round_robin" if "round_robin" in specs else result.ranking(result.time)[-1]


def compute_speed_ups(result: Result) -> dict[str, Interval]:
    """Return the speed-up of every scheduler over the baseline, paired by seed, fastest first."""
    base = find_baseline(result)
    speed_ups = {spec: result.speedup(spec, base) for spec in result.comparison.schedulers}
    return dict(sorted(speed_ups.items(), key=lambda pair: -pair[1].mean))


def draw_bars(rows: Mapping[str, Interval], unit: str, xlabel: str, ax: Axes | None = None) -> Axes:
    """Draw horizontal bars in the order of the rows."""
    ax = get_axes(ax, bars_height(len(rows)))
    styles = plot_styles(rows)
    for position, (name, each) in enumerate(rows.items()):
        style = styles[name]
        ax.barh(
            position, each.mean, height=0.66, color=style.colour, hatch=style.hatch, edgecolor="white", linewidth=0
        )
        if each.high > each.low:
            ax.errorbar(
                each.mean, position, xerr=whiskers(each), color=INK, elinewidth=1.1, capsize=2.5, linestyle="none"
            )
        annotate_value(ax, format_value(each.mean, unit), (max(each.high, 0.0), position))
    ax.set_yticks(range(len(rows)), [label(name) for name in rows])
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    longest = max((each.high for each in rows.values()), default=1.0)
    letters = max((len(format_value(each.mean, unit)) for each in rows.values()), default=4)
    # The value beside the longest bar has to stay inside the axes.
    ax.set_xlim(0, max(longest, 1e-12) * (1.05 + 0.022 * letters))
    ax.locator_params(axis="x", nbins=5)
    ax.set_xlabel(xlabel)
    return ax


def bars_height(bars: int) -> float:
    """Return the height in inches of a chart with that many bars."""
    return 0.7 + 0.235 * max(bars, 2)


def whiskers(each: Interval, scale: float = 1.0) -> list[list[float]]:
    """Return the distances from the mean to both ends of an interval, as `errorbar` takes them."""
    return [[scale * (each.mean - each.low)], [scale * (each.high - each.mean)]]


def annotate_value(ax: Axes, text: str, position: tuple[float, float]) -> None:
    """Write a value right of a bar or point, on white so that no line crosses it."""
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    ax.annotate(text, position, (6, 0), textcoords="offset points", va="center", fontsize=8, bbox=box, zorder=4)


def mark_limit(ax: Axes, x: float, text: str) -> None:
    """Draw a dashed vertical line with its name above the axes."""
    ax.axvline(x, color=LIMIT, linewidth=1.3, linestyle=(0, (4, 2)), zorder=3)
    top = ax.get_xaxis_transform()
    ax.annotate(text, (x, 1.0), (3, 2), xycoords=top, textcoords="offset points", color=LIMIT, fontsize=8)
