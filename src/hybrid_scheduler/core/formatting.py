"""Numbers as people read them: three digits, a prefix, an interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hybrid_scheduler.core.metrics import Interval

BARE = {"×", "share", "R²"}  # ratios: no prefix, no unit behind them


def format_value(value: float, unit: str) -> str:
    """Write a ratio with three digits after the point, anything else with its unit."""
    return f"{value:.3f}" if unit in BARE and value == value else format_quantity(value, unit)


def format_interval(each: Interval, unit: str) -> str:
    """Write a mean and its interval: '1.012 [1.010, 1.014]', '203 [190, 215] ms'."""
    texts = [format_value(value, unit) for value in (each.mean, each.low, each.high)]
    if each.low == each.high:
        return texts[0]
    units = {text.partition(" ")[2] for text in texts}
    if len(units) == 1 and units != {""}:
        mean, low, high = (text.partition(" ")[0] for text in texts)
        return f"{mean} [{low}, {high}] {units.pop()}"
    return f"{texts[0]} [{texts[1]}, {texts[2]}]"


def format_percent(share: float) -> str:
    """Write a share as per cent: two digits that count, at most two after the point."""
    number = 100.0 * share
    digits = 0 if abs(number) >= 99.5 else 1 if abs(number) >= 0.95 else 2
    text = f"{number:.{digits}f} %"
    return text.removeprefix("-") if float(f"{number:.{digits}f}") == 0 else text.replace("-", "−")


def format_factor(value: float) -> str:
    """Write how many times: 3.3 times; from 2 on nobody thinks in per cent."""
    return f"{value:.1f} times" if value < 99.5 else f"{value:.0f} times"


def format_count(number: int, noun: str) -> str:
    """Write '1 seed', '10 seeds'."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def format_quantity(value: float, unit: str) -> str:
    """Write a number with three digits and a prefix: 0.00123 s is '1.23 ms'."""
    if value != value:  # NaN
        return "–"
    if value == 0 or abs(value) == float("inf"):
        return f"{value:g} {unit}"
    if unit == "$":
        return f"${value:.3g}"
    scale, prefix = next(((s, p) for s, p in PREFIXES if abs(value) >= 0.9995 * s), PREFIXES[-1])
    if unit == "s" and scale > 1:
        scale, prefix = 1.0, ""  # nobody says kiloseconds
    number = value / scale
    digits = 0 if abs(number) >= 99.95 else 1 if abs(number) >= 9.995 else 2
    return f"{number:.{digits}f} {prefix}{unit}"


def format_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a plain table: the first column is text, the others are numbers."""
    table = [tuple(header), *map(tuple, rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join([first.ljust(widths[0]), *(text.rjust(size) for text, size in zip(rest, widths[1:], strict=True))])
        for first, *rest in table
    ]
    return [lines[0], "─" * len(lines[0]), *lines[1:]]
