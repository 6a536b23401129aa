"""Figures of the learners: how accurate the forest is, what it looks at, and how the agent's training went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core.formatting import format_interval
from hybrid_scheduler.core.metrics import bootstrap
from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.learning.insight import CurvePoint
from hybrid_scheduler.registry import how_to_install
from hybrid_scheduler.reports.data import Forests, ensure_forests
from hybrid_scheduler.reports.figures.bars import whiskers
from hybrid_scheduler.reports.style import INK, LIMIT, add_grid, apply_style, get_axes, get_panels, plot_styles
from hybrid_scheduler.studies.results import to_csv

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.studies.compare import Result

SMOOTHING = 50  # training steps over which losses are averaged


@apply_style
def plot_model_accuracy(found: Result | Forests, ax: Axes | None = None) -> Axes:
    """Draw predicted over best GPU shares of unseen tasks, and beside it a histogram of the errors."""
    forests = ensure_forests(found)
    first = forests[0]
    fit, errors = get_panels(ax, 2, 2.6)
    colour = plot_styles(["hybrid_ml"])["hybrid_ml"].colour
    fit.plot([0, 1], [0, 1], color=LIMIT, linewidth=1.2, linestyle=(0, (4, 2)))
    fit.plot(first.actual, first.predicted, "D", color=colour, markersize=2.8, alpha=0.3, rasterized=True)
    fit.set_xlabel("best GPU share (0 to 1)")
    fit.set_ylabel("predicted GPU share (0 to 1)")
    fit.set_title(describe_accuracy(forests).replace(", mean", "\nmean"), fontsize=8.5)
    error = first.predicted - first.actual
    errors.hist(error, bins=np.linspace(-1, 1, 41).tolist(), color=colour, edgecolor="white", linewidth=0.4)
    errors.axvline(0, color=LIMIT, linewidth=1.2, linestyle=(0, (4, 2)))
    errors.set_yscale("symlog", linthresh=10)
    errors.set_xlabel("predicted − best share (0 to 1)")
    errors.set_ylabel(f"unseen tasks (number of {len(error):,})", color=INK)
    wrong_side = np.mean(np.abs(error) > 0.5)
    errors.set_title(f"seed {first.seed}: {wrong_side:.1%} of tasks\non the wrong side", fontsize=8.5)
    add_grid(errors, "y")
    return fit


def describe_accuracy(forests: Forests) -> str:
    """Return R² and mean absolute error over the seeds, with intervals."""
    r2, mae = bootstrap([each.r2 for each in forests]), bootstrap([each.mae for each in forests])
    return f"R² {format_interval(r2, 'R²')}, mean error {format_interval(mae, 'share')}"


@apply_style
def plot_feature_importance(found: Result | Forests, ax: Axes | None = None) -> Axes:
    """Draw one bar per feature with its interval over forests of several seeds; they add up to 100 %."""
    forests = ensure_forests(found)
    rows = {name: bootstrap([each.importance[name] for each in forests]) for name in forests[0].importance}
    rows = dict(sorted(rows.items(), key=lambda pair: -pair[1].mean))
    ax = get_axes(ax, 0.75 + 0.27 * len(rows))
    colour = plot_styles(["hybrid_ml"])["hybrid_ml"].colour
    for position, each in enumerate(rows.values()):
        ax.barh(
            position, 100 * each.mean, xerr=whiskers(each, 100), height=0.66, color=colour, ecolor=INK, capsize=2.5
        )
        end = (100 * each.high, position)
        ax.annotate(f"{each.mean:.1%}", end, (5, 0), textcoords="offset points", va="center", fontsize=8)
    ax.set_yticks(range(len(rows)), [name.replace("_", " ") for name in rows])
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    ax.set_xlim(0, 115 * max(each.high for each in rows.values()))
    ax.set_xlabel("importance in the forest (% of the variance explained), simulated")
    return ax


@apply_style
def plot_learning_curve(curve: Sequence[CurvePoint], ax: Axes | None = None) -> Axes:
    """Draw the agent's mean reward over tasks, and on a second axis smoothed losses and the exploration rate."""
    ax = get_axes(ax, 3.4)
    colour = plot_styles(["rl_agent"])["rl_agent"].colour
    tasks = [point.tasks for point in curve]
    ax.plot(tasks, [point.reward for point in curve], color=colour, label="mean reward")
    ax.set_xlabel("tasks seen (number)")
    ax.set_ylabel("mean reward (typical tasks)")
    other = ax.twinx()
    other.plot(tasks, _smooth([point.loss for point in curve]), color="#a8431f", linestyle="--", label="loss")
    other.plot(tasks, [point.epsilon for point in curve], color="#0c6b45", linestyle=":", label="exploration ε")
    other.set_yscale("log")
    other.set_ylabel("loss (typical tasks²), exploration ε (share)")
    ax.set_title("learning of rl_agent, simulated")
    handles = [*ax.get_lines(), *other.get_lines()]
    ax.legend(handles=handles, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3)
    other.spines["right"].set_visible(True)
    return ax


def _smooth(values: list[float]) -> list[float]:
    """Return the running mean of up to `SMOOTHING` values."""
    sums = np.cumsum(np.concatenate([[0.0], values]))
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(0, ends - SMOOTHING)
    smoothed: list[float] = ((sums[ends] - sums[starts]) / (ends - starts)).tolist()
    return smoothed


def curve_to_csv(curve: Sequence[CurvePoint]) -> str:
    """Return a training curve as CSV; floats read back bit for bit."""
    return to_csv(CurvePoint._fields, ([repr(value) for value in point] for point in curve))


def write_tensorboard(
    curve: Sequence[CurvePoint], directory: str | Path, weights: Mapping[str, npt.NDArray[np.float32]]
) -> None:
    """Write a training curve as TensorBoard events, and the weights of every layer in the end as histograms."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise SchedulerError(
            f"TensorBoard is not installed: {how_to_install('tensorboard')}, or use --curve for CSV and PNG"
        ) from None
    with SummaryWriter(str(directory)) as writer:
        for point in curve:
            for name in ("loss", "epsilon", "reward"):
                writer.add_scalar(name, getattr(point, name), point.tasks)
        for name, values in weights.items():
            writer.add_histogram(f"weights/{name}", values, curve[-1].tasks)
