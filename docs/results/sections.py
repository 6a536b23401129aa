"""The sections of RESULTS.md: one per command, with its table, who wins and who loses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from docs.results import words
from docs.results.findings import Finding
from hybrid_scheduler.core.metrics import MEASURES
from hybrid_scheduler.reports.figures.study import unit_of
from hybrid_scheduler.reports.numbers import percent
from hybrid_scheduler.reports.style import label
from hybrid_scheduler.studies.experiments import Study
from hybrid_scheduler.studies.scoreboard import BEST_KNOWN, Line, Score, Scoreboard, ratio_table, standings_table

TITLES = {
    "makespan_over_bound": "makespan / bound",
    "execution_over_best": "time / best split",
    "test_r2": "R²",
    "mae": "mean error of the share",
}
"""Names of measures that would read badly with their underscores taken away."""
LEARNERS = ("hybrid_ml", "rl_agent")
QUEUED = ("makespan_over_bound", "mean_turnaround", "p99_turnaround", "load_balance", "energy", "cost")
ALWAYS_FREE = ("execution_over_best", "total_time", "energy", "cost")


def comparison(finding: Finding) -> str:
    """Return a row per policy, best first, and where the learners stand."""
    isolated = "isolated" in finding.command
    measures = ALWAYS_FREE if isolated else QUEUED
    score = measures[0]
    names = sorted(finding.study.series, key=lambda name: finding.interval(name, score).mean)
    head = ["policy", *(_title(name) for name in measures)]
    rows = [[f"`{label(name)}`", *(_cell(finding, name, each) for each in measures)] for name in names]
    text = words.table(head, rows)
    learners = [name for name in LEARNERS if name in names and len(finding.seeds) > 1]
    stands = [_standing(finding, name, names, score) for name in learners]
    return "\n\n".join([text, _leaders(finding, measures), *stands])


def _leaders(finding: Finding, measures: tuple[str, ...]) -> str:
    """Name the best in every measure: who ends first is seldom the cheapest."""
    best = [f"{_title(name)} `{label(_leader(finding, name))}`" for name in measures]
    return f"Best mean: {', '.join(best)}."


def _leader(finding: Finding, measure: str) -> str:
    sign = 1 if MEASURES[measure].less_is_better else -1
    return min(finding.study.series, key=lambda name: sign * finding.interval(name, measure).mean)


def _title(measure: str) -> str:
    return TITLES.get(measure, measure.replace("_", " "))


def _cell(finding: Finding, series: str, measure: str, x: float | str | None = None) -> str:
    return words.number(finding.interval(series, measure, x), unit_of(measure))


def _standing(finding: Finding, name: str, names: list[str], score: str) -> str:
    """Say whom a policy beats and to whom it loses in the first measure, by which share, paired by seed."""
    kinds: dict[str, list[str]] = {"loses to": [], "cannot be told from": [], "beats": []}
    for other in names:
        if other != name:
            gap = finding.ratio(name, other, score)
            kind = "loses to" if gap.low > 1 else "beats" if gap.high < 1 else "cannot be told from"
            kinds[kind].append(f"`{label(other)}` ({percent(abs(gap.mean - 1))})")
    parts = [f"{kind} {', '.join(found)}" for kind, found in kinds.items() if found]
    return f"`{name}` {'; '.join(parts)}."


def one_place(finding: Finding) -> str:
    """Return a row per series where there is only one x, best by the first measure on top."""
    study = finding.study
    names = sorted(study.series, key=lambda name: finding.interval(name, _first(study)).mean)
    rows = [[f"`{name}`", *(_cell(finding, name, each) for each in study.measures)] for name in names]
    return words.table(["policy", *(_title(name) for name in study.measures)], rows)


def _first(study: Study) -> str:
    return study.measures[0]


def over_x(finding: Finding) -> str:
    """Return one table per measure, a row per x and a column per series."""
    study = finding.study
    places = list(dict.fromkeys(row["x"] for row in study.rows))
    tables = []
    for measure in study.measures:
        rows = [[_place(x), *(_cell(finding, name, measure, x) for name in study.series)] for x in places]
        head = [study.x_name, *(f"`{name}`" for name in study.series)]
        tables.append(f"**{_title(measure)[0].upper()}{_title(measure)[1:]}**\n\n{words.table(head, rows)}")
    return "\n\n".join(tables)


def _place(x: float | str) -> str:
    return x if isinstance(x, str) else f"{x:,}"


def over_one_series(finding: Finding) -> str:
    """Return a row per x and a column per measure, where there is only one series."""
    study = finding.study
    series, places = study.series[0], list(dict.fromkeys(row["x"] for row in study.rows))
    rows = [[_place(x), *(_cell(finding, series, measure, x) for measure in study.measures)] for x in places]
    return words.table([study.x_name, *(_title(name) for name in study.measures)], rows)


def most_first(finding: Finding) -> str:
    """Return a row per policy, the highest capacity on top."""
    study = finding.study
    names = sorted(study.series, key=lambda name: -finding.interval(name, "load").mean)
    rows = [[f"`{name}`", *(_cell(finding, name, each) for each in ("capacity", "load"))] for name in names]
    return words.table(["policy", "highest stable rate", "of the optimum"], rows)


def scoreboard(finding: Finding) -> str:
    """Return who stands where over all instances, and makespan over reference of every policy and instance."""
    board = _board(finding.study)
    return "\n".join([*standings_table(board), "", *ratio_table(board)])


def _board(study: Study) -> Scoreboard:
    """Put a scoreboard together again; makespans are in units of the reference, which is then 1."""
    places = dict.fromkeys((str(row["x"]).removesuffix(")")).rpartition(" (")[::2] for row in study.rows)
    lines = [
        Line(name, "", 0, 0, 0, {}, "", bound=1.0, best_known=1.0 if against == BEST_KNOWN else math.nan)
        for name, against in places
    ]
    scores = [
        Score(str(row["x"]).rpartition(" (")[0], row["series"], int(row["seed"]), row["makespan_over_reference"])
        for row in study.rows
    ]
    return Scoreboard(tuple(lines), tuple(study.series), tuple(scores))


@dataclass(frozen=True)
class Section:
    """A heading, what the numbers mean, and how they are laid out."""

    title: str
    about: str
    body: Callable[[Finding], str]
    picture: str = ""


TAUGHT = (
    "Learners were taught on up to four other instances, never on the one that counts. – : came to no end in time."
)
RACE = "2000 tasks; 1.000 is the certified bound, which nothing can pass."
SECTIONS: dict[str, Section] = {
    "mixed": Section("Mixed work at load 0.9", RACE, comparison, "mixed"),
    "long_tail": Section("Many small tasks and a few huge ones at load 0.9", RACE, comparison),
    "gpu_friendly": Section("Work that GPUs like, at load 0.9", RACE, comparison),
    "cpu_friendly": Section("Work that the CPU likes, at load 0.9", RACE, comparison),
    "bursty": Section("Bursts, at load 0.9 on average", RACE, comparison),
    "overload": Section("Mixed work at load 2: twice what the cluster can do", RACE, comparison, "overload"),
    "free_devices": Section(
        "Mixed work where every device is always free",
        "The race of the guide: no queues, a task's time is its execution time; 1.000 is the best split of each.",
        comparison,
    ),
    "one_device_gpu_friendly": Section(
        "All on the CPU or all on GPUs, work that GPUs like", "What the speed of a GPU costs.", comparison
    ),
    "one_device_cpu_friendly": Section(
        "All on the CPU or all on GPUs, work that the CPU likes", "The same where data has to move.", comparison
    ),
    "shift": Section(
        "The work changes",
        "Taught on 2000 `gpu_friendly` tasks, then 500 `cpu_friendly` ones, devices always free; adapting included. "
        "`static over this`: how many times faster than the forest that no longer learns.",
        one_place,
        "shift",
    ),
    "accuracy": Section(
        "How well the forest predicts",
        "R² and mean error on unseen tasks, and the time of its splits.",
        over_one_series,
    ),
    "isolated": Section(
        "The forest learning from nothing, devices always free",
        "Time over the best splits, each row the 1000 tasks up to that number.",
        over_x,
    ),
    "heavy": Section("Ten thousand tasks at load 1", "Every default policy.", one_place),
    "load": Section("From idle to overload", "`long_tail`, 3000 tasks.", over_x, "load"),
    "pareto": Section(
        "Energy against time",
        "`hybrid_ml` on `mixed` at load 0.7 as its energy weight rises.",
        over_one_series,
        "pareto",
    ),
    "learning": Section(
        "The agent learning", "`mixed` at load 2, each row the 2000 tasks up to that number.", over_x, "learning"
    ),
    "capacity": Section(
        "Capacity", "The highest arrival rate at which the queue does not grow, `mixed`.", most_first, "capacity"
    ),
    "kernels": Section(
        "Real kernels, most of them never seen: 680 OpenCL runs on a CPU and two GPUs",
        "Measured times (Cummins et al. 2017), load 0.9, taught on other benchmarks. `eft` comes twice: on the "
        "true times, and on those that a model predicted; regret is against the former.",
        one_place,
        "kernels",
    ),
    "cholesky": Section(
        "Tiled Cholesky with StarPU's measured kernels on three machines",
        "Makespan over bound; learners were taught on other sizes.",
        over_x,
    ),
    "opencl": Section(
        "The same 680 kernels as one batch",
        "The reference is the best value known, proved to 0.003 %. There is no other instance to learn from.",
        scoreboard,
    ),
    "braun": Section(
        "Braun's instances: 512 tasks on 16 unlike machines",
        "The classic benchmark (synthetic times); the reference is the best value known. The files say nothing of a "
        "task but its times, which `hybrid_ml` is not told: it has nothing to learn from, and it shows.",
        scoreboard,
    ),
    "pegasus": Section(
        "Workflows of Pegasus and Makeflow",
        "Recorded run times and file sizes on the machines of each recording; only CPUs were recorded. " + TAUGHT,
        scoreboard,
    ),
    "pegasus_small": Section(
        "The same workflows on four nodes of four cores",
        "Small enough that tasks have to wait for each other. " + TAUGHT,
        scoreboard,
    ),
    "alibaba": Section(
        "Pods of a GPU cluster on its 1523 nodes",
        "Recorded pods (Alibaba 2023); [formats](docs/formats.md) says what is assumed. Learners are left out: their "
        "lessons on 7735 devices take minutes.",
        scoreboard,
    ),
}
