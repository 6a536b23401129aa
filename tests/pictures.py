"""Reports without the time that their pictures take, for tests of their words."""

from __future__ import annotations

import pytest

from hybrid_scheduler.reports import comparison_report, experiment_report, jobs_report

BLANK = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'


@pytest.fixture
def blank_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw every figure of a report, but do not render it, which takes most of the time."""
    for module in (comparison_report, experiment_report, jobs_report):
        monkeypatch.setattr(module, "render_svg", lambda _: BLANK)
