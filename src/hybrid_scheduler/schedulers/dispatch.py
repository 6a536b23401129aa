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

from hybrid_scheduler.compiling import jitable
from hybrid_scheduler.view import TaskView, View, start_on

USUAL_LOAD, USUAL_TASKS = 0.8, 10.0  # what is believed of the stream until it has shown itself, and for how long
FULLEST = 0.9  # the formula has no answer at full load


@jitable
def least_cost(policy: Any, task: TaskView, view: View) -> int:
    """Return the device on which the task costs all tasks least; the rate of arrivals is noted on the way."""
    usual_rate = USUAL_LOAD / policy.work
    if policy.stream[0] == 0.0:
        policy.stream[1] = task.ready_time
    policy.stream[0] += 1.0
    rate = (USUAL_TASKS + policy.stream[0]) / (
        USUAL_TASKS / usual_rate + max(task.ready_time - policy.stream[1], 0.0)
    )
    idle = 1.0 - min(rate * policy.work, FULLEST)
    best, least = -1, np.inf
    for device in range(len(view.free)):
        if task.memory_required > view.memory[device]:
            continue
        kind = view.device_class[device]
        wait = max(view.free[device] - task.ready_time, 0.0)
        mean, square = policy.seconds[task.row, kind], policy.square[task.row, kind]
        held_up = rate * policy.belongs[kind] * (2.0 * wait * mean + square) / (2.0 * idle)
        joules = view.watts[device] * mean
        cost = (1.0 - policy.pull) * (wait + mean + policy.selfless * held_up) + policy.pull * joules / 100.0
        if cost < least:
            best, least = device, cost
    return max(best, 0)


@jitable
def kept_or_left(policy: Any, task: TaskView, view: View) -> int:
    """Return the planned device, unless things went so wrong that elsewhere the task ends its own time sooner."""
    planned, best, earliest = policy.device[task.row], 0, np.inf
    for device in range(len(view.free)):
        if task.memory_required <= view.memory[device]:
            end = start_on(task, view, device) + policy.seconds[task.row, view.device_class[device]]
            if end < earliest:
                best, earliest = device, end
    in_vain = task.memory_required > view.memory[planned]
    return best if in_vain or start_on(task, view, planned) > earliest else planned
