"""What `attention_agent` sees of the tasks that wait and of the devices, and how it scores them, in compiled code.

Both training (`attention.py`) and decisions (`schedulers/attention_agent.py`) read the set by `observe`, so they see
the same. All figures are logarithms relative to the mean task that waits: nothing depends on units, on how many tasks
or devices there are, or on their order.

Beside bare figures the agent sees what a rule thinks of every pair: waiting tasks are assigned in turn, shortest
first, each where it adds least to the sum of all turnarounds (`least_increase`, replanned at every question); a
second of a device is as dear as tasks usually wait for its class. The regret of a pair is what it adds beyond that.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hybrid_scheduler.core.compiler import jitable, no_inline
from hybrid_scheduler.core.late_binding import runs_fastest
from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.core.view import View

TASK_FIGURES, DEVICE_FIGURES, PAIR_FIGURES = 2, 2, 2
WIDTH = 8  # of the network
FARTHEST = 6.0  # of a pair that cannot run, and the largest figure
MEMORY = 0.01  # weight of one moment in the running mean of what waits
PRICE = 5.0  # of a second, per task that waits: fewer wait here than in queues of their own, and more are to come
NONE = -1


class WaitingSet(NamedTuple):
    """The question of an idle device, and room for what is observed of it."""

    seconds: Floats  # by task and class: expected
    need: Floats  # by task: memory
    age: Floats  # by task: seconds since it became ready
    left: Floats  # by device: seconds until it is free
    idle: Floats  # by class: the largest memory of a device that is idle, or -1
    length: Floats  # by class: price of a second, by a running mean of the tasks that wait per device
    order: Ints  # of the tasks, the shortest first
    load: Floats  # by device
    assigned: Floats  # by class: tasks that the rule has assigned
    members: Floats  # by class: devices
    tasks: Floats  # figures by task
    devices: Floats  # figures by device
    pairs: Floats  # figures by task and device
    allowed: Any  # by task: whether the device may take it; after the last task: whether it may take none


class Weights(NamedTuple):
    """The network: matrices are (inputs, outputs)."""

    task: Floats
    task_bias: Floats
    device: Floats
    device_bias: Floats
    query: Floats  # tasks attend to devices
    key: Floats
    value: Floats
    pair_weight: Floats
    pair_value: Floats
    device_query: Floats  # the device that asks attends to tasks
    task_key: Floats
    task_value: Floats
    task_weight: Floats
    from_task: Floats  # score of a pair
    from_device: Floats
    from_pair: Floats
    hidden_bias: Floats
    score: Floats
    rule: Floats  # weights of the figures of a pair and of a task's length, past the hidden layer
    none_hidden: Floats  # score of taking nothing
    none_bias: Floats  # one entry


def weight_shapes(width: int = WIDTH) -> dict[str, tuple[int, ...]]:
    """Return the shape of every array of the network."""
    square, pair = (width, width), (PAIR_FIGURES,)
    return {
        "task": (TASK_FIGURES, width), "task_bias": (width,), "device": (DEVICE_FIGURES, width),
        "device_bias": (width,), "query": square, "key": square, "value": square, "pair_weight": pair,
        "pair_value": (PAIR_FIGURES, width), "device_query": square, "task_key": square, "task_value": square,
        "task_weight": pair, "from_task": square, "from_device": square, "from_pair": (PAIR_FIGURES, width),
        "hidden_bias": (width,), "score": (width,), "rule": (PAIR_FIGURES + 1,), "none_hidden": (width,),
        "none_bias": (1,),
    }  # fmt: skip


@jitable
def observe(now: WaitingSet, count: int, asking: int, view: View, learns: bool) -> int:
    """Write the figures of `count` tasks and all devices, and what is allowed; return what the rule would take.

    `learns` says that this moment counts in the running means of what waits.
    """
    total = sort_by_length(now, count, view)
    scale = total / count if total > 0.0 else 1.0
    for device in range(len(now.left)):
        now.load[device] = now.left[device]
        now.devices[device, 0] = min(math.log1p(now.left[device] / scale), FARTHEST)
        now.devices[device, 1] = 1.0 if device == asking else 0.0
    now.assigned[:] = 0.0
    taken = NONE
    for place in range(count):
        task = now.order[place]
        best = weigh_pairs(now, task, scale, view)
        if best >= 0:
            if best == asking and now.load[best] <= 0.0 and taken == NONE:
                taken = task
            kind = view.device_class[best]
            now.load[best] += now.seconds[task, kind]
            now.assigned[kind] += 1.0
    if learns:
        for kind in range(len(now.length)):
            now.length[kind] += MEMORY * (PRICE * now.assigned[kind] / now.members[kind] - now.length[kind])
    find_allowed(now, count, asking, view)
    if taken != NONE and not now.allowed[taken]:
        taken = NONE
    if taken == NONE and not now.allowed[count]:  # the rule waits where it must not: the shortest that is allowed
        for place in range(count - 1, -1, -1):
            if now.allowed[now.order[place]]:
                taken = now.order[place]
    return taken


@jitable
def sort_by_length(now: WaitingSet, count: int, view: View) -> float:
    """Order the tasks by their seconds on the best class that holds them; return the sum of those seconds."""
    total = 0.0
    for task in range(count):
        least = shortest(now, task, view)
        total += least if least < np.inf else 0.0
        now.tasks[task, 0] = least
        place = task
        while place > 0 and now.tasks[now.order[place - 1], 0] > least:
            now.order[place] = now.order[place - 1]
            place -= 1
        now.order[place] = task
    return total


@jitable
def shortest(now: WaitingSet, task: int, view: View) -> float:
    """Return the least seconds of a task over all devices that hold it."""
    least = np.inf
    for device in range(len(now.left)):
        if now.need[task] <= view.memory[device]:
            least = min(least, now.seconds[task, view.device_class[device]])
    return least


@jitable
def weigh_pairs(now: WaitingSet, task: int, scale: float, view: View) -> int:
    """Write the figures of a task and of its pairs; return the device on which the rule puts it."""
    least, best = now.tasks[task, 0], NONE
    cheapest = np.inf
    for device in range(len(now.left)):
        kind = view.device_class[device]
        seconds = now.seconds[task, kind] if now.need[task] <= view.memory[device] else np.inf
        cost = now.load[device] + seconds * (1.0 + now.length[kind])
        now.pairs[task, device, 0] = cost
        now.pairs[task, device, 1] = min(math.log(seconds / least), FARTHEST) if seconds < np.inf else FARTHEST
        if cost < cheapest:
            best, cheapest = device, cost
    for device in range(len(now.left)):
        cost = now.pairs[task, device, 0]
        now.pairs[task, device, 0] = (
            min(math.log1p((cost - cheapest) / least), FARTHEST) if cost < np.inf else FARTHEST
        )
    now.tasks[task, 0] = min(max(math.log(least / scale), -FARTHEST), FARTHEST) if least < np.inf else FARTHEST
    now.tasks[task, 1] = min(math.log1p(max(now.age[task], 0.0) / scale), FARTHEST)
    return best


@jitable
def find_allowed(now: WaitingSet, count: int, asking: int, view: View) -> None:
    """Find what the device may take: what no idle one runs faster; nothing, if busy ones run all of it faster."""
    may_wait = True
    for task in range(count):
        allowed = runs_fastest(now.seconds[task], now.need[task], asking, view, now.idle)
        now.allowed[task] = allowed
        if allowed:
            own, faster = now.seconds[task, view.device_class[asking]], False
            for device in range(len(now.left)):
                holds = now.need[task] <= view.memory[device]
                faster |= holds and now.seconds[task, view.device_class[device]] < own
            may_wait &= faster
    now.allowed[count] = may_wait


class Scratch(NamedTuple):
    """Room for the network's activations."""

    task_hidden: Floats  # by task
    device_hidden: Floats  # by device
    device_key: Floats
    device_value: Floats
    asking_hidden: Floats
    vector: Floats
    other: Floats
    attention: Floats  # by device or task, whichever are more


@no_inline
def score_tasks(weights: Weights, now: WaitingSet, count: int, asking: int, room: Scratch, scores: Floats) -> None:
    """Write the score of every task for the device that asks, and behind them that of taking nothing."""
    width = len(weights.task_bias)
    root = math.sqrt(width)
    for device in range(len(now.left)):
        hidden = room.device_hidden[device]
        dense(now.devices[device], weights.device, weights.device_bias, hidden)
        rectify(hidden)
        project(hidden, weights.key, room.device_key[device])
        project(hidden, weights.value, room.device_value[device])
    for task in range(count):
        attend_to_devices(weights, now, task, root, room)
    attend_to_tasks(weights, now, count, asking, root, room)
    project(room.asking_hidden, weights.from_device, room.other)
    for task in range(count):
        project(room.task_hidden[task], weights.from_task, room.vector)
        scores[task] = weights.rule[PAIR_FIGURES] * now.tasks[task, 0]
        for figure in range(PAIR_FIGURES):
            scores[task] += weights.rule[figure] * now.pairs[task, asking, figure]
        for unit in range(width):
            summed = room.vector[unit] + room.other[unit] + weights.hidden_bias[unit]
            for figure in range(PAIR_FIGURES):
                summed += now.pairs[task, asking, figure] * weights.from_pair[figure, unit]
            scores[task] += max(summed, 0.0) * weights.score[unit]
    scores[count] = weights.none_bias[0]
    for unit in range(width):
        scores[count] += room.asking_hidden[unit] * weights.none_hidden[unit]


@jitable
def attend_to_devices(weights: Weights, now: WaitingSet, task: int, root: float, room: Scratch) -> None:
    """Let a task look at all devices: its hidden state gains what it finds there."""
    hidden, devices = room.task_hidden[task], len(now.left)
    dense(now.tasks[task], weights.task, weights.task_bias, hidden)
    rectify(hidden)
    project(hidden, weights.query, room.vector)
    largest = -np.inf
    for device in range(devices):
        weight = dot(room.vector, room.device_key[device]) / root
        for figure in range(PAIR_FIGURES):
            weight += weights.pair_weight[figure] * now.pairs[task, device, figure]
        room.attention[device] = weight
        largest = max(largest, weight)
    total = 0.0
    for device in range(devices):
        room.attention[device] = math.exp(room.attention[device] - largest)
        total += room.attention[device]
    for device in range(devices):
        share = room.attention[device] / total
        for unit in range(len(hidden)):
            hidden[unit] += share * room.device_value[device, unit]
            for figure in range(PAIR_FIGURES):
                hidden[unit] += share * now.pairs[task, device, figure] * weights.pair_value[figure, unit]


@jitable
def attend_to_tasks(weights: Weights, now: WaitingSet, count: int, asking: int, root: float, room: Scratch) -> None:
    """Let the device that asks look at all tasks."""
    project(room.device_hidden[asking], weights.device_query, room.vector)
    largest = -np.inf
    for task in range(count):
        project(room.task_hidden[task], weights.task_key, room.other)
        weight = dot(room.vector, room.other) / root
        for figure in range(PAIR_FIGURES):
            weight += weights.task_weight[figure] * now.pairs[task, asking, figure]
        room.attention[task] = weight
        largest = max(largest, weight)
    total = 0.0
    for task in range(count):
        room.attention[task] = math.exp(room.attention[task] - largest)
        total += room.attention[task]
    for unit in range(len(room.asking_hidden)):
        room.asking_hidden[unit] = room.device_hidden[asking, unit]
    for task in range(count):
        project(room.task_hidden[task], weights.task_value, room.other)
        for unit in range(len(room.other)):
            room.asking_hidden[unit] += room.attention[task] / total * room.other[unit]


@jitable
def dense(inputs: Floats, matrix: Floats, bias: Floats, outputs: Floats) -> None:
    """Write a layer's outputs."""
    project(inputs, matrix, outputs)
    for unit in range(len(outputs)):
        outputs[unit] += bias[unit]


@jitable
def project(inputs: Floats, matrix: Floats, outputs: Floats) -> None:
    """Write inputs · matrix."""
    outputs[:] = 0.0
    for place in range(len(inputs)):
        for unit in range(len(outputs)):
            outputs[unit] += inputs[place] * matrix[place, unit]


@jitable
def rectify(values: Floats) -> None:
    """Set what is negative to 0."""
    for unit in range(len(values)):
        values[unit] = max(values[unit], 0.0)


@jitable
def dot(one: Floats, other: Floats) -> float:
    """Return the sum of products."""
    total = 0.0
    for place in range(len(one)):
        total += one[place] * other[place]
    return total
