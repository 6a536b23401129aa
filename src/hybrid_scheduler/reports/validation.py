"""Sim-to-real as a picture: seconds of tasks, calibrated against measured, and how the work went on in both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.reports.style import SOFT, label, light_grid, looks, panels, styled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from hybrid_scheduler.runtime.validation import Validation


@styled
def plot_validation(validations: Sequence[Validation], words: str) -> Axes:
    """Draw the first seed of every scheduler; `words` says on which devices it was measured."""
    first = {each.scheduler: each for each in reversed(validations)}
    left, right = panels(None, 2, 3.2)
    for name, look in looks(list(dict.fromkeys(each.scheduler for each in validations))).items():
        calibrated, measured = first[name].task_seconds
        left.plot(calibrated, measured, look.mark, color=look.colour, markersize=2.5, alpha=0.6)
        for placed, dash in ((first[name].simulated, (3, 2)), (first[name].measured, None)):
            ends = np.sort(placed.finish[placed.ran])
            line = right.step(ends, np.arange(1, len(ends) + 1), where="post", color=look.colour, linewidth=1.1)[0]
            line.set_label(f"{label(name)}, {'measured' if dash is None else 'simulated'}")
            if dash:
                line.set_dashes(dash)
    _diagonal(left)
    left.set_xlabel("calibrated seconds of a task")
    left.set_ylabel(f"measured seconds ({words})")
    right.set_xlabel("seconds since the start")
    right.set_ylabel("tasks ended")
    right.legend(fontsize=6.5)
    light_grid(right, "y")
    return left


def _diagonal(ax: Axes) -> None:
    ends = [min(ax.get_xlim()[0], ax.get_ylim()[0]), max(ax.get_xlim()[1], ax.get_ylim()[1])]
    low = max(ends[0], 1e-6)
    ax.plot([low, ends[1]], [low, ends[1]], color=SOFT, linewidth=0.8, linestyle=":")
    ax.set_xscale("log")
    ax.set_yscale("log")
