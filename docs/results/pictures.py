"""The pictures of RESULTS.md, drawn from the same numbers as its tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from docs.results.findings import Finding, Findings
from docs.results.sections import SECTIONS
from hybrid_scheduler.reports.figures.bars import draw_bars, mark_limit
from hybrid_scheduler.reports.figures.capacity import plot_capacity
from hybrid_scheduler.reports.figures.learning import plot_learning
from hybrid_scheduler.reports.figures.load_sweep import plot_load_sweep
from hybrid_scheduler.reports.figures.pareto import plot_pareto
from hybrid_scheduler.reports.figures.study import plot_study
from hybrid_scheduler.reports.style import save_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@styled
def race(finding: Finding) -> Axes:
    """Draw how far every policy is from the certified bound, best on top."""
    found = {name: finding.interval(name, "makespan_over_bound") for name in finding.study.series}
    rows = dict(sorted(found.items(), key=lambda pair: pair[1].mean))
    ax = draw_bars(rows, "×", "makespan / certified bound (ratio), simulated")
    mark_limit(ax, 1.0, "certified bound")
    return ax


PICTURES: dict[str, Callable[[Finding], Axes]] = {
    "mixed": race,
    "overload": race,
    "shift": lambda finding: plot_study(finding.study, measure="over_optimum"),
    "load": lambda finding: plot_load_sweep(finding.study),
    "pareto": lambda finding: plot_pareto(finding.study),
    "learning": lambda finding: plot_learning(finding.study),
    "kernels": lambda finding: plot_study(finding.study),
    "capacity": lambda finding: plot_capacity(finding.study),
}


def draw(findings: Findings, folder: Path) -> list[Path]:
    """Draw a picture for every section that shows one and has been run."""
    drawn = []
    for name, finding in findings.items():
        if SECTIONS[name].picture:
            path = folder / f"{SECTIONS[name].picture}.png"
            save_figure(PICTURES[name](finding), path)
            drawn.append(path)
    return drawn
