"""Figure: the forest's predicted GPU shares against the best ones, and its errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.core.metrics import bootstrap
from hybrid_scheduler.reports.material import Check, checked
from hybrid_scheduler.reports.numbers import with_interval
from hybrid_scheduler.reports.style import INK, LIMIT, light_grid, looks, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.compare import Result


def quality(check: Check) -> str:
    """Return R² and mean error over the seeds in words."""
    r2, mae = bootstrap([each.r2 for each in check]), bootstrap([each.mae for each in check])
    return f"R² {with_interval(r2, 'R²')}, mean error {with_interval(mae, 'share')}"


@styled
def plot_model_accuracy(found: Result | Check, ax: Axes | None = None) -> Axes:
    """Draw predicted over best shares of unseen tasks, and beside it how the errors are spread."""
    check = checked(found)
    first = check[0]
    fit, errors = panels(ax, 2, 2.6)
    colour = looks(["hybrid_ml"])["hybrid_ml"].colour
    fit.plot([0, 1], [0, 1], color=LIMIT, linewidth=1.2, linestyle=(0, (4, 2)))
    fit.plot(first.actual, first.predicted, "D", color=colour, markersize=2.8, alpha=0.3, rasterized=True)
    fit.set_xlabel("best GPU share (0 to 1)")
    fit.set_ylabel("predicted GPU share (0 to 1)")
    fit.set_title(quality(check).replace(", mean", "\nmean"), fontsize=8.5)
    wrong = first.predicted - first.actual
    errors.hist(wrong, bins=np.linspace(-1, 1, 41).tolist(), color=colour, edgecolor="white", linewidth=0.4)
    errors.axvline(0, color=LIMIT, linewidth=1.2, linestyle=(0, (4, 2)))
    errors.set_yscale("symlog", linthresh=10)
    errors.set_xlabel("predicted − best share (0 to 1)")
    errors.set_ylabel(f"unseen tasks (number of {len(wrong):,})", color=INK)
    astray = np.mean(np.abs(wrong) > 0.5)
    errors.set_title(f"seed {first.seed}: {astray:.1%} of tasks\non the wrong side", fontsize=8.5)
    light_grid(errors, "y")
    return fit
