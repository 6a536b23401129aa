"""Figure and files: how an agent's learning went."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.reports.style import axes, looks, styled
from hybrid_scheduler.schedulers.rl_agent import CurvePoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMOOTH = 50  # lessons


@styled
def plot_learning_curve(curve: Sequence[CurvePoint], ax: Axes | None = None) -> Axes:
    """Draw the mean reward over tasks, smoothed losses beside it, and how much was explored."""
    ax = axes(ax, 3.4)
    colour = looks(["rl_agent"])["rl_agent"].colour
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
    width = min(SMOOTH, max(1, len(values)))
    sums = np.cumsum(np.concatenate([[0.0], values]))
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(0, ends - width)
    smoothed: list[float] = ((sums[ends] - sums[starts]) / (ends - starts)).tolist()
    return smoothed


def curve_csv(curve: Sequence[CurvePoint]) -> str:
    """Return the curve as CSV, floats to the last bit."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CurvePoint._fields)
    writer.writerows([[repr(value) for value in point] for point in curve])
    return out.getvalue()


def to_tensorboard(curve: Sequence[CurvePoint], directory: str | Path) -> None:
    """Write the curve as TensorBoard events."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise SchedulerError(
            "TensorBoard is not installed: pip install tensorboard, or use --curve for CSV and PNG"
        ) from None
    with SummaryWriter(str(directory)) as writer:
        for point in curve:
            for name in ("loss", "epsilon", "reward"):
                writer.add_scalar(name, getattr(point, name), point.tasks)
