"""Heat maps: schedulers against devices, schedulers or instances, a grey cell with a number for each pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hybrid_scheduler.core.formatting import format_count
from hybrid_scheduler.reports.style import INK, WIDTH, apply_style, get_axes, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from hybrid_scheduler.studies.compare import Result
    from hybrid_scheduler.studies.scoreboard import Scoreboard

MAX_DEVICES = 12  # columns that stay legible on a page; more devices are averaged by class
DARKEST_RATIO = 2.0  # from this makespan ratio on, a cell of the scoreboard gets no darker


@apply_style
def plot_utilisation(result: Result, ax: Axes | None = None) -> Axes:
    """Draw schedulers against devices, the busy share in grey and in figures."""
    order, devices = result.ranking(), result.comparison.cluster.devices
    by_class = len(devices) > MAX_DEVICES
    groups = {each.name: each.device_class.name if by_class else each.name for each in devices}
    shares: dict[str, dict[str, list[float]]] = {spec: {} for spec in order}
    for outcome in result.outcomes:
        for spec in order:
            for name, share in outcome.utilisation[spec].items():
                shares[spec].setdefault(groups[name], []).append(share)
    columns = list(shares[order[0]])
    ax = get_axes(ax, 0.75 + 0.235 * max(len(order), 3))
    table = np.array([[np.mean(shares[spec][name]) for name in columns] for spec in order])
    _draw_cells(ax, table, 1.6 * max(1.0, float(table.max())), [label(name) for name in order])
    for (row, column), share in np.ndenumerate(table):
        _write_cell(ax, column, row, f"{share:.0%}", fontsize=8)
    ax.set_xticks(range(len(columns)), columns)
    ax.set_xlabel(f"device (busy share until the makespan, %), {result.comparison.origin}")
    return ax


@apply_style
def plot_win_matrix(result: Result, ax: Axes | None = None) -> Axes:
    """Draw on how many seeds the row's time was shorter than the column's; bold: the paired interval excludes 0."""
    order = result.ranking(result.time)
    ax = get_axes(ax, 1.0 + 0.26 * max(len(order), 3))
    wins, seeds = result.wins(result.time), len(result.outcomes)
    table = np.array([[np.nan if one == other else wins[one][other] for other in order] for one in order])
    names = [label(name, 14) for name in order]
    _draw_cells(ax, np.ma.masked_invalid(table), 1.6 * seeds, names)
    for row, one in enumerate(order):
        for column, other in enumerate(order):
            if one != other:
                clear = result.difference(one, other, result.time).high < 0 and seeds > 1
                _write_cell(ax, column, row, str(int(wins[one][other])), bold=clear)
    ax.set_xticks(range(len(order)), names, rotation=30, ha="left", rotation_mode="anchor")
    ax.xaxis.tick_top()
    of_seeds = f"number of {format_count(seeds, 'seed')}"
    ax.set_xlabel(f"seeds won by the row against the column ({of_seeds}), {result.comparison.origin}")
    ax.set_ylabel("scheduler (fastest first)")
    return ax


@apply_style
def plot_scoreboard(board: Scoreboard, ax: Axes | None = None) -> Axes:
    """Draw instances against policies, darker the farther from the best; bold: the shortest of a row."""
    policies = [each.policy for each in board.standings()]
    ratios = np.array([[board.ratio(policy, line) for policy in policies] for line in board.instances])
    ax = get_axes(ax, 1.2 + 0.21 * max(len(board.instances), 3), max(WIDTH, 2.4 + 0.55 * len(policies)))
    shades = np.ma.masked_invalid(np.log(np.clip(ratios, 1.0, DARKEST_RATIO)))
    _draw_cells(ax, shades, 1.7 * math.log(DARKEST_RATIO), [label(line.instance, 34) for line in board.instances])
    for (row, column), ratio in np.ndenumerate(ratios):
        text = "–" if math.isnan(ratio) else f"{ratio:.3f}" if ratio < 10 else f"{ratio:.0f}"
        shortest = bool(ratio <= np.nanmin(ratios[row]) * (1 + 1e-9))
        _write_cell(ax, column, row, text, bold=shortest, fontsize=7.0, color=INK)
    ax.set_xticks(range(len(policies)), [label(each, 16) for each in policies], rotation=35, ha="left")
    ax.xaxis.tick_top()
    # In two lines: long names of instances leave little width below the cells.
    ax.set_xlabel("makespan / best known value or certified bound\nbold: shortest; –: came to no end; simulated")
    return ax


def _draw_cells(ax: Axes, shades: ArrayLike, darkest: float, rows: Sequence[str]) -> None:
    ax.imshow(shades, cmap="Greys", vmin=0, vmax=darkest, aspect="auto")
    ax.set_yticks(range(len(rows)), rows)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _write_cell(
    ax: Axes, column: int, row: int, text: str, bold: bool = False, fontsize: float = 8.5, color: str = "black"
) -> None:
    weight = "bold" if bold else "normal"
    ax.text(column, row, text, ha="center", va="center", fontweight=weight, fontsize=fontsize, color=color)
