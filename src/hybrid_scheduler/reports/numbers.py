"""Numbers as people read them: three digits, a prefix, an interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hybrid_scheduler.core.metrics import Interval
    from hybrid_scheduler.studies.compare import Result


PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


BARE = {"×", "share", "R²"}  # ratios: no prefix, no unit behind them


def quantity(value: float, unit: str) -> str:
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


def plain(value: float, unit: str) -> str:
    """Write a ratio with three digits after the point, anything else with its unit."""
    return f"{value:.3f}" if unit in BARE and value == value else quantity(value, unit)


def with_interval(each: Interval, unit: str) -> str:
    """Write a mean and its interval: '1.012 [1.010, 1.014]', '203 [190, 215] ms'."""
    texts = [plain(value, unit) for value in (each.mean, each.low, each.high)]
    if each.low == each.high:
        return texts[0]
    units = {text.partition(" ")[2] for text in texts}
    if len(units) == 1 and units != {""}:
        mean, low, high = (text.partition(" ")[0] for text in texts)
        return f"{mean} [{low}, {high}] {units.pop()}"
    return f"{texts[0]} [{texts[1]}, {texts[2]}]"


def percent(share: float) -> str:
    """Write a share as per cent: two digits that count, at most two after the point."""
    number = 100.0 * share
    digits = 0 if abs(number) >= 99.5 else 1 if abs(number) >= 0.95 else 2
    text = f"{number:.{digits}f} %"
    return text.removeprefix("-") if float(f"{number:.{digits}f}") == 0 else text.replace("-", "−")


def factor(value: float) -> str:
    """Write how many times: 3.3 times; from 2 on nobody thinks in per cent."""
    return f"{value:.1f} times" if value < 99.5 else f"{value:.0f} times"


def describe(result: Result) -> str:
    """Return one line on what was compared: workload, load, cluster, race, seeds."""
    comparison = result.comparison
    load = f", load {comparison.source.load:g}" if comparison.source.load is not None else ""
    tasks = f"{result.outcomes[0].workload['num_tasks']:,} tasks"
    where = f"{comparison.cluster.describe()}, {comparison.mode}, {count(len(result.outcomes), 'seed')}"
    return f"{comparison.source.title}, {tasks}{load}, {where}"


def count(number: int, noun: str) -> str:
    """Write '1 seed', '10 seeds'."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
