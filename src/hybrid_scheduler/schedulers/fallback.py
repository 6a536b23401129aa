"""The rule that a learner falls back to, and when: algorithms with predictions must be robust if those are wrong.

The rule sees no more than the learner: a task goes where it should end first by the mean seconds of the tasks that
have ended on each class, and a device that falls idle steals from a queue that it helps (Blumofe and Leiserson 1999).
Two accounts of what has already happened say whether the learner is better:

* Its predictions: their errors on tasks that have ended, against those of the means (`View.ended`). Until some have
  ended, a learner with a model decides, but idle devices already steal.
* Its decisions: they and the rule, by the same expected seconds, each fill queues that are only imagined; the learner
  is followed while its tasks do not take longer there, or all of them end sooner (switching between experts; Blum and
  Burch 2000).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hybrid_scheduler.core.compiler import jitable
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.core.view import TaskView, View, data_ready_time, start_on, typical_seconds

EVIDENCE = 10.0  # tasks that have ended before errors count
MARGIN = 0.9  # errors of predictions that are worth something, over those of the means
TOLERANCE = 1.05  # by which the imagined turnaround of a learner may exceed that of the rule
SILENCE, TINY = 10.0, 1e-12  # mean gaps without an arrival from which on none is expected, and the least gap
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
def rank_by_means(kind: int, ended: Floats) -> float:
    """Return the mean seconds of a class as a key: a power of two, so that tasks are served as they come.

    Those that come before any has ended go first: nobody knows yet what their seconds are to others.
    """
    known = 0.0
    for each in range(len(ended)):
        known += ended[each, 0]
    if known == 0.0:
        return 0.0
    return float(2.0 ** np.round(math.log2(max(typical_seconds(kind, ended), TINY))))


@jitable
def rank_task(policy: Any, task: TaskView, view: View, device: int) -> float:
    """Return the key of a task for a learner's queue: the least expected seconds first, or as they come."""
    if policy.in_order:
        return float(task.ready_time)
    kind = view.device_class[device]
    if policy.falls_back and is_doubted(view, policy.has_durations):
        return rank_by_means(kind, view.ended)
    return float(policy.seconds[task.row, kind])


@jitable
def note_arrival(arrivals: Floats, now: float) -> None:
    """Count a task that has come: how many, when the first, when the last."""
    if arrivals[0] == 0.0:
        arrivals[1] = now
    arrivals[0] += 1.0
    arrivals[2] = now


@jitable
def estimate_rate(arrivals: Floats, now: float) -> float:
    """Return how many tasks come in a second: as many as so far, or none any more if none has come for long."""
    gap = (arrivals[2] - arrivals[1]) / max(arrivals[0] - 1.0, 1.0)
    silence = now - arrivals[2]
    return 1.0 / max(gap if silence <= SILENCE * gap else silence, TINY)


@jitable
def steal_for(policy: Any, task: TaskView, view: View, thief: int, victim: int) -> float:
    """Return what a theft is worth to a learner that falls back, if time alone counts."""
    if not policy.falls_back or policy.energy_weight > 0.0 or len(view.ended) == 0:
        return 0.0
    return weigh_theft(policy.arrivals, task, view, thief, victim)


@jitable
def weigh_theft(arrivals: Floats, task: TaskView, view: View, thief: int, victim: int) -> float:
    """Return what it is worth to all tasks, in seconds, that an idle device steals the next one of a queue.

    A device of the same class always helps. While predictions are not proven, one of another class steals if it ends
    one task, by the means, before its victim ends all its work: what moves gives its seconds to all behind it. Later
    it steals if that ends before, though it took longer than predicted by the errors of predictions over those of the
    means, and if the task and those behind it gain more than a thief that is busy for x seconds costs those that come
    to it: λx²/2.
    """
    there, here = view.device_class[victim], view.device_class[thief]
    now, left = view.running_end[thief], end_by_means(view, victim) - view.running_end[thief]
    if there == here:
        return left
    if not is_proven(view):
        return left if typical_seconds(here, view.ended) < left else 0.0
    saved, needed = task.times[there], task.times[here]
    gain = view.running_end[victim] + saved - (now + needed) + view.waiting[victim] * saved
    gain -= 0.5 * needed * needed * estimate_rate(arrivals, now) / len(view.free)
    _, own, mean = sum_errors(view)
    return gain if now + (1.0 + own / max(mean, TINY)) * needed < view.free[victim] else 0.0


def imagine_queues(devices: int) -> tuple[Floats, Floats]:
    """Return when imagined devices are free, the learner's and the rule's, and the account of `loses_to_rule`."""
    return np.zeros((2, devices)), np.zeros(5)  # tasks, mean turnarounds, and mean seconds until the last queue ends


@jitable
def loses_to_rule(policy: Any, task: TaskView, view: View, device: int, seconds: Floats) -> bool:
    """Imagine a decision of the learner and that of the rule; return whether to follow the rule.

    The learner loses if its tasks take longer and its last queue ends later: under overload, who ends all work first
    is right to let a task take longer. `seconds` are those expected by class: the learner's own once they are proven,
    else the means.
    """
    best, least, now, account = 0, np.inf, task.ready_time, policy.account
    for each in range(len(view.free)):
        if task.memory_required <= view.memory[each]:
            end = max(now, policy.imagined[1, each]) + seconds[view.device_class[each]]
            if end < least:
                best, least = each, end
            same = view.device_class[each] == view.device_class[device]
            if same and policy.imagined[0, each] < policy.imagined[0, device]:
                device = each
    own = max(now, policy.imagined[0, device]) + seconds[view.device_class[device]]
    policy.imagined[0, device], policy.imagined[1, best] = own, least
    account[0] += 1.0
    weight = max(MEMORY, 1.0 / account[0])
    for who in range(2):
        turnaround, left = (own if who == 0 else least) - now, 0.0
        for each in range(len(view.free)):
            left = max(left, policy.imagined[who, each] - now)
        account[1 + who] += weight * (turnaround - account[1 + who])
        account[3 + who] += weight * (left - account[3 + who])
    if account[0] % RESTART == 0.0:
        for each in range(len(view.free)):
            policy.imagined[0, each] = policy.imagined[1, each]
    return account[0] >= EVIDENCE and account[1] > TOLERANCE * account[2] and account[3] > account[4]


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
