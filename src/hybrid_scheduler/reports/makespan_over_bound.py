"""Figure: how far every scheduler is from the certified bound."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import written_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hybrid_scheduler.race import Result

BAR, LIMIT = "#0072B2", "#D55E00"  # two colours of the Okabe-Ito palette, distinct to every eye


def plot_makespan_over_bound(result: Result, ax: Axes | None = None) -> Axes:
    """Draw one bar per scheduler, best on top, with its interval; no schedule can be left of the line at 1."""
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(figsize=(7, 1.2 + 0.36 * len(result.comparison.schedulers)), layout="constrained").subplots()
    ranking = result.ranking()
    intervals = [result.interval(spec, "makespan_over_bound") for spec in ranking]
    means = [each.mean for each in intervals]
    errors = [[each.mean - each.low for each in intervals], [each.high - each.mean for each in intervals]]
    positions = range(len(ranking))
    ax.barh(positions, means, xerr=errors, color=BAR, height=0.62, error_kw={"elinewidth": 1.2, "capsize": 3})
    ax.axvline(1.0, color=LIMIT, linewidth=1.5, linestyle="--")
    ax.annotate(
        "certified bound",
        (1.0, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(3, 3),
        textcoords="offset points",
        color=LIMIT,
        fontsize=9,
    )
    for position, each in zip(positions, intervals, strict=True):
        ax.annotate(
            f"{each.mean:.3f}",
            (each.high, position),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    ax.set_yticks(positions, ranking)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.12 * max(each.high for each in intervals))
    ax.set_xlabel("makespan / certified bound (simulated)")
    comparison = result.comparison
    load = f", load {comparison.source.load:g}" if comparison.source.load is not None else ""
    seeds = f"{len(comparison.seeds)} seed{'s' if len(comparison.seeds) > 1 else ''}"
    title = f"{Path(comparison.source.name).name}{load}, {comparison.cluster.describe()}, {seeds}"
    ax.set_title(title, fontsize=10, loc="left", pad=18)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def save_figure(ax: Axes, path: str | Path) -> None:
    """Write a figure to a file; the ending gives the format."""
    figure = ax.get_figure(root=True)
    if figure is not None:
        kind = Path(path).suffix.lstrip(".") or "png"
        known = figure.canvas.get_supported_filetypes()
        if kind not in known:
            raise InputError(
                f"{path}: no figure can be written as '{kind}', choose one of {', '.join(sorted(known))}"
            )
        with written_whole(path) as scratch:
            figure.savefig(scratch, dpi=150, format=kind)
