"""A decision in words."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hybrid_scheduler.schedulers.explain import Candidate, Explanation


def why(explanation: Explanation, names: Mapping[int, str], now: float) -> str:
    """Say where a task goes and why, in one line."""
    return _place(explanation, names) + _reason(explanation, names, now) + _feature(explanation)


def _place(explanation: Explanation, names: Mapping[int, str]) -> str:
    device, share = names.get(explanation.device, "no device"), explanation.gpu_fraction
    if 0.0 < share < 1.0:
        return f"{share:.0%} on {device}, the rest on a CPU"
    return f"whole on {device}"


def _reason(explanation: Explanation, names: Mapping[int, str], now: float) -> str:
    known = [each for each in explanation.candidates if math.isfinite(each.finish)]
    chosen = next((each for each in known if each.chosen), None)
    if chosen is None:
        return f": it predicts no times, its rule is: {explanation.rule}"
    ends = f": the whole task would end there {chosen.finish - now:.3g} s from now"
    others = [each for each in known if not each.chosen]
    if not others:
        return ends + ", and nowhere else"
    return ends + _compared(chosen, min(others, key=lambda each: each.finish), names)


def _compared(chosen: Candidate, other: Candidate, names: Mapping[int, str]) -> str:
    gap = other.finish - chosen.finish
    name = names.get(other.device, "another device")
    if gap >= 0:
        return f", {gap:.3g} s before {name}, the next best"
    return f", {-gap:.3g} s after {name}, which it passes over"


def _feature(explanation: Explanation) -> str:
    weights = {name: abs(value) for name, value in explanation.contributions.items() if math.isfinite(value)}
    return f"; mostly because of {max(weights, key=lambda name: weights[name])}" if weights else ""
