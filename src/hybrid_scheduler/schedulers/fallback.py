"""The rule that a learner falls back to, and when: algorithms with predictions must be robust if those are wrong.

The rule sees no more than the learner: a task goes where it should end first by the mean seconds of the tasks that
have ended on each class, and a device that falls idle steals from a queue that it helps (Blumofe and Leiserson 1999),
later only from devices of its class: they were queued for by estimates.
Two accounts of what has already happened say whether the learner is better:

* Its predictions: their errors on tasks that have ended, against those of the means (`View.ended`). Until some have
  ended, a learner with a model decides, but idle devices already steal.
* Its decisions: they and the rule, by the same expected seconds, each fill queues that are only imagined; the learner
  is followed while its tasks do not take longer there (switching between experts; Blum and Burch 2000).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid_scheduler.core.compiler import jitable
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.core.view import TaskView, View, data_ready_time, start_on, typical_seconds

EVIDENCE = 10.0  # tasks that have ended before errors count
MARGIN = 0.9  # errors of predictions that are worth something, over those of the means
TOLERANCE = 1.05  # by which the imagined turnaround of a learner may exceed that of the rule
MEMORY, RESTART = 0.02, 500.0  # weight of a task in the imagined turnarounds, and tasks until both start level again


@jitable
def sum_errors(view: View) -> tuple[float, float, float]:
    """Return how many tasks have ended, and the sums of the errors of the predictions and of the means."""
    number, own, mean = 0.0, 0.0, 0.0
    for kind in range(len(view.ended)):
        number += view.ended[kind, 0]
        own += view.ended[kind, 0] * view.ended[kind, 2]
        mean += view.ended[kind, 0] * view.ended[kind, 3]
    return number, own, mean


@jitable
def is_proven(view: View) -> bool:
    """Whether predictions have been better than the means of what has ended; True where nobody keeps accounts."""
    number, own, mean = sum_errors(view)
    return len(view.ended) == 0 or (number >= EVIDENCE and own <= MARGIN * mean)


@jitable
def is_doubted(view: View, predicts: bool) -> bool:
    """Whether the means should decide: there are no predictions, or they have not been better."""
    number, own, mean = sum_errors(view)
    if len(view.ended) == 0:
        return False
    return not predicts if number < EVIDENCE else own > MARGIN * mean


@jitable
def end_by_means(view: View, device: int) -> float:
    """Return when a device should end what runs and waits there, by the means of what has ended."""
    return view.running_end[device] + view.waiting[device] * typical_seconds(view.device_class[device], view.ended)


@jitable
def choose_by_means(task: TaskView, view: View) -> tuple[float, int]:
    """Return the device on which the task should end first by the means of what has ended."""
    best, least = 0, np.inf
    for device in range(len(view.free)):
        if task.memory_required <= view.memory[device]:
            start = max(data_ready_time(task.ready_time, view, device), end_by_means(view, device))
            end = start + typical_seconds(view.device_class[device], view.ended)
            if end < least:
                best, least = device, end
    return float(view.kind[best]), best


@jitable
def weigh_theft(view: View, thief: int, victim: int) -> float:
    """Return what it is worth to an idle device to steal from a queue; the longest one is robbed.

    A device of the same class loses nothing. One of another class steals while predictions are not proven, unless its
    victim ends all its work before it ends one task: what moves gives its seconds to all behind it, so the end of the
    queue counts.
    """
    if view.device_class[thief] != view.device_class[victim]:
        left = end_by_means(view, victim) - view.running_end[thief]
        if is_proven(view) or typical_seconds(view.device_class[thief], view.ended) >= left:
            return 0.0
    return float(view.waiting[victim])


def imagine_queues(devices: int) -> tuple[Floats, Floats]:
    """Return when imagined devices are free, the learner's and the rule's, and the account of `loses_to_rule`."""
    return np.zeros((2, devices)), np.zeros(3)  # tasks, and mean turnarounds


@jitable
def loses_to_rule(policy: Any, task: TaskView, view: View, device: int, seconds: Floats) -> tuple[bool, int]:
    """Imagine a decision of the learner and that of the rule; return whether to follow the rule, and its device.

    `seconds` are those expected by class: the learner's own once they are proven, else the means.
    """
    best, least = 0, np.inf
    for each in range(len(view.free)):
        if task.memory_required <= view.memory[each]:
            end = max(task.ready_time, policy.imagined[1, each]) + seconds[view.device_class[each]]
            if end < least:
                best, least = each, end
    own = max(task.ready_time, policy.imagined[0, device]) + seconds[view.device_class[device]]
    policy.imagined[0, device], policy.imagined[1, best] = own, least
    account = policy.account
    account[0] += 1.0
    weight = max(MEMORY, 1.0 / account[0])
    account[1] += weight * (own - task.ready_time - account[1])
    account[2] += weight * (least - task.ready_time - account[2])
    if account[0] % RESTART == 0.0:
        for each in range(len(view.free)):
            policy.imagined[0, each] = policy.imagined[1, each]
    return account[0] >= EVIDENCE and account[1] > TOLERANCE * account[2], best


@jitable
def find_earliest(task: TaskView, view: View, seconds: Floats) -> int:
    """Return the device on which the task should end first by expected seconds."""
    best, least = 0, np.inf
    for device in range(len(view.free)):
        if task.memory_required <= view.memory[device]:
            end = start_on(task, view, device) + seconds[view.device_class[device]]
            if end < least:
                best, least = device, end
    return best
