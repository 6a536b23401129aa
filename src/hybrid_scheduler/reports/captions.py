"""What stands below each figure of a report: how to read it, and the number to take away."""

from __future__ import annotations

from hybrid_scheduler.reports.figures.model_accuracy import quality
from hybrid_scheduler.reports.figures.pareto import front, points_of
from hybrid_scheduler.reports.figures.speed_up import baseline_of
from hybrid_scheduler.reports.figures.workload import share_of_largest
from hybrid_scheduler.reports.findings import bound_words, listed, named
from hybrid_scheduler.reports.material import RunMaterial
from hybrid_scheduler.reports.numbers import count

SIGHTED = "Hatched policies know the times, where tasks really run the learnt ones."
WHISKERS = "Whiskers are 95 % intervals."


def caption_of(name: str, material: RunMaterial) -> str:
    """Return the caption of a figure of a comparison; a plug-in's figure says its name."""
    result = material.result
    texts = {
        "makespan_over_bound": f"Makespan over {bound_words(result)}. {WHISKERS} {SIGHTED}",
        "time_over_best": f"Time of all tasks over that of the best splits. {WHISKERS} {SIGHTED}",
        "makespan": f"When the last task ended. {WHISKERS} {SIGHTED}",
        "differences": "How much longer each policy takes than the best, paired by seed. If an interval touches the "
        "dashed line, the difference is not clear.",
        "average_duration": f"Mean time from arrival to finish; the line begins where a task's own run time is, so "
        f"its length is waiting. {WHISKERS}",
        "speed_up": f"Makespan of {named(baseline_of(result))} divided by that of each policy, seed by seed.",
        "cost": "Price of the busy seconds: fast GPUs cost five times a CPU in the default cluster.",
        "energy": "Energy of the tasks and of idle devices.",
        "load_balance": "Mean busy time of the GPUs over that of the busiest one; 1 is even.",
        "utilisation": "Busy share of every device until the makespan, mean of the seeds.",
        "win_matrix": "On how many seeds the row was faster. Bold: the paired interval excludes 0.",
    }
    return texts.get(name) or _computed(name, material)


def _computed(name: str, material: RunMaterial) -> str:
    if name == "pareto":
        best = front(points_of(material.result))
        if len(best) == 1:
            return f"Energy against time. {named(best[0])} has the least of both."
        return f"Energy against time. Filled marks are on the front, where one buys the other: {listed(best)}."
    if name == "model_accuracy":
        learnt = count(material.forests[0].learnt_from, "other task")
        return f"A forest fitted on {learnt} of this workload, judged on others: {quality(material.forests)}."
    if name == "feature_importance":
        forests = count(len(material.forests), "forest")
        return f"What the forest looks at: {forests} of different seeds, importances add up to 100 %."
    return _replayed(name, material)


def _replayed(name: str, material: RunMaterial) -> str:
    one = material.replay
    part = "" if one.whole else f", first {count(len(one.tasks), 'task')}"
    seed = f"Seed {one.seed}{part}, {'as it was measured' if one.measured else 'run again'}."
    if name == "workload":
        tenth = share_of_largest(one.tasks.duration_estimate)
        return f"The tasks: the longest tenth of them holds {tenth:.0%} of the work. {seed}"
    texts = {
        "latency_cdf": "How many tasks had ended how long after they arrived: further left is sooner, a long flat "
        f"top is tasks stuck in queues. {seed}",
        "gpu_fraction": f"Which share of a task went to a GPU: at 0 it ran on the CPU, at 100 on a GPU. {seed}",
        "allocation": f"The mean GPU share, stretch by stretch: learners settle, rules stay. {seed}",
        "gantt": f"The first tasks on every device, best policy and worst. Hatched strips are shares of split "
        f"tasks. {seed}",
    }
    return texts.get(name, name.replace("_", " ").capitalize())
