"""What rl_agent sees of a decision, written down for its network and the lessons after, and how it scores it."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid_scheduler.compiling import jitable
from hybrid_scheduler.learning.dqn import Singles
from hybrid_scheduler.view import TaskView, View, start_on


@jitable
def look(agent: Any, task: TaskView, view: View) -> int:
    """Find the candidates and write down what is seen of them; return how many there are."""
    row, classes = task.row, agent.state.shape[1]
    for candidate in range(classes):
        agent.device[candidate] = -1
    for device in range(len(view.free)):
        candidate = view.device_class[device]
        known = agent.device[candidate]
        if task.memory_required <= view.memory[device] and (known < 0 or view.free[device] < view.free[known]):
            agent.device[candidate] = device
    number, total, shortest = 0, 0.0, np.inf
    for candidate in range(classes):
        device = agent.device[candidate]
        agent.possible[row, candidate] = device >= 0
        if device >= 0:
            wait = max(view.free[device] - task.ready_time, 0.0)
            agent.wait[row, candidate] = wait
            number, total, shortest = number + 1, total + wait, min(shortest, wait)
    if number == 0:  # fits no device whole: any answer will do, the loop finds a place or rejects it
        agent.possible[row, view.device_class[0]] = True
        agent.device[view.device_class[0]] = 0
        return 1
    for candidate in range(classes):
        device = agent.device[candidate]
        if device >= 0:
            seen = agent.state[row, candidate]
            seen[0] = task.size / 10000.0
            seen[1] = np.sqrt(task.size / 10000.0)
            seen[2] = task.compute_intensity
            seen[3] = task.memory_required / 5000.0
            seen[4] = view.kind[device]
            seen[5] = view.watts[device] / 100.0
            if agent.sees_queues:
                wait = agent.wait[row, candidate]
                seen[6] = np.log1p(wait / agent.typical) / 5.0
                seen[7] = np.log1p(shortest / agent.typical) / 5.0
                seen[8] = min(max((wait - total / number) / agent.typical / 50.0, -1.0), 1.0)
    if agent.more:
        look_further(agent, task, view)
    return number


@jitable
def look_further(agent: Any, task: TaskView, view: View) -> None:
    """Write down what a wide network sees too: learnt times, and the place in a graph."""
    row, least, earliest = task.row, np.inf, np.inf
    for candidate in range(agent.state.shape[1]):
        if agent.device[candidate] >= 0:
            seconds = agent.expected[row, candidate]
            agent.ends[candidate] = start_on(task, view, agent.device[candidate]) + seconds
            least, earliest = min(least, seconds), min(earliest, agent.ends[candidate])
    for candidate in range(agent.state.shape[1]):
        if agent.device[candidate] >= 0:
            seen, seconds = agent.state[row, candidate], agent.expected[row, candidate]
            seen[9] = np.log(seconds / agent.typical) / 5.0
            seen[10] = np.log(seconds / least) / 5.0
            seen[11] = np.log1p((agent.ends[candidate] - earliest) / agent.typical) / 5.0
            for number in range(agent.place.shape[1]):
                seen[12 + number] = agent.place[row, number]


@jitable
def score(agent: Any, seen: Singles) -> float:
    """Return the advantage of a candidate; the state's value is the same for all."""
    dense(seen, agent.w1, agent.b1, agent.first, True)
    dense(agent.first, agent.w2, agent.b2, agent.second, True)
    dense(agent.second, agent.w3, agent.b3, agent.out, False)
    return agent.out[1]


@jitable
def dense(inputs: Singles, weights: Singles, bias: Singles, outputs: Singles, rectified: bool) -> None:
    """Write one layer's outputs; inputs that a ReLU has set to 0 cost nothing."""
    for j in range(len(outputs)):
        outputs[j] = bias[j]
    for k in range(len(inputs)):
        if inputs[k] != 0.0:
            for j in range(len(outputs)):
                outputs[j] += inputs[k] * weights[k, j]
    if rectified:
        for j in range(len(outputs)):
            outputs[j] = max(outputs[j], np.float32(0.0))
