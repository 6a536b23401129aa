"""Dispatching by learnt times: a task goes where it costs all tasks least, not where it ends first.

A task of x seconds on a device with u seconds of work before it ends after u + x. It also holds up those that come
after it, by λ·(2ux + x²)/(2(1 − ρ)) in the mean if λ tasks a second go to that device and it is busy ρ of the time
(the value function of the M/G/1 queue; Krishnan 1990, Hyytiä et al. 2012). The square is what counts where a few
tasks are huge: it keeps them off the devices on which many others wait. It also makes the policy wary, since the
expected square of an uncertain time is larger than that of a sure one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid_scheduler.compiling import compiled, jitable
from hybrid_scheduler.view import TaskView, View, start_on

USUAL_LOAD, USUAL_TASKS = 0.8, 10.0  # what is believed of the stream until it has shown itself, and for how long
FULLEST = 0.9  # the formula has no answer at full load


@compiled
def by_weighing(policy: Any, task: TaskView, view: View) -> tuple[float, int]:
    """Return the device on which the task costs all tasks least, or the planned one while its plan is any good."""
    follows = len(policy.device) > 0
    rate, idle, pull = 0.0, 1.0, 0.0
    if not follows:
        rate, idle = arrivals(policy, task.ready_time)
        pull = policy.pull
    best, least = -1, np.inf
    for device in range(len(view.free)):
        if task.memory_required > view.memory[device]:
            continue
        kind = view.device_class[device]
        wait = start_on(task, view, device) - task.ready_time
        mean, square = policy.seconds[task.row, kind], policy.square[task.row, kind]
        held_up = policy.selfless * rate * policy.belongs[kind] * (2.0 * wait * mean + square) / (2.0 * idle)
        cost = (1.0 - pull) * (wait + mean + held_up) + pull * view.watts[device] * mean / 100.0
        if cost < least:
            best, least = device, cost
    if follows:
        planned = policy.device[task.row]  # costs are ends here: a task of a plan minds nobody else
        # A task leaves its planned device when elsewhere it can end before it could start there.
        if task.memory_required <= view.memory[planned] and start_on(task, view, planned) - task.ready_time <= least:
            best = planned
    best = max(best, 0)
    return float(view.kind[best]), best


@jitable
def arrivals(policy: Any, now: float) -> tuple[float, float]:
    """Note an arrival; return the rate of arrivals, and the share of the time in which devices are idle."""
    usual_rate = USUAL_LOAD / policy.work
    if policy.stream[0] == 0.0:
        policy.stream[1] = now
    policy.stream[0] += 1.0
    rate = (USUAL_TASKS + policy.stream[0]) / (USUAL_TASKS / usual_rate + max(now - policy.stream[1], 0.0))
    return rate, 1.0 - min(rate * policy.work, FULLEST)
