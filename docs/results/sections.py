"""The sections of RESULTS.md: one per command, with its table, who wins and who loses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

from docs.results.data import RunResults
from docs.results.markdown import format_table
from hybrid_scheduler.core.formatting import format_interval, format_percent
from hybrid_scheduler.core.metrics import MEASURES
from hybrid_scheduler.reports.figures.experiments import find_unit
from hybrid_scheduler.reports.style import label
from hybrid_scheduler.studies.experiments import LEARNT, TRAINED_THERE, ExperimentResult
from hybrid_scheduler.studies.scoreboard import (
    BEST_KNOWN,
    InstanceRow,
    Score,
    Scoreboard,
    ratio_table,
    standings_table,
)

TITLES = {
    "makespan_over_bound": "makespan / bound",
    "turnaround_over_bound": "turnaround / bound",
    "execution_over_best": "time / best split",
    "over_bound": "turnaround or makespan / bound",
    "over_blind": "turnaround / best rule that sees no more",
    "over_told": "turnaround / `least_increase` on the estimates",
    "test_r2": "R²",
    "mae": "mean error of the share",
}
"""Names of measures that would read badly with their underscores taken away."""
LEARNERS = ("hybrid_ml", "rl_agent")
QUEUED = (
    "makespan_over_bound",
    "mean_turnaround",
    "turnaround_over_bound",
    "p99_turnaround",
    "load_balance",
    "energy",
    "cost",
)
ORDERED_PAIRS = (
    ("hybrid_ml", "hybrid_ml:order=fifo", "mean_turnaround"),
    ("rl_agent", "rl_agent:order=fifo", "mean_turnaround"),
    ("least_increase", "eft", "mean_turnaround"),
    ("srpt_age", "eft", "p99_turnaround"),
)
"""Policies with ordered queues, and what they are set against: themselves or `eft`, first come, first served."""
LEAST_LOSS = 1e-4  # what would be written as 0.00 % is no loss
ALWAYS_FREE = ("execution_over_best", "total_time", "energy", "cost")


def format_comparison(run: RunResults) -> str:
    """Return a row per policy, best first, and how the learners compare with the others."""
    isolated = "isolated" in run.command
    # Numbers of version 1.0 have no bound of turnaround.
    measures = ALWAYS_FREE if isolated else tuple(name for name in QUEUED if name in run.experiment.measures)
    score = measures[0]
    names = sorted(run.experiment.series, key=lambda name: run.interval(name, score).mean)
    head = ["policy", *(_title(name) for name in measures)]
    rows = [[f"`{label(name)}`", *(_format_cell(run, name, each) for each in measures)] for name in names]
    text = format_table(head, rows)
    learners = [name for name in LEARNERS if name in names and len(run.seeds) > 1]
    standings = [_describe_standing(run, name, names, score) for name in learners]
    return "\n\n".join([text, _describe_leaders(run, measures), *standings])


def _describe_leaders(run: RunResults, measures: tuple[str, ...]) -> str:
    """Name the best in every measure; the fastest is seldom the cheapest."""
    best = [f"{_title(name)} `{label(_find_leader(run, name))}`" for name in measures]
    return f"Best mean: {', '.join(best)}."


def _find_leader(run: RunResults, measure: str) -> str:
    sign = 1 if MEASURES[measure].less_is_better else -1
    return min(run.experiment.series, key=lambda name: sign * run.interval(name, measure).mean)


def _title(measure: str) -> str:
    return TITLES.get(measure, measure.replace("_", " "))


def _format_cell(run: RunResults, series: str, measure: str, x: float | str | None = None) -> str:
    return format_interval(run.interval(series, measure, x), find_unit(measure))


def _describe_standing(run: RunResults, name: str, names: list[str], score: str) -> str:
    """Return which policies one beats and loses to in the score, by which share, paired by seed."""
    kinds: dict[str, list[str]] = {"loses to": [], "cannot be told from": [], "beats": []}
    for other in names:
        if other != name:
            gap = run.ratio(name, other, score)
            kind = "loses to" if gap.low > 1 else "beats" if gap.high < 1 else "cannot be told from"
            kinds[kind].append(f"`{label(other)}` ({format_percent(abs(gap.mean - 1))})")
    parts = [f"{kind} {', '.join(found)}" for kind, found in kinds.items() if found]
    return f"`{name}` {'; '.join(parts)}."


def format_single_x(run: RunResults) -> str:
    """Return a row per series where there is only one x, best by the first measure on top."""
    experiment = run.experiment
    names = sorted(experiment.series, key=lambda name: run.interval(name, experiment.measures[0]).mean)
    rows = [[f"`{name}`", *(_format_cell(run, name, each) for each in experiment.measures)] for name in names]
    return format_table(["policy", *(_title(name) for name in experiment.measures)], rows)


def format_by_x(run: RunResults) -> str:
    """Return one table per measure, a row per x and a column per series."""
    experiment = run.experiment
    places = list(dict.fromkeys(row["x"] for row in experiment.rows))
    tables = []
    for measure in experiment.measures:
        rows = [
            [_format_place(x), *(_format_cell(run, name, measure, x) for name in experiment.series)] for x in places
        ]
        head = [experiment.x_name, *(f"`{name}`" for name in experiment.series)]
        tables.append(f"**{_title(measure)[0].upper()}{_title(measure)[1:]}**\n\n{format_table(head, rows)}")
    return "\n\n".join(tables)


def _format_place(x: float | str) -> str:
    return x if isinstance(x, str) else f"{x:,}"


def format_turnaround(run: RunResults) -> str:
    """Return a table per place, a row per policy, best first; and what ordered queues change, seed by seed."""
    experiment, tables = run.experiment, []
    places = list(dict.fromkeys(row["x"] for row in experiment.rows))
    for x in places:
        names = sorted(experiment.series, key=lambda name: run.interval(name, experiment.measures[0], x).mean)
        rows = [[f"`{name}`", *(_format_cell(run, name, each, x) for each in experiment.measures)] for name in names]
        table = format_table(["policy", *(_title(each) for each in experiment.measures)], rows)
        tables.append(f"**{_format_place(x)}**\n\n{table}")
    pairs = {
        f"`{one}` / `{other}`, {_title(each)}": (one, other, each)
        for one, other, each in ORDERED_PAIRS
        if {one, other} <= set(experiment.series)
    }
    rows = [
        [_format_place(x), *(format_interval(run.ratio(*each, x), "×") for each in pairs.values())] for x in places
    ]
    heading = "**What ordered queues change** (ratios seed by seed; below 1 is better)"
    return "\n\n".join([*tables, heading, format_table([experiment.x_name, *pairs], rows)])


def format_zero_shot(run: RunResults) -> str:
    """Return a row per place and a column per policy, then every place where the agent loses, seed by seed."""
    agent, measure = "attention_agent", run.experiment.measures[0]
    places, losses = list(dict.fromkeys(row["x"] for row in run.experiment.rows)), []
    for x in places:
        for other in run.experiment.series:
            gap = run.ratio(agent, other, measure, x)
            if other != agent and gap.mean > 1 + LEAST_LOSS:
                losses.append(f"{_format_place(x)} to `{other}` ({format_percent(gap.mean - 1)})")
    heads = f"`{agent}` loses, by the mean of ratios seed by seed: {'; '.join(losses) or 'nowhere'}."
    return "\n\n".join([format_by_x(run), heads, *_describe_training(run, places)])


def _describe_training(run: RunResults, places: list[Any]) -> list[str]:
    """Say how far an agent that has never seen a cluster is behind one that was trained there."""
    if TRAINED_THERE not in run.experiment.series:
        return []
    ratios = {x: run.ratio("attention_agent", TRAINED_THERE, "mean_turnaround", x).mean for x in places}
    near, worst = sum(each <= 1.1 for each in ratios.values()), max(ratios, key=lambda x: ratios[x])
    return [
        f"Within 10 % of an agent that was trained on the cluster: in {near} of {len(places)} places; "
        f"{ratios[worst]:.3f} times its turnaround at worst ({_format_place(worst)})."
    ]


def format_robustness(run: RunResults) -> str:
    """Return the curves as tables, and where each learner is worst against the best rule that sees no more."""
    noises = list(dict.fromkeys(row["x"] for row in run.experiment.rows))
    lines = []
    for name in LEARNT:
        ratios = {noise: run.interval(name, "over_blind", noise).mean for noise in noises}
        worst = max(ratios, key=lambda noise: ratios[noise])
        lines.append(f"`{name}` {ratios[worst]:.3f} (noise {worst:g})")
    return f"{format_by_x(run)}\n\nWorst against the best rule that sees no more: {', '.join(lines)}."


def format_adversary(run: RunResults) -> str:
    """Return the mean worst ratios, and the largest of all searches for each learner."""
    largest = []
    for name in run.experiment.series:
        row = max((row for row in run.experiment.rows if row["series"] == name), key=lambda row: row["ratio"])
        largest.append(f"`{name}` {row['ratio']:.3g} × `{row['x']}` (seed {row['seed']})")
    return f"{format_by_x(run)}\n\nThe largest ratio of any search: {', '.join(largest)}."


LIMITS = {"turnaround_over_rule": 1.3, "late_turnaround_over_rule": 1.1, "makespan_over_rule": 1.1}
"""How much worse than the best simple rule a learner may be: more while it has seen little."""


def format_unfamiliar(run: RunResults) -> str:
    """Return a table per measure, then every learner and place above its limit."""
    experiment = run.experiment
    places, losses = list(dict.fromkeys(row["x"] for row in experiment.rows)), []
    for (measure, limit), name, x in product(LIMITS.items(), experiment.series, places):
        if (each := run.interval(name, measure, x)).mean > limit:
            losses.append(f"`{name}` on {x} ({_title(measure)} {each.mean:.2f}, at most {limit:g})")
    return f"{format_by_x(run)}\n\nStill lost: {'; '.join(losses) or 'nothing'}."


def format_single_series(run: RunResults) -> str:
    """Return a row per x and a column per measure, where there is only one series."""
    experiment = run.experiment
    series, places = experiment.series[0], list(dict.fromkeys(row["x"] for row in experiment.rows))
    rows = [
        [_format_place(x), *(_format_cell(run, series, measure, x) for measure in experiment.measures)]
        for x in places
    ]
    return format_table([experiment.x_name, *(_title(name) for name in experiment.measures)], rows)


def format_capacity(run: RunResults) -> str:
    """Return a row per policy, the highest capacity on top."""
    experiment = run.experiment
    names = sorted(experiment.series, key=lambda name: -run.interval(name, "load").mean)
    rows = [[f"`{name}`", *(_format_cell(run, name, each) for each in ("capacity", "load"))] for name in names]
    return format_table(["policy", "highest stable rate", "of the optimum"], rows)


def format_scoreboard(run: RunResults) -> str:
    """Return the standings over all instances, and makespan over reference of every policy and instance."""
    board = _build_scoreboard(run.experiment)
    return "\n".join([*standings_table(board), "", *ratio_table(board)])


def _build_scoreboard(experiment: ExperimentResult) -> Scoreboard:
    """Rebuild a scoreboard; makespans are in units of the reference, which is then 1."""
    places = dict.fromkeys((str(row["x"]).removesuffix(")")).rpartition(" (")[::2] for row in experiment.rows)
    lines = [
        InstanceRow(name, "", 0, 0, 0, {}, "", bound=1.0, best_known=1.0 if against == BEST_KNOWN else math.nan)
        for name, against in places
    ]
    scores = [
        Score(str(row["x"]).rpartition(" (")[0], row["series"], int(row["seed"]), row["makespan_over_reference"])
        for row in experiment.rows
    ]
    return Scoreboard(tuple(lines), tuple(experiment.series), tuple(scores))


@dataclass(frozen=True)
class Section:
    """A heading, what the numbers mean, and the function that formats them."""

    title: str
    about: str
    format: Callable[[RunResults], str]
    figure: str = ""


TRAINED = (
    "Learners were trained on up to four other instances, never on the one that counts. – : did not finish in time."
)
RACE = "2000 tasks; 1.000 is the certified bound, which nothing can pass."
SECTIONS: dict[str, Section] = {
    "mixed": Section("Mixed work at load 0.9", RACE, format_comparison, "mixed"),
    "long_tail": Section("Many small tasks and a few huge ones at load 0.9", RACE, format_comparison),
    "gpu_friendly": Section("Work that GPUs like, at load 0.9", RACE, format_comparison),
    "cpu_friendly": Section("Work that the CPU likes, at load 0.9", RACE, format_comparison),
    "bursty": Section("Bursts, at load 0.9 on average", RACE, format_comparison),
    "overload": Section("Mixed work at load 2: twice what the cluster can do", RACE, format_comparison, "overload"),
    "free_devices": Section(
        "Mixed work where every device is always free",
        "The race of the guide: no queues, a task's time is its execution time; 1.000 is the best split of each.",
        format_comparison,
    ),
    "one_device_gpu_friendly": Section(
        "All on the CPU or all on GPUs, work that GPUs like", "What the speed of a GPU costs.", format_comparison
    ),
    "one_device_cpu_friendly": Section(
        "All on the CPU or all on GPUs, work that the CPU likes",
        "The same where data has to move.",
        format_comparison,
    ),
    "turnaround": Section(
        "Turnaround against its certified bound",
        "2000 tasks; 1.000 is a mean that no schedule of whole tasks can have (for a policy that splits tasks: no "
        "schedule). Below full load nobody reaches it without knowing the future. `order=fifo` is first come, first "
        "served.",
        format_turnaround,
        "turnaround",
    ),
    "shift": Section(
        "The work changes",
        "Trained on 2000 `gpu_friendly` tasks, then 500 `cpu_friendly` ones, devices always free; adapting included. "
        "`static over this`: how many times faster than the forest that no longer learns. "
        "In the guide's own table `greedy` (18.30) is before the agent (21.12), here it is behind. Over the optimum "
        "(12.97 there) greed is the same, 1.41 there and 1.43 here: what differs is the agent, 1.63 there. This one "
        "scores each device by task and queue, pays by price, and hardly explores any more when the work changes.",
        format_single_x,
        "shift",
    ),
    "accuracy": Section(
        "How well the forest predicts",
        "R² and mean error on unseen tasks, and the time of its splits.",
        format_single_series,
    ),
    "models": Section(
        "Types of models of the GPU share",
        "R² on unseen tasks and on those learnt from, mean error, how many tasks below 200 MB it sends to a GPU, "
        "and how much of its importance is memory's. The seconds of a fit are CPU time, measured.",
        format_by_x,
    ),
    "isolated": Section(
        "The forest learning from nothing, devices always free",
        "Time over the best splits, each row the 1000 tasks up to that number.",
        format_by_x,
    ),
    "zero_shot": Section(
        "Clusters that no model was trained on",
        "500 tasks. Nobody was trained there but the last: learners start with what comes with the package, and "
        "learn. `attention_agent trained there` has played on that cluster alone and knows how long tasks take. "
        "1.000 is a mean turnaround that no schedule of whole tasks can have; `least_increase` and `eft` know the "
        "times.",
        format_zero_shot,
    ),
    "zero_shot_real": Section(
        "Real kernels and workflows that nobody had a lesson for",
        "Measured OpenCL kernels as a stream of 500, tiled Cholesky with StarPU's measured times, and the smallest "
        "recorded workflow of every family. 1.000 is a certified bound; `least_increase` and `eft` know the times.",
        format_zero_shot,
    ),
    "adversary": Section(
        "The worst that an adversary finds",
        "Twelve tasks, searched by 150 steps of simulated annealing for the largest ratio of mean turnarounds, the "
        "learner's over the rule's. Of so few tasks a learner has learnt nothing yet, and `eft` and `least_increase` "
        "know the times: this is how bad it can get, not how it is. The worst ones are tests "
        "(`tests/studies/worst_cases`).",
        format_adversary,
    ),
    "robustness": Section(
        "Consistency and robustness: what errors of prediction cost",
        "600 `mixed` tasks at load 0.9 whose times are those that can be foretold, times a log-normal factor of mean "
        "1; noise is its coefficient of variation. First how learners do against the best of `work_stealing`, `jsq` "
        "and `greedy`, which see no more than they do (robust: at most 1.1), then against `least_increase`, which is "
        "told the times without the factor and believes them (consistent: about 1 at noise 0).",
        format_robustness,
        "robustness",
    ),
    "heavy": Section("Ten thousand tasks at load 1", "Every default policy.", format_single_x),
    "load": Section("From idle to overload", "`long_tail`, 3000 tasks.", format_by_x, "load"),
    "pareto": Section(
        "Energy against time",
        "`hybrid_ml` on `mixed` at load 0.7 as its energy weight rises.",
        format_single_series,
        "pareto",
    ),
    "learning": Section(
        "The agent learning", "`mixed` at load 2, each row the 2000 tasks up to that number.", format_by_x, "learning"
    ),
    "capacity": Section(
        "Capacity", "The highest arrival rate at which the queue does not grow, `mixed`.", format_capacity, "capacity"
    ),
    "unfamiliar": Section(
        "Learners on work unlike all they know",
        "Each learner over the best of five simple rules that see no more than it does (`round_robin`, `random`, "
        "`greedy`, `jsq`, `work_stealing`), and over `eft`, which knows the times. Late: the tasks after the first "
        "500. ETC: a seed takes one of eight matrices, learners were taught on its opposite. Job types, fork-join "
        "graphs and noise are drawn here; the rest was measured by others.",
        format_unfamiliar,
    ),
    "kernels": Section(
        "Real kernels, most of them never seen: 680 OpenCL runs on a CPU and two GPUs",
        "Measured times (Cummins et al. 2017), load 0.9, trained on other benchmarks. `eft` comes twice: on the "
        "true times, and on those that a model predicted; regret is against the former.",
        format_single_x,
        "kernels",
    ),
    "cholesky": Section(
        "Tiled Cholesky with StarPU's measured kernels on three machines",
        "Makespan over bound; learners were trained on other sizes.",
        format_by_x,
    ),
    "opencl": Section(
        "The same 680 kernels as one batch",
        "The reference is the best value known, proved to 0.003 %. There is no other instance to learn from.",
        format_scoreboard,
    ),
    "braun": Section(
        "Braun's instances: 512 tasks on 16 unlike machines",
        "The classic benchmark (synthetic times); the reference is the best value known. The files say nothing of a "
        "task but its times, which `hybrid_ml` does not see: it has nothing to learn from.",
        format_scoreboard,
    ),
    "pegasus": Section(
        "Workflows of Pegasus and Makeflow",
        "Recorded run times and file sizes on the machines of each recording; only CPUs were recorded. " + TRAINED,
        format_scoreboard,
    ),
    "pegasus_small": Section(
        "The same workflows on four nodes of four cores",
        "Small enough that tasks have to wait for each other. " + TRAINED,
        format_scoreboard,
    ),
    "alibaba": Section(
        "Pods of a GPU cluster on its 1523 nodes",
        "Recorded pods (Alibaba 2023); [formats](docs/formats.md) says what is assumed. Learners are left out: their "
        "training on 7735 devices takes minutes.",
        format_scoreboard,
    ),
}
