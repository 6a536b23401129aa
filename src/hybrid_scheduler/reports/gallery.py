"""The figures by name, with what each of them needs. Nothing is imported until a figure is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.files import require_absent
from hybrid_scheduler.registry import Entry, Registry
from hybrid_scheduler.reports.material import Material, RunMaterial, can_check, load_material
from hybrid_scheduler.reports.numbers import describe
from hybrid_scheduler.reports.style import FORMATS, add_title, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEEDS = {
    "comparison": "a run of hms compare or run",
    "replay": "a run of hms compare or run; one seed is run again",
    "forests": "a run of hms compare with GPUs and 40 tasks or more",
    "either": "a run of hms compare, or of hms experiment pareto",
    "load": "a run of hms experiment load",
    "learning": "a run of hms experiment learning, isolated, accuracy",
    "capacity": "a run of hms capacity",
    "study": "a run of hms experiment",
}
"""What a figure may need, and the words for it."""
LEARNING = ("learning", "isolated", "accuracy")


@dataclass(frozen=True)
class Picture(Entry):
    """One line of the gallery."""

    needs: str = "comparison"

    def suits(self, material: Material) -> bool:
        """Whether the figure can be drawn from this material."""
        if isinstance(material, RunMaterial):
            if material.measured and (self.needs == "forests" or self.name == "workload"):
                return False  # these are about the formulas, of which measured times know nothing
            fits = self.needs in ("comparison", "replay", "either")
            return fits or (self.needs == "forests" and can_check(material.result))
        name, measures = material.study.name, material.study.measures
        if self.needs == "either":
            return {"mean_turnaround", "energy"} <= set(measures) and name == "pareto"
        known = {"load": name == "load", "learning": name in LEARNING, "capacity": name == "capacity"}
        return known.get(self.needs, self.needs == "study")


def _picture(name: str, needs: str, summary: str, module: str = "") -> Picture:
    target = f"hybrid_scheduler.reports.figures.{module or name}:plot_{module or name}"
    return Picture(name, target, summary, needs=needs)


figures = Registry(
    "figure",
    "hybrid_scheduler.figures",
    (
        _picture("makespan_over_bound", "comparison", "makespan over the certified bound, with intervals"),
        _picture("differences", "comparison", "how much later than the best, paired by seed"),
        _picture("time_over_best", "comparison", "time of all tasks over the best splits (isolated race)"),
        _picture("makespan", "comparison", "when the last task ended"),
        _picture("speed_up", "comparison", "times faster than round robin"),
        _picture("average_duration", "comparison", "mean time from arrival to finish, and how much of it runs"),
        _picture("latency_cdf", "replay", "share of tasks that had ended after so many seconds"),
        _picture("energy", "comparison", "joules of tasks and idle devices"),
        _picture("cost", "comparison", "price of the busy seconds"),
        _picture("pareto", "either", "energy against time, and the front"),
        _picture("win_matrix", "comparison", "who beat whom on how many seeds"),
        _picture("load_balance", "comparison", "how evenly the GPUs were used"),
        _picture("utilisation", "comparison", "busy share of every device"),
        _picture("gpu_fraction", "replay", "which share of a task each scheduler gives to a GPU"),
        _picture("allocation", "replay", "that share as time goes by"),
        _picture("gantt", "replay", "who ran what when, best against worst"),
        _picture("workload", "replay", "sizes, intensity, memory, and where the work is"),
        _picture("model_accuracy", "forests", "predicted against best GPU share, R², errors"),
        _picture("feature_importance", "forests", "what the forest looks at"),
        _picture("load_sweep", "load", "turnaround as the offered load rises"),
        _picture("learning", "learning", "how learners get better with the tasks they have seen"),
        _picture("capacity", "capacity", "the highest load each scheduler sustains"),
        _picture("study", "study", "the first measure of any experiment"),
    ),
    hint="hms plot --list shows them",
)


def find(name: str) -> Picture:
    """Return a figure's line; a wrong name is an error with the nearest right one."""
    figures.load(name)  # raises if it is unknown
    entry = figures.table[name]
    return entry if isinstance(entry, Picture) else Picture(entry.name, entry.target, entry.summary)


def suitable(material: Material) -> list[Picture]:
    """Return the figures that can be drawn from this material."""
    return [each for each in map(find, figures.table) if each.suits(material)]


def draw(name: str, material: Material, ax: Axes | None = None) -> Axes:
    """Draw a figure."""
    picture = find(name)
    if not picture.suits(material):
        fitting = ", ".join(each.name for each in suitable(material))
        raise InputError(f"figure '{name}' needs {NEEDS[picture.needs]}: from this run there are {fitting}")
    axes: Axes = picture.load()(_input(picture, material), ax=ax)
    return axes


def _input(picture: Picture, material: Material) -> Any:
    if not isinstance(material, RunMaterial):
        return material.study
    if picture.needs == "replay":
        return material.replay
    return material.forests if picture.needs == "forests" else material.result


Progress = Callable[[int, int], None]


def listed() -> list[tuple[str, str, str]]:
    """Return name, summary and needs of every figure."""
    found = [find(name) for name in figures.table]
    return [(each.name, each.summary, NEEDS[each.needs]) for each in found]


def plot(directory: Path, figure: str, out: Path | None, kind: str, progress: Progress) -> list[Path]:
    """Draw a figure, or all that suit, and return the files."""
    names = [] if figure == "all" else [find(figure).name]
    _check_kind(kind, out)
    material = load_material(directory)
    places = _places(names or [each.name for each in suitable(material)], out or directory / "figures", kind)
    for path in places.values():
        require_absent(path)
    for number, (name, path) in enumerate(places.items()):
        progress(number, len(places))
        ax = draw(name, material)
        if isinstance(material, RunMaterial):
            add_title(ax, describe(material.result))
        save_figure(ax, path)
    return list(places.values())


def _check_kind(kind: str, out: Path | None) -> None:
    if kind and kind not in FORMATS:
        raise unknown_name("format", kind, FORMATS)
    ending = out.suffix.lstrip(".") if out else ""
    if kind and ending and ending != kind:
        raise InputError(f"--out is {out} and --format is {kind}: let them say the same, or leave one out")


def _places(names: list[str], out: Path, kind: str) -> dict[str, Path]:
    if out.suffix and not out.is_dir():
        if len(names) > 1:
            raise InputError(f"{out} is one file and there are {len(names)} figures: give a folder, or one --figure")
        return {names[0]: out}
    return {name: out / f"{name}.{kind or FORMATS[0]}" for name in names}
