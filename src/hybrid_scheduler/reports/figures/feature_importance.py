"""Figure: how much each feature counts in the forest's predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_scheduler.core.metrics import Interval, bootstrap
from hybrid_scheduler.reports.material import Check, checked
from hybrid_scheduler.reports.style import INK, axes, looks, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.compare import Result


def importances(check: Check) -> dict[str, Interval]:
    """Return the importance of every feature over the seeds, largest first."""
    found = {name: bootstrap([each.importance[name] for each in check]) for name in check[0].importance}
    return dict(sorted(found.items(), key=lambda pair: -pair[1].mean))


@styled
def plot_feature_importance(found: Result | Check, ax: Axes | None = None) -> Axes:
    """Draw one bar per feature with its interval over forests of several seeds; they add up to 100 %."""
    rows = importances(checked(found))
    ax = axes(ax, 0.75 + 0.27 * len(rows))
    colour = looks(["hybrid_ml"])["hybrid_ml"].colour
    for position, each in enumerate(rows.values()):
        error = [[100 * (each.mean - each.low)], [100 * (each.high - each.mean)]]
        ax.barh(position, 100 * each.mean, xerr=error, height=0.66, color=colour, ecolor=INK, capsize=2.5)
        beside = (100 * each.high, position)
        ax.annotate(f"{each.mean:.1%}", beside, (5, 0), textcoords="offset points", va="center", fontsize=8)
    ax.set_yticks(range(len(rows)), [name.replace("_", " ") for name in rows])
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    ax.set_xlim(0, 115 * max(each.high for each in rows.values()))
    ax.set_xlabel("importance in the forest (% of the variance explained), simulated")
    return ax
