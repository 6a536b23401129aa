"""How a learner decides tasks of a graph of which it knows little: by what has ended inside that very graph.

Tasks that look alike, such as the calls of one kernel, take about as long as each other. So each kernel keeps an
account on each class of devices: the mean seconds of its tasks that have ended there, and how wrong the predictions
for them were. Until one has ended, a kernel belongs on the kind of device that `greedy` would give most of it to, a
GPU from a compute intensity of a half on, or on the class where it is predicted to be fastest. Any other class is
tried by one task of a kernel at a time, and only if that should pay although the class is many times slower: in a
graph one task on the wrong class holds up all that depends on it.

Predictions of a kernel are followed until they turn out to be wrong; then the mean of what has ended stands for them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hybrid_scheduler.core.cluster import GPU
from hybrid_scheduler.core.compiler import jitable
from hybrid_scheduler.core.late_binding import Waiting
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.core.view import TaskView, View, data_ready_time, start_on, typical_seconds
from hybrid_scheduler.learning.features import longest_path, task_features
from hybrid_scheduler.schedulers.fallback import is_doubted

DOUBT = 0.3  # mean error of the logarithms of predictions, from which on the means of a kernel are more likely right
RISK = 8.0  # times as slow as where a kernel has ended that a class may be on which nothing has
LOOKAHEAD = 128  # tasks that wait that are dealt out to devices
NUMBER, SECONDS, RATIO, ERROR, SPREAD = range(5)  # of an account: how many have ended, their mean seconds, the mean
# logarithm of those over the predicted ones, its mean absolute value, and the mean error of the mean so far


class GraphAccount(NamedTuple):
    """What is known of the kernels of a graph while it runs."""

    kernel: Ints  # by row
    prefers: Ints  # by row: the kind of device that suits it by its compute intensity
    order: Floats  # by row: the least is served first
    guess: Floats  # by row and class: predicted seconds, NaN without a prediction
    ended: Floats  # by kernel and class: the account
    tried: Ints  # by kernel and class: 1 + the row that is the first of its kernel there, 0 if there is none
    read: Ints  # one entry: how much of the history is in the account
    dealt: Ints  # room for `pick_in_graph`: positions …
    needed: Floats  # … and seconds by class


def open_account(tasks: Tasks, classes: int, seconds: Floats | None) -> GraphAccount:
    """Return an empty account for a graph; `seconds` are what a model predicts by row and class, if there is one."""
    kernel, count = group_kernels(tasks), len(tasks)
    guess = np.full((count, classes), np.nan)
    if seconds is not None:
        known = min(classes, seconds.shape[1])
        guess[:, :known] = seconds[:, :known]
    kernels = int(kernel.max(initial=-1)) + 1
    prefers = np.where(tasks.compute_intensity >= 0.5, GPU, 1 - GPU).astype(np.int64)
    tried, read = np.zeros((kernels, classes), np.int64), np.zeros(1, np.int64)
    order, dealt = rank_rows(tasks), np.zeros(LOOKAHEAD, np.int64)
    ended = np.zeros((kernels, classes, 5))
    return GraphAccount(kernel, prefers, order, guess, ended, tried, read, dealt, np.zeros(classes))


def close_account() -> GraphAccount:
    """Return the account of no graph at all."""
    none = np.empty(0, np.int64)
    table, nothing = np.empty((0, 1)), np.empty(0)
    return GraphAccount(none, none, nothing, table, np.empty((0, 1, 5)), table.astype(np.int64), none, none, nothing)


def rank_rows(tasks: Tasks) -> Floats:
    """Return the negative number of tasks on the longest path to the end: most depends on what is far from it."""
    return -longest_path(tasks, np.ones(len(tasks)))


def group_kernels(tasks: Tasks) -> Ints:
    """Return the number of a kernel for every task: those with the same value in each column that has few of them.

    A column in which nearly every task has a value of its own tells no kernels apart.
    """
    few = max(2.0, len(tasks) ** 0.5)
    columns = [*task_features(tasks).T, *tasks.features.values()]
    coded = [np.unique(column, return_inverse=True)[1] for column in columns]
    kept = [codes.reshape(-1) for codes in coded if codes.max(initial=0) < few]
    if not kept or not len(tasks):
        return np.zeros(len(tasks), np.int64)
    return np.unique(np.column_stack(kept), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


@jitable
def keeps_account(account: Any, view: View) -> bool:
    """Whether tasks belong to a graph of which a history is kept."""
    return len(account.kernel) > 0 and len(view.history) > 0


@jitable
def read_history(account: Any, view: View) -> None:
    """Enter what has ended since the last look."""
    for entry in range(account.read[0] + 1, int(view.history[0, 0]) + 1):
        row, kind, seconds = int(view.history[entry, 0]), int(view.history[entry, 1]), view.history[entry, 2]
        kernel = account.kernel[row]
        known = account.ended[kernel, kind]
        known[NUMBER] += 1.0
        number = known[NUMBER]
        if seconds > 0.0:
            if account.guess[row, kind] > 0.0:
                ratio = math.log(seconds / account.guess[row, kind])
                known[RATIO] += (ratio - known[RATIO]) / number
                known[ERROR] += (abs(ratio) - known[ERROR]) / number
            if known[SECONDS] > 0.0:
                spread = abs(math.log(seconds / known[SECONDS]))
                known[SPREAD] += (spread - known[SPREAD]) / max(number - 1.0, 1.0)
        known[SECONDS] += (seconds - known[SECONDS]) / number
        for each in range(account.tried.shape[1]):
            if account.tried[kernel, each] == row + 1:
                account.tried[kernel, each] = 0
    account.read[0] = int(view.history[0, 0])


@jitable
def is_wrong(account: Any, row: int) -> bool:
    """Whether the predictions for a kernel have been worse than doubtful, and than the means of what has ended."""
    number, error, spread = 0.0, 0.0, 0.0
    kernel = account.kernel[row]
    for kind in range(account.ended.shape[1]):
        known = account.ended[kernel, kind]
        number += known[NUMBER]
        error += known[NUMBER] * known[ERROR]
        spread += known[NUMBER] * known[SPREAD]
    return number > 0.0 and error > max(DOUBT * number, spread)


@jitable
def follows_model(account: Any, row: int, view: View) -> bool:
    """Whether a task has predictions, and they have been right: those of its kernel, and on the whole."""
    return account.guess[row, 0] > 0.0 and not is_wrong(account, row) and not is_doubted(view, True)


@jitable
def mean_error(account: Any) -> float:
    """Return the mean error of all predictions that have been put to the test."""
    number, error = 0.0, 0.0
    for kernel in range(account.ended.shape[0]):
        for kind in range(account.ended.shape[1]):
            number += account.ended[kernel, kind, NUMBER]
            error += account.ended[kernel, kind, NUMBER] * account.ended[kernel, kind, ERROR]
    return error / number if number > 0.0 else 0.0


@jitable
def expect_in_graph(account: Any, row: int, kind: int, view: View) -> float:
    """Return the seconds that a task should take on a class by its kernel's account, its prediction, or the mean."""
    known, guess = account.ended[account.kernel[row], kind], account.guess[row, kind]
    if known[NUMBER] > 0.0:
        if guess > 0.0 and not is_wrong(account, row):
            return guess * math.exp(known[RATIO])
        return known[SECONDS]
    return guess if guess > 0.0 else typical_seconds(kind, view.ended)


@jitable
def find_safe(account: Any, row: int, memory: float, view: View) -> tuple[int, int]:
    """Return the kind and the class of device that suits a task before its kernel has an account; -1: no matter."""
    best, suits = -1, False
    for device in range(len(view.free)):
        if memory <= view.memory[device]:
            kind = view.device_class[device]
            suits |= view.kind[device] == account.prefers[row]
            if account.guess[row, kind] > 0.0 and (best < 0 or account.guess[row, kind] < account.guess[row, best]):
                best = kind
    return (account.prefers[row] if suits and best < 0 else -1), best


@jitable
def bear_risk(account: Any, row: int, kind: int, suits: int, safe: int, is_kind: int, view: View) -> float:
    """Return the seconds to reckon with on a class: more where its kernel has not ended there, inf if not to try."""
    kernel, seconds = account.kernel[row], expect_in_graph(account, row, kind, view)
    if account.ended[kernel, kind, NUMBER] > 0.0 or kind == safe or (safe < 0 and (suits < 0 or suits == is_kind)):
        return seconds
    tried = account.tried[kernel, kind]
    being_tried = tried > 0 and tried != row + 1
    if safe >= 0 and account.guess[row, kind] > 0.0:
        error = mean_error(account)
        if being_tried and error > DOUBT:
            return np.inf
        return seconds if is_wrong(account, row) else seconds * math.exp(error)  # no class is safe for a wrong one
    if being_tried:
        return np.inf
    if view.ended[kind, 0] > 0.0:
        return seconds
    least = np.inf
    for other in range(account.ended.shape[1]):
        if account.ended[kernel, other, NUMBER] > 0.0:
            least = min(least, account.ended[kernel, other, SECONDS])
    return RISK * least


@jitable
def choose_in_graph(account: Any, task: TaskView, view: View) -> int:
    """Return the device on which a task of a graph should end first; what is expected of it estimates the queues."""
    row, best, least = task.row, -1, np.inf
    suits, safe = find_safe(account, row, task.memory_required, view)
    for device in range(len(view.free)):
        if task.memory_required <= view.memory[device]:
            kind = view.device_class[device]
            end = start_on(task, view, device) + bear_risk(account, row, kind, suits, safe, view.kind[device], view)
            if best < 0 or end < least:
                best, least = device, end
    best = max(best, 0)
    for kind in range(view.expected.shape[1]):
        view.expected[row, kind] = expect_in_graph(account, row, kind, view)
    kernel, kind = account.kernel[row], view.device_class[best]
    if account.ended[kernel, kind, NUMBER] == 0.0 and account.tried[kernel, kind] == 0:
        account.tried[kernel, kind] = row + 1
    return best


@jitable
def weigh_theft_in_graph(account: Any, task: TaskView, view: View, thief: int, victim: int) -> float:
    """Return by how many seconds a task of a graph ends earlier if an idle device steals it; 0 if it does not.

    One of the same class takes the first that waits, which always helps; any other the last.
    """
    here, there = view.device_class[thief], view.device_class[victim]
    now, row = view.running_end[thief], task.row
    start = data_ready_time(now, view, thief)
    if here == there:
        stay = max(data_ready_time(now, view, victim), view.running_end[victim])
        return max(stay - start, 0.0)
    suits, safe = find_safe(account, row, task.memory_required, view)
    return max(view.free[victim] - start - bear_risk(account, row, here, suits, safe, view.kind[thief], view), 0.0)


@jitable
def note_trials(account: Any, running: Ints, view: View) -> None:
    """Note which kernels are being tried on a class where none of them has ended, by what runs on each device."""
    account.tried[:] = 0
    for device in range(len(running)):
        if running[device] >= 0:
            kernel, kind = account.kernel[running[device]], view.device_class[device]
            if account.ended[kernel, kind, NUMBER] == 0.0:
                account.tried[kernel, kind] = running[device] + 1


@jitable
def pick_in_graph(account: Any, waiting: Waiting, device: int, view: View, left: Floats) -> int:
    """Return the position of the task that an idle device should take, -1 for none.

    The tasks that wait are dealt out in their order, each to the device where it should end first; `left` is room for
    the seconds until each device is free. The device takes the first that it is dealt while it is idle.
    """
    for each in range(len(left)):
        left[each] = max(view.running_end[each] - waiting.now, 0.0)
    for place in range(sort_waiting(account, waiting)):
        position = account.dealt[place]
        row = waiting.row[position]
        best, least, memory = -1, np.inf, waiting.memory_required[row]
        suits, safe = find_safe(account, row, memory, view)
        account.needed[:] = np.nan
        for each in range(len(left)):
            kind = view.device_class[each]
            if memory > view.memory[each] or waiting.times[min(row, len(waiting.times) - 1), kind] == np.inf:
                continue
            if np.isnan(account.needed[kind]):
                account.needed[kind] = bear_risk(account, row, kind, suits, safe, view.kind[each], view)
            if best < 0 or left[each] + account.needed[kind] < least:
                best, least = each, left[each] + account.needed[kind]
        if best == device and left[device] <= 0.0:
            return int(position)
        if best >= 0:
            left[best] = least
    return -1


@jitable
def sort_waiting(account: Any, waiting: Waiting) -> int:
    """Write the positions of the tasks that wait in their order, as many as there is room for; return how many."""
    count = 0
    for position in range(waiting.length):
        order = account.order[waiting.row[position]]
        place = count if count < len(account.dealt) else count - 1
        if count == len(account.dealt) and order >= account.order[waiting.row[account.dealt[place]]]:
            continue
        while place > 0 and account.order[waiting.row[account.dealt[place - 1]]] > order:
            account.dealt[place] = account.dealt[place - 1]
            place -= 1
        account.dealt[place] = position
        count = min(count + 1, len(account.dealt))
    return count
