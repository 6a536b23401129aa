"""Measures of schedules of shared clusters, overall and user by user."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.core.jobs import Bools
from hybrid_scheduler.core.machines import WHOLE
from hybrid_scheduler.core.metrics import Measure
from hybrid_scheduler.core.schedule import Schedule
from hybrid_scheduler.core.tasks import Floats

THRESHOLD = 10.0
"""Seconds as which shorter jobs count in the bounded slowdown (Feitelson and Rudolph 1998)."""

JOB_MEASURES: dict[str, Measure] = {
    "bounded_slowdown": Measure(
        "×", "mean of turnaround / seconds, with at least 10 s (or the threshold) below, and 1"
    ),
    "mean_waiting": Measure("s", "mean time from arrival to start"),
    "p95_waiting": Measure("s", "95th percentile of it"),
    "mean_turnaround": Measure("s", "mean time from arrival to finish"),
    "turnaround_over_bound": Measure("×", "mean turnaround / certified lower bound; 1 is provably optimal"),
    "makespan": Measure("s", "first arrival to last finish"),
    "makespan_over_bound": Measure("×", "makespan / certified lower bound; 1 is provably optimal"),
    "utilisation": Measure("share", "GPUs in use, or cores without any, until the last finish", less_is_better=False),
    "deadline_misses": Measure("share", "jobs with a deadline that ended after it"),
    "jain_index": Measure(
        "share", "Jain's index of the users' mean bounded slowdowns; 1 is even", less_is_better=False
    ),
    "worst_user": Measure("×", "largest mean bounded slowdown of a user"),
    "finish_time_fairness": Measure(
        "×", "worst user's mean of turnaround / seconds on an equal share of the machine"
    ),
    "rejected": Measure("jobs", "jobs that fit no machine, or found no room where nobody waits"),
}


def measure_jobs(
    schedule: Schedule,
    bound: float = float("nan"),
    threshold: float = THRESHOLD,
    turnaround_bound: float = float("nan"),
) -> dict[str, float]:
    """Return all measures of one run; `bound` is a certified lower bound of its makespan."""
    ran = schedule.ran & np.isfinite(schedule.finish)
    jobs, waiting = schedule.jobs, schedule.waiting[ran]
    if not ran.any():
        return {name: float(len(jobs)) if name == "rejected" else float("nan") for name in JOB_MEASURES}
    slowdown = bounded_slowdown(schedule, threshold)
    makespan = float(schedule.finish[ran].max() - jobs.arrival.min())
    turnaround = float((schedule.finish - jobs.arrival)[ran].mean())
    by_user = np.array([slowdown[ran & (jobs.user == user)].mean() for user in np.unique(jobs.user[ran])])
    late = jobs.deadline < np.inf
    unfair = compare_with_own_share(schedule)
    return {
        "bounded_slowdown": float(slowdown[ran].mean()),
        "mean_waiting": float(waiting.mean()),
        "p95_waiting": float(np.percentile(waiting, 95)),
        "mean_turnaround": turnaround,
        "turnaround_over_bound": turnaround / turnaround_bound if turnaround_bound > 0 else float("nan"),
        "makespan": makespan,
        "makespan_over_bound": makespan / bound if bound > 0 else float("nan"),
        "utilisation": measure_utilisation(schedule, ran, makespan),
        "deadline_misses": float((~(schedule.finish <= jobs.deadline))[late].mean()) if late.any() else float("nan"),
        "jain_index": jain_index(by_user),
        "worst_user": float(by_user.max()),
        "finish_time_fairness": max(
            float(unfair[ran & (jobs.user == user)].mean()) for user in np.unique(jobs.user[ran]).tolist()
        ),
        "rejected": float(len(jobs) - schedule.ran.sum()),
    }


def bounded_slowdown(schedule: Schedule, threshold: float = THRESHOLD) -> Floats:
    """Return max(1, turnaround / max(seconds, threshold)) of every job; NaN if it did not run."""
    turnaround = schedule.finish - schedule.jobs.arrival
    return np.maximum(turnaround / np.maximum(schedule.jobs.seconds, threshold), 1.0)


def compare_with_own_share(schedule: Schedule) -> Floats:
    """Return turnaround / seconds on an equal share of the machine as one's own (Mahajan et al. 2020, Themis).

    A job that is wider than its user's share would take as many times longer there.
    """
    jobs, machines = schedule.jobs, schedule.machines
    capacity = machines.total_gpus if machines.total_gpus else int(machines.cpu_milli.sum()) / WHOLE
    alone = jobs.seconds * np.maximum(jobs.width * len(jobs.users) / capacity, 1.0)
    turnaround = schedule.finish - jobs.arrival
    return turnaround / alone


def measure_utilisation(schedule: Schedule, ran: Bools, makespan: float) -> float:
    """Return the share of all GPUs, or of all cores if there are none, that jobs held until the last finish."""
    jobs, machines = schedule.jobs, schedule.machines
    held = jobs.gpus * jobs.gpu_milli if machines.total_gpus else jobs.cpu_milli
    capacity = machines.total_gpus * WHOLE if machines.total_gpus else int(machines.cpu_milli.sum())
    return float((held * schedule.served)[ran].sum() / (capacity * makespan))


def jain_index(values: Floats) -> float:
    """Return (Σx)² / (n·Σx²): 1 if all are equal, 1/n if one has everything (Jain, Chiu and Hawe 1984)."""
    return float(values.sum() ** 2 / (len(values) * (values**2).sum())) if len(values) else float("nan")


def measure_users(schedule: Schedule, threshold: float = THRESHOLD) -> dict[str, dict[str, float]]:
    """Return by user: jobs, slowdown, waiting, missed deadlines, fairness, and the share of what was used."""
    jobs, slowdown = schedule.jobs, bounded_slowdown(schedule, threshold)
    ran = schedule.ran & np.isfinite(schedule.finish)
    area = np.where(ran, jobs.width * schedule.served, 0.0)
    late, unfair, users = ~(schedule.finish <= jobs.deadline), compare_with_own_share(schedule), {}
    for user in np.unique(jobs.user[ran]).tolist():
        own = ran & (jobs.user == user)
        promised = own & (jobs.deadline < np.inf)
        users[jobs.name_user(user)] = {
            "jobs": float(own.sum()),
            "bounded_slowdown": float(slowdown[own].mean()),
            "mean_waiting": float(schedule.waiting[own].mean()),
            "deadline_misses": float(late[promised].mean()) if promised.any() else float("nan"),
            "finish_time_fairness": float(unfair[own].mean()),
            "share": float(area[own].sum() / area.sum()),
        }
    return users


def measure_allocation(schedule: Schedule) -> float:
    """Return the share of all GPUs that are held at the end."""
    total = schedule.machines.total_gpus * WHOLE
    return 1.0 - float(schedule.free.left.sum()) / total if total else float("nan")
