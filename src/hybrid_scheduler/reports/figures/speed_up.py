"""Figure: how many times faster than round robin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.core.metrics import Interval, bootstrap
from hybrid_scheduler.reports.figures.bars import draw_bars, mark_limit
from hybrid_scheduler.reports.style import label, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.compare import Result


def baseline_of(result: Result) -> str:
    """Return round robin, or where it does not take part the slowest one."""
    specs = result.comparison.schedulers
    return "round_robin" if "round_robin" in specs else result.ranking(result.time)[-1]


def speed_ups(result: Result) -> dict[str, Interval]:
    """Return the speed-up of every scheduler over the baseline, seed by seed, fastest first."""
    base = np.asarray(result.values(baseline_of(result), result.time))
    ratios = {spec: base / np.asarray(result.values(spec, result.time)) for spec in result.comparison.schedulers}
    found = {spec: bootstrap(ratio.tolist()) for spec, ratio in ratios.items()}
    return dict(sorted(found.items(), key=lambda pair: -pair[1].mean))


@styled
def plot_speed_up(result: Result, ax: Axes | None = None) -> Axes:
    """Draw one bar per scheduler, fastest on top, with the interval of the paired ratios."""
    base = label(baseline_of(result))
    ax = draw_bars(speed_ups(result), "×", f"speed-up (ratio), {result.comparison.how}", ax)
    mark_limit(ax, 1.0, base)
    return ax
