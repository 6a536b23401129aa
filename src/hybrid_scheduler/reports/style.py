"""How figures look; the styles of schedulers are those of the registry, as in the dashboard."""

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
from hybrid_scheduler.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = ParamSpec("P")
R = TypeVar("R")
FORMATS = ("png", "svg", "pdf")
WIDTH = 6.6  # inches: the text width of a page, so that a printed figure is not scaled
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
class PlotStyle:
    """How one scheduler is drawn, as matplotlib takes it."""

    colour: str
    marker: Any
    dash: tuple[float, tuple[float, ...] | None]  # offset, and lengths of dashes and gaps; None: solid
    hatch: str


def _polygon(*points: tuple[float, float]) -> tuple[tuple[float, float], ...]:
    return (*points, points[0])


MARKERS: dict[registry.Marker, Any] = {
    "diamond": "D",
    "hexagon": "h",
    "triangle": "^",
    "square": "s",
    "circle": "o",
    "star": "*",
    "cross": "X",
    "pentagon": "p",
    "triangle_down": "v",
    "bar": "P",
    "ring": "8",
    "chevron": ">",
    "triangle_right": "<",
    "hourglass": _polygon((-0.9, 1), (0.9, 1), (-0.9, -1), (0.9, -1)),
    "parallelogram": _polygon((-0.4, 0.8), (1, 0.8), (0.4, -0.8), (-1, -0.8)),
    "bowtie": _polygon((-1, 0.9), (-1, -0.9), (1, 0.9), (1, -0.9)),
    "octagon": "H",
    "house": _polygon((0, 1), (0.9, 0.1), (0.9, -0.9), (-0.9, -0.9), (-0.9, 0.1)),
    "trapezoid": _polygon((-0.5, 0.75), (0.5, 0.75), (1, -0.75), (-1, -0.75)),
    "tee": _polygon((-1, 1), (1, 1), (1, 0.3), (0.35, 0.3), (0.35, -1), (-0.35, -1), (-0.35, 0.3), (-1, 0.3)),
    "notch": _polygon((-0.9, 0.9), (0, 0.1), (0.9, 0.9), (0.9, -0.9), (-0.9, -0.9)),
    "kite": "d",
    "arrow": _polygon((0, 1), (0.9, 0), (0.4, 0), (0.4, -1), (-0.4, -1), (-0.4, 0), (-0.9, 0)),
    "ell": _polygon((-0.9, 0.9), (-0.2, 0.9), (-0.2, -0.2), (0.9, -0.2), (0.9, -0.9), (-0.9, -0.9)),
    "steps": _polygon(
        (-0.9, -0.9), (-0.9, -0.3), (-0.3, -0.3), (-0.3, 0.3), (0.3, 0.3), (0.3, 0.9), (0.9, 0.9), (0.9, -0.9)
    ),
    "crown": _polygon((-0.9, 0.8), (-0.4, 0), (0, 0.9), (0.4, 0), (0.9, 0.8), (0.9, -0.8), (-0.9, -0.8)),
    "comb": _polygon(
        (-0.9, 0.9), (0.9, 0.9), (0.9, -0.9), (0.4, -0.9), (0.4, 0.2), (-0.4, 0.2), (-0.4, -0.9), (-0.9, -0.9)
    ),
}
"""The registry's shapes in matplotlib: its own marker that comes nearest, else the outline."""
MODEL_FILE = re.compile(r":model=(?:[^:]*/)?([^:/]+?)(?:\.\w+)?(?=:|$)")
SERIES = ("eft", "price", "min_min", "max_min", "sufferage", "heft", "peft", "cpop")
"""Schedulers whose styles are used for series that are not schedulers, while no scheduler takes them."""


def plot_styles(names: Iterable[str]) -> dict[str, PlotStyle]:
    """Return a style for every name, no two alike while there are any left; clairvoyant schedulers are hatched."""
    names = list(names)
    bases = {name: registry.split_spec(name)[0] for name in names}
    known = [name for name, base in bases.items() if base in registry.schedulers or ".py" in base]
    described = registry.describe(known)
    styles = {name: _plot_style(each) for name, each in described.items()}
    taken = {style.colour for style in styles.values()}
    spare = [_plot_style(each, hatched=False) for each in registry.describe(SERIES).values()]
    free = [style for style in spare if style.colour not in taken] or spare
    for number, name in enumerate(name for name in names if name not in styles):
        styles[name] = free[number % len(free)]
    return {name: styles[name] for name in names}


def _plot_style(each: registry.Description, hatched: bool = True) -> PlotStyle:
    style = each.style
    hatch = "////" if hatched and each.clairvoyant else ""
    return PlotStyle(style.light, MARKERS[style.marker], (0.0, style.dash or None), hatch)


def label(name: str, widest: int = 24) -> str:
    """Return a scheduler's name as a figure or table shows it: no folders, not too long."""
    head, colon, rest = name.partition(".py")
    short = f"{Path(head).name}{colon}{rest}" if colon else name
    short = MODEL_FILE.sub(r":model=\1", short)  # only the stem
    return short if len(short) <= widest else short[: widest - 1] + "…"


def apply_style(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function draw in the style of the project; the caller's own settings of matplotlib stay as they are."""

    @wraps(function)
    def draw(*args: P.args, **kwargs: P.kwargs) -> R:
        import matplotlib

        with matplotlib.rc_context(STYLE):
            return function(*args, **kwargs)

    return draw


def get_axes(ax: Axes | None, height: float, width: float = WIDTH) -> Axes:
    """Return the caller's axes, or new ones in a figure of their own."""
    if ax is not None:
        return ax
    axes: Axes = create_figure(height, width).subplots()
    return axes


def create_figure(height: float, width: float = WIDTH) -> Figure:
    """Return an empty figure that makes room for its labels."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def get_panels(ax: Axes | None, count: int, height: float) -> list[Axes]:
    """Return axes side by side: a figure of their own, or in the place of the caller's axes."""
    if ax is None:
        return list(create_figure(height).subplots(1, count, squeeze=False)[0])
    spec, figure = ax.get_subplotspec(), ax.get_figure(root=True)
    if spec is None or figure is None:
        raise InputError("axes for several panels must come from subplots: leave ax out or make it with subplots()")
    ax.remove()
    grid = spec.subgridspec(1, count)
    return [figure.add_subplot(grid[0, column]) for column in range(count)]


def add_grid(ax: Axes, axis: str) -> None:
    """Draw thin lines behind the data, across one axis ('x' or 'y')."""
    ax.grid(axis="x" if axis == "x" else "y", color=GRID, linewidth=0.6)


def set_log_x(ax: Axes, values: Sequence[float]) -> None:
    """Make the x axis logarithmic, with plain numbers and as many ticks as the range has room for."""
    from matplotlib.ticker import LogLocator, NullFormatter

    positive = [value for value in values if value > 0]
    wide = not positive or max(positive) > 100 * min(positive)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())


def add_legend(ax: Axes, names: Sequence[str]) -> None:
    """Put the legend right of the axes, where it hides nothing."""
    if len(names) > 1:
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=3.2, borderaxespad=0.4)


def add_title(ax: Axes, text: str) -> None:
    """Write a title above a figure that will stand alone."""
    _get_figure(ax).suptitle(text, x=0.01, ha="left", fontsize=8.5, color=SOFT)


def save_figure(ax: Axes, path: str | Path) -> None:
    """Write a figure to a file; the ending gives the format. The same figure gives the same bytes."""
    figure = _get_figure(ax)
    kind = Path(path).suffix.lstrip(".") or "png"
    formats = figure.canvas.get_supported_filetypes()
    if kind not in formats:
        raise InputError(f"{path}: no figure can be written as '{kind}', choose one of {', '.join(sorted(formats))}")
    with atomic_write(path) as scratch:
        _write(figure, scratch, kind)


def render_svg(ax: Axes) -> bytes:
    """Return a figure as SVG."""
    out = BytesIO()
    _write(_get_figure(ax), out, "svg")
    return out.getvalue()


def _get_figure(ax: Axes) -> Figure:
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
