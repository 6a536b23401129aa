"""A decision in words."""

from __future__ import annotations

from hybrid_scheduler.schedulers.explain import Candidate, Explanation
from hybrid_scheduler.server.rationale import why

NAMES = {0: "cpu", 1: "gpu0", 2: "gpu1"}
NAN = float("nan")


def seen(*finishes: float, chosen: int, share: float = 1.0, **contributions: float) -> Explanation:
    candidates = tuple(
        Candidate(device, NAN, NAN, NAN, finish, NAN, NAN, None, device == chosen)
        for device, finish in enumerate(finishes)
    )
    return Explanation(share, chosen, "the rule", candidates, contributions)


def test_the_best_device_is_compared_with_the_next_best() -> None:
    words = why(seen(14.0, 12.0, 12.5, chosen=1), NAMES, now=10.0)
    assert words == "whole on gpu0: the whole task would end there 2 s from now, 0.5 s before gpu1, the next best"


def test_a_better_device_that_was_passed_over_is_named() -> None:
    words = why(seen(14.0, 12.0, 12.5, chosen=0, share=0.0), NAMES, now=10.0)
    assert words == "whole on cpu: the whole task would end there 4 s from now, 2 s after gpu0, which it passes over"


def test_who_predicts_nothing_has_a_rule() -> None:
    words = why(seen(NAN, NAN, NAN, chosen=2, share=0.25), NAMES, now=0.0)
    assert words == "25% on gpu1, the rest on a CPU: it predicts no times, its rule is: the rule"


def test_the_only_device_left_has_no_rival() -> None:
    assert why(seen(3.0, NAN, chosen=0, share=0.0), NAMES, now=1.0).endswith("2 s from now, and nowhere else")


def test_the_feature_that_mattered_most_is_named() -> None:
    words = why(seen(NAN, NAN, chosen=1, size=-0.8, compute_intensity=0.5), NAMES, now=0.0)
    assert words.endswith("; mostly because of size")
