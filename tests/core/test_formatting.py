"""Numbers are written for people: few digits, a prefix, an interval."""

from __future__ import annotations

from hybrid_scheduler.core.formatting import format_interval, format_percent
from hybrid_scheduler.core.metrics import Interval


def test_a_share_is_written_in_per_cent_with_the_digits_that_count() -> None:
    assert format_percent(0.2301) == "23.0 %"
    assert format_percent(-0.0016) == "−0.16 %"
    assert format_percent(-1e-9) == "0.00 %"
    assert format_percent(2.3) == "230 %"


def test_an_interval_names_its_unit_once_unless_the_prefixes_differ() -> None:
    assert format_interval(Interval(0.2, 0.19, 0.21), "s") == "200 [190, 210] ms"
    assert format_interval(Interval(1.0, 0.9, 1.1), "s") == "1.00 s [900 ms, 1.10 s]"
    assert format_interval(Interval(1.01, 1.0, 1.02), "×") == "1.010 [1.000, 1.020]"
