"""The figures by name: what each shows, which run it needs, and its caption in a report.

A figure is a function `plot_NAME(data, ax=None)` that returns matplotlib axes, and one line in `figures` below; the
command line, reports and tests follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.files import require_absent
from hybrid_scheduler.registry import Entry, Registry
from hybrid_scheduler.reports.data import JobsData, ReportData, RunData, can_fit_forests, load_report_data
from hybrid_scheduler.reports.style import FORMATS, add_title, save_figure
from hybrid_scheduler.studies.compare import Progress, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEEDS = {
    "comparison": "a run of hms compare or run",
    "replay": "a run of hms compare or run; one seed is run again",
    "certificate": "a run of hms compare that certified turnaround",
    "front": "a run that certified turnaround; a seed is run again",
    "forests": "a run of hms compare with GPUs and 40 tasks or more",
    "either": "a run of hms compare, or of hms experiment pareto",
    "load": "a run of hms experiment load",
    "learning": "a run of hms experiment learning, isolated, accuracy",
    "capacity": "a run of hms capacity",
    "study": "a run of hms experiment",
    "jobs": "a run of hms jobs; its first window is run again",
}
"""What a figure may need, as users read it."""
EXPERIMENTS = {
    "either": ("pareto",),
    "load": ("load",),
    "learning": ("learning", "isolated", "accuracy"),
    "capacity": ("capacity",),
}
"""The experiments that meet a need; "study" takes any."""
IN_REPORT: dict[str, Callable[[Result], bool]] = {
    "always": lambda result: True,
    "never": lambda result: False,
    "queued": lambda result: result.comparison.mode != "isolated",  # about queues: nothing to see without any
    "isolated": lambda result: result.comparison.mode == "isolated",
    "several": lambda result: len(result.comparison.schedulers) > 1,
    "uncertified": lambda result: len(result.comparison.schedulers) > 1 and not result.has_turnaround_bounds,
    "gpus": lambda result: bool(result.comparison.cluster.is_gpu.any()),
    "forest": lambda result: any(spec.partition(":")[0] == "hybrid_ml" for spec in result.comparison.schedulers),
}
"""When the report of a comparison shows a figure that could be drawn."""


@dataclass(frozen=True)
class FigureEntry(Entry):
    """One line of the table of figures."""

    needs: str = "comparison"  # a key of `NEEDS`
    caption: str = ""  # below it in a report, the summary if absent; {…} is a key of `comparison_report.FIELDS`
    in_report: str = "always"  # a key of `IN_REPORT`
    of_measured: bool = True  # False: about the model's formulas, which have no part in measured times
    replaces: str = ""  # the measure of an experiment that its report shows by this figure alone

    @property
    def requirement(self) -> str:
        """The run that it needs, as users read it."""
        return NEEDS[self.needs]

    @property
    def sentence(self) -> str:
        """Its summary as a sentence."""
        return f"{self.summary[:1].upper()}{self.summary[1:]}."

    def suits(self, data: ReportData) -> bool:
        """Whether the figure can be drawn from this run."""
        if isinstance(data, JobsData):
            return self.needs == "jobs"
        if not isinstance(data, RunData):
            return self.needs == "study" or data.experiment.name in EXPERIMENTS.get(self.needs, ())
        if data.measured and not self.of_measured:
            return False
        if self.needs in ("certificate", "front"):
            return data.result.has_turnaround_bounds
        return self.needs in ("comparison", "replay", "either") or (
            self.needs == "forests" and can_fit_forests(data.result)
        )


def _figure(target: str, needs: str, summary: str, caption: str = "", **traits: Any) -> FigureEntry:
    """Return the line of a figure of this package; its name is that of its function without `plot_`."""
    module, _, function = target.partition(":")
    name, path = function.removeprefix("plot_"), f"hybrid_scheduler.reports.figures.{module}:{function}"
    return FigureEntry(name, path, summary, needs=needs, caption=caption, **traits)


WHISKERS = "Whiskers are 95 % intervals."
HATCHES = "Hatched policies know the times, where tasks really run the learnt ones."
figures = Registry(
    "figure",
    "hybrid_scheduler.figures",
    (
        _figure(
            "bars:plot_makespan_over_bound", "comparison", "makespan over the certified bound, with intervals",
            "Makespan over {bound}. " + f"{WHISKERS} {HATCHES}", in_report="queued",
        ),
        _figure(
            "comparisons:plot_differences", "comparison", "how much later than the best, paired by seed",
            "How much longer each policy takes than the best, paired by seed. If an interval touches the dashed "
            "line, the difference is not clear.", in_report="several",
        ),
        _figure(
            "bars:plot_time_over_best", "comparison", "time of all tasks over the best splits (isolated race)",
            f"Time of all tasks over that of the best splits. {WHISKERS} {HATCHES}", in_report="isolated",
        ),
        _figure(
            "bars:plot_turnaround_over_bound", "certificate", "mean turnaround over its certified bound",
            "Mean turnaround over the bound that covers the policy: for whole tasks, or for any schedule where it "
            f"split some. {WHISKERS} {HATCHES}",
        ),
        _figure(
            "fronts:plot_certified_front", "front", "time against energy and cost, and where no policy can be",
            "Mean turnaround against energy and cost of a task, idle devices left out. It is proved for these very "
            "tasks that no schedule is in the dark area, and none of whole tasks in the light one; hollow marks have "
            "split tasks. {seed}",
        ),
        _figure(
            "bars:plot_makespan", "comparison", "when the last task ended",
            f"When the last task ended. {WHISKERS} {HATCHES}", in_report="queued",
        ),
        _figure(
            "bars:plot_speed_up", "comparison", "times faster than round robin",
            "{time} of {baseline} divided by that of each policy, seed by seed.", in_report="several",
        ),
        _figure(
            "comparisons:plot_average_duration", "comparison",
            "mean time from arrival to finish, and how much of it runs",
            "Mean time from arrival to finish; the line begins where a task's own run time is, so its length is "
            f"waiting. {WHISKERS}",
        ),
        _figure(
            "placements:plot_latency_cdf", "replay", "share of tasks that had ended after so many seconds",
            "How many tasks had ended how long after they arrived: further left is sooner, a long flat top is tasks "
            "stuck in queues. {seed}",
        ),
        _figure(
            "bars:plot_energy", "comparison", "joules of tasks and idle devices",
            "Energy of the tasks and of idle devices.",
        ),
        _figure(
            "bars:plot_cost", "comparison", "price of the busy seconds",
            "Price of the busy seconds: fast GPUs cost five times a CPU in the default cluster.",
        ),
        _figure(
            "comparisons:plot_pareto", "either", "energy against time, and the front",
            "Energy against time. {front}", in_report="uncertified",
        ),
        _figure(
            "heatmaps:plot_win_matrix", "comparison", "who beat whom on how many seeds",
            "On how many seeds the row was faster. Bold: the paired interval excludes 0.", in_report="several",
        ),
        _figure(
            "bars:plot_load_balance", "comparison", "how evenly the GPUs were used",
            "Mean busy time of the GPUs over that of the busiest one; 1 is even.", in_report="queued",
        ),
        _figure(
            "heatmaps:plot_utilisation", "comparison", "busy share of every device",
            "Busy share of every device until the makespan, mean of the seeds.", in_report="queued",
        ),
        _figure(
            "placements:plot_gpu_fraction", "replay", "which share of a task each scheduler gives to a GPU",
            "Which share of a task went to a GPU: at 0 it ran on the CPU, at 100 on a GPU. {seed}",
            in_report="gpus",
        ),
        _figure(
            "placements:plot_allocation", "replay", "that share as time goes by",
            "The mean GPU share over time: learners settle, rules stay. {seed}", in_report="gpus",
        ),
        _figure(
            "placements:plot_gantt", "replay", "who ran what when, best against worst",
            "The first tasks on every device, best policy and worst. Hatched strips are shares of split tasks. "
            "{seed}", in_report="queued",
        ),
        _figure(
            "placements:plot_workload", "replay", "sizes, intensity, memory, and where the work is",
            "The tasks: the longest tenth of them holds {longest_tenth} of the work. {seed}",
            of_measured=False,
        ),
        _figure(
            "learning:plot_model_accuracy", "forests", "predicted against best GPU share, R², errors",
            "A forest fitted on {training_tasks} of this workload, tested on others: {accuracy}.",
            in_report="forest", of_measured=False,
        ),
        _figure(
            "learning:plot_feature_importance", "forests", "what the forest looks at",
            "What the forest looks at: {forests} of different seeds, importances add up to 100 %.",
            in_report="forest", of_measured=False,
        ),
        _figure(
            "experiments:plot_load_sweep", "load", "turnaround as the offered load rises", replaces="mean_turnaround"
        ),
        _figure(
            "experiments:plot_learning", "learning", "how learners get better with the tasks they have seen",
            in_report="never",
        ),
        _figure(
            "experiments:plot_capacity", "capacity", "the highest load each scheduler sustains", replaces="load"
        ),
        _figure(
            "experiments:plot_study", "study", "the first measure of any experiment", in_report="never"
        ),
        _figure(
            "jobs:plot_use_over_time", "jobs", "GPUs in use over time, or cores if there are none",
            "How much of the machine is in use.",
        ),
        _figure("jobs:plot_queue", "jobs", "how many jobs wait", "How many jobs wait, interrupted ones too."),
        _figure(
            "jobs:plot_slowdown_by_width", "jobs", "mean bounded slowdown of narrow and wide jobs",
            "Who waits: narrow jobs or wide ones.",
        ),
        _figure(
            "jobs:plot_fairness", "jobs", "mean bounded slowdown of the users",
            "Users in order of their mean slowdown; a flat line is fair.",
        ),
    ),
    hint="hms plot --list shows them",
)  # fmt: skip


def find(name: str) -> FigureEntry:
    """Return a figure's line; an unknown name is an error with the nearest known one."""
    figures.load(name)  # raises if it is unknown or its package is broken
    entry = figures.table[name]
    if isinstance(entry, FigureEntry):
        return entry
    return FigureEntry(entry.name, entry.target, entry.summary, caption=name.replace("_", " ").capitalize())


def list_figures() -> list[FigureEntry]:
    """Return all figures, plug-ins among them."""
    return [find(name) for name in figures.table]


def list_suitable(data: ReportData) -> list[FigureEntry]:
    """Return the figures that can be drawn from this run."""
    return [each for each in list_figures() if each.suits(data)]


def draw(name: str, data: ReportData, ax: Axes | None = None) -> Axes:
    """Draw a figure."""
    figure = find(name)
    if not figure.suits(data):
        suitable = ", ".join(each.name for each in list_suitable(data))
        raise InputError(f"figure '{name}' needs {figure.requirement}: from this run there are {suitable}")
    given: Any
    if isinstance(data, JobsData):
        given = data.window
    elif not isinstance(data, RunData):
        given = data.experiment
    elif figure.needs in ("replay", "front"):
        given = data.replay
    else:
        given = data.forests if figure.needs == "forests" else data.result
    axes: Axes = figure.load()(given, ax=ax)
    return axes


def plot(directory: Path, figure: str, out: Path | None, kind: str, progress: Progress) -> list[Path]:
    """Draw a figure of a run directory, or all that suit, and return the files."""
    names = [] if figure == "all" else [find(figure).name]
    if kind and kind not in FORMATS:
        raise unknown_name("format", kind, FORMATS)
    if kind and out and out.suffix not in ("", f".{kind}"):
        raise InputError(f"--out is {out} and --format is {kind}: let them say the same, or leave one out")
    data = load_report_data(directory)
    paths = _target_paths(names or [each.name for each in list_suitable(data)], out or directory / "figures", kind)
    for path in paths.values():
        require_absent(path)
    for number, (name, path) in enumerate(paths.items()):
        progress(number, len(paths))
        ax = draw(name, data)
        if isinstance(data, RunData):
            add_title(ax, data.result.describe())
        if isinstance(data, JobsData):
            add_title(ax, data.window.title)
        save_figure(ax, path)
    return list(paths.values())


def _target_paths(names: list[str], out: Path, kind: str) -> dict[str, Path]:
    if out.suffix and not out.is_dir():
        if len(names) > 1:
            raise InputError(f"{out} is one file and there are {len(names)} figures: give a folder, or one --figure")
        return {names[0]: out}
    return {name: out / f"{name}.{kind or FORMATS[0]}" for name in names}
