"""How figures look: one colour, mark, dash and hatch per scheduler, as in the dashboard, and never colour alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from hybrid_scheduler import registry
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import written_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")
Dash = tuple[float, tuple[float, ...] | None]
SOLID: Dash = (0.0, None)
WIDTH = 6.6
"""Inches: the width of the text on a page, so that a printed figure keeps its size of letters."""
INK, SOFT, LIMIT, GRID = "#1b2430", "#566273", "#b3261e", "#d5dae1"
STYLE: dict[Any, Any] = {
    "font.size": 8.5,
    "axes.labelsize": 8.5,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.edgecolor": "#5a6675",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "hatch.linewidth": 0.7,
    "lines.linewidth": 1.4,
    "lines.markersize": 5.5,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
}


@dataclass(frozen=True)
class Look:
    """How one scheduler is drawn."""

    colour: str
    mark: str
    dash: Dash = SOLID
    hatch: str = ""


def _dashed(*lengths: float) -> Dash:
    return (0.0, lengths)


KNOWN = {
    "hybrid_ml": Look("#0b7a96", "D"),
    "rl_agent": Look("#6a35d0", "h", _dashed(6, 2)),
    "greedy": Look("#7d6500", "^", _dashed(4, 3)),
    "round_robin": Look("#a8431f", "s", _dashed(1.5, 2)),
    "random": Look("#586475", "o", _dashed(1, 3)),
    "oracle": Look("#101a2b", "*", _dashed(5, 2, 1.5, 2)),
    "eft": Look("#0c6b45", "X", _dashed(4, 2)),
    "price": Look("#a3216b", "p", _dashed(6, 2, 1, 2, 1, 2)),
    "min_min": Look("#8a4f00", "v", _dashed(3, 2)),
    "max_min": Look("#1f4fb0", "P", _dashed(5, 1.5)),
    "sufferage": Look("#566600", "8", _dashed(3, 1, 1, 1)),
    "heft": Look("#a92222", ">", _dashed(2, 1)),
    "peft": Look("#00636b", "<", _dashed(7, 3)),
}
"""The dashboard's light colours: each has at least 4.5 : 1 against white, so letters may use them too."""
NEXT = (
    Look("#0c6b45", "X", _dashed(4, 2)),
    Look("#a3216b", "p", _dashed(6, 2)),
    Look("#8a4f00", "v", _dashed(3, 2)),
    Look("#1f4fb0", "P", _dashed(5, 1.5)),
    Look("#566600", "8", _dashed(3, 1, 1, 1)),
    Look("#a92222", ">", _dashed(2, 1)),
    Look("#00636b", "<", _dashed(7, 3)),
    Look("#4a3b8f", "d", _dashed(1, 1)),
)
"""For plug-ins, options and series of experiments, in the order in which they come."""


def looks(names: Iterable[str]) -> dict[str, Look]:
    """Return a look for every name, no two alike while there are any left; who knows true times is hatched."""
    asked = list(names)
    found = {name: KNOWN[name] for name in asked if name in KNOWN}
    free = [each for each in NEXT if each.colour not in {look.colour for look in found.values()}] or list(NEXT)
    for number, name in enumerate(name for name in asked if name not in KNOWN):
        base = KNOWN.get(name.partition(":")[0])
        taken = base is None or base in found.values()
        found[name] = free[number % len(free)] if taken or base is None else base
    return {name: _hatched(name, found[name]) for name in asked}


def _hatched(name: str, look: Look) -> Look:
    entry = registry.schedulers.table.get(name.partition(":")[0])
    sees = entry is not None and entry.sighted == "yes"
    return Look(look.colour, look.mark, look.dash, "////" if sees else "")


MODEL_FILE = re.compile(r":model=(?:[^:]*/)?([^:/]+?)(?:\.\w+)?(?=:|$)")
"""The option that names a model file: its folder and ending say nothing about a policy."""


def label(name: str, widest: int = 24) -> str:
    """Return a scheduler's name as a figure or table shows it: no folders, not too long."""
    head, colon, rest = name.partition(".py")
    short = f"{Path(head).name}{colon}{rest}" if colon else name
    short = MODEL_FILE.sub(r":model=\1", short)
    return short if len(short) <= widest else short[: widest - 1] + "…"


def styled(function: Callable[Asked, Answer]) -> Callable[Asked, Answer]:
    """Draw in the house style; axes that a caller brings keep what the caller set before."""

    @wraps(function)
    def drawn(*args: Asked.args, **kwargs: Asked.kwargs) -> Answer:
        import matplotlib

        with matplotlib.rc_context(STYLE):
            return function(*args, **kwargs)

    return drawn


def axes(ax: Axes | None, height: float, width: float = WIDTH) -> Axes:
    """Return the caller's axes, or new ones in a figure of their own."""
    if ax is not None:
        return ax
    made: Axes = new_figure(height, width).subplots()
    return made


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """Return an empty figure that makes room for its labels by itself."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def panels(ax: Axes | None, count: int, height: float) -> list[Axes]:
    """Return axes side by side: a figure of their own, or in the place of the caller's axes."""
    if ax is None:
        return list(new_figure(height).subplots(1, count, squeeze=False)[0])
    place, figure = ax.get_subplotspec(), ax.get_figure(root=True)
    if place is None or figure is None:
        raise InputError("axes for several panels must come from subplots: leave ax out or make it with subplots()")
    ax.remove()
    grid = place.subgridspec(1, count)
    return [figure.add_subplot(grid[0, column]) for column in range(count)]


def light_grid(ax: Axes, axis: str) -> None:
    """Draw thin lines behind the data, across one axis ('x' or 'y')."""
    ax.grid(axis="x" if axis == "x" else "y", color=GRID, linewidth=0.6)


def log_x(ax: Axes, values: Sequence[float]) -> None:
    """Make the x axis logarithmic, with plain numbers and as many of them as stay apart."""
    from matplotlib.ticker import LogLocator, NullFormatter

    known = [value for value in values if value > 0]
    wide = not known or max(known) > 100 * min(known)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())


def legend_beside(ax: Axes, names: Sequence[str]) -> None:
    """Put the legend right of the axes, where it hides nothing."""
    if len(names) > 1:
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=3.2, borderaxespad=0.4)


def add_title(ax: Axes, words: str) -> None:
    """Write above a figure what it is about, for one that will stand alone."""
    figure = _figure_of(ax)
    figure.suptitle(words, x=0.01, ha="left", fontsize=8.5, color=SOFT)


FORMATS = ("png", "svg", "pdf")


def save_figure(ax: Axes, path: str | Path) -> None:
    """Write a figure to a file; the ending gives the format. The same figure gives the same bytes."""
    figure = _figure_of(ax)
    kind = Path(path).suffix.lstrip(".") or "png"
    known = figure.canvas.get_supported_filetypes()
    if kind not in known:
        raise InputError(f"{path}: no figure can be written as '{kind}', choose one of {', '.join(sorted(known))}")
    with written_whole(path) as scratch:
        _write(figure, scratch, kind)


def figure_svg(ax: Axes) -> bytes:
    """Return a figure as SVG."""
    out = BytesIO()
    _write(_figure_of(ax), out, "svg")
    return out.getvalue()


def _figure_of(ax: Axes) -> Figure:
    figure = ax.get_figure(root=True)
    if figure is None:
        raise InputError("these axes belong to no figure: draw them anew")
    return figure


def _write(figure: Figure, target: Path | BytesIO, kind: str) -> None:
    import matplotlib

    # Dates and random ids would make every copy another file.
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with matplotlib.rc_context({"svg.hashsalt": "hms", "pdf.fonttype": 42}):
        figure.savefig(target, dpi=200, format=kind, metadata=undated)
