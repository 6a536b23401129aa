"""RL agent: a dueling double DQN (`learning/dqn.py`) that learns from rewards which device to take.

The agent scores one candidate per device class, the least-loaded device of it, and takes the best; while it explores,
any. What it observes of a decision is stored in arrays that the compiled `choose` fills and training reads again.
Beside the network it learns how long tasks take: queues serve the least expected seconds first, each task goes to the
device of its class where it delays all others least, and energy counts at those seconds.
Trained on measured workloads with custom features, it also reads predicted durations and the place in a graph.
"""

from __future__ import annotations

import math
import zipfile
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from hybrid_scheduler import registry
from hybrid_scheduler.core import Cluster, Placements, Tasks, elementary
from hybrid_scheduler.core.compiler import compiled, jitable, kernel
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.core.view import (
    DeviceIndex,
    TaskView,
    View,
    find_cheapest,
    free_time,
    start_on,
    typical_seconds,
)
from hybrid_scheduler.errors import InputError, check_number
from hybrid_scheduler.learning.background import TrainingLoop
from hybrid_scheduler.learning.dqn import (
    REWARDS,
    AgentTrainer,
    AgentUpdate,
    Decisions,
    DQNTrainer,
    Float32s,
    ReplayBuffer,
    Weights,
    init_weights,
    q_values,
)
from hybrid_scheduler.learning.durations import DurationModel, DurationObservation, DurationTrainer, UnfinishedTasks
from hybrid_scheduler.learning.features import FeatureTable, graph_features, has_custom_features, longest_path
from hybrid_scheduler.learning.insight import NAN, POINTS, AgentHistory, AgentInsight, AgentPoint, CurvePoint
from hybrid_scheduler.learning.model_files import check_manifest, load_model, read_manifest, save_model
from hybrid_scheduler.schedulers.fallback import (
    choose_by_means,
    find_earliest,
    imagine_queues,
    is_doubted,
    is_proven,
    loses_to_rule,
    note_arrival,
    rank_task,
    steal_for,
)
from hybrid_scheduler.schedulers.graph_rule import (
    choose_in_graph,
    close_account,
    follows_model,
    keeps_account,
    open_account,
    read_history,
    weigh_theft_in_graph,
)
from hybrid_scheduler.schedulers.learner import (
    SHORTEST,
    Learner,
    check_energy_weight,
    is_shortest_first,
    list_workloads,
    weigh,
)
from hybrid_scheduler.schedulers.least_increase import find_least_increase
from hybrid_scheduler.schedulers.scheduler import Evidence

FEATURES = (
    "size / 10000", "√(size / 10000)", "compute_intensity", "memory / 5000",
    "is a GPU", "watts / 100", "log wait", "log of the shortest wait", "wait beyond the mean",
)  # fmt: skip
GRAPH_FEATURES = ("upward rank", "depth over chain", "log parents", "log children", "log MB in", "log MB out")
EXTENDED_FEATURES = (
    "log of learnt seconds", "learnt seconds over the best", "learnt end after the earliest", *GRAPH_FEATURES,
)  # fmt: skip
"""Features that a network with predicted durations reads after `FEATURES`; ranks are in predicted seconds."""
AUTO, NONE = (
    "auto",
    "none",
)  # start from the pretrained model of the cluster (`studies/pretraining.py`), or from nothing
STATES = ("queues", "task")
DURATIONS_PREFIX = "times_"  # of the names of the duration model's arrays in a file of version 1.0
BLOCK, PRETRAIN_BLOCK = 10, 2  # decisions between two training steps, online and in pretraining
QUEUE_SLOPE = 0.02  # by which a class is worth less per mean task that its shortest wait is beyond the mean
LOW_EPSILON = 0.1  # below it the agent trusts its scores …
MAX_TRIAL_COST = 2.0  # … and skips trials that it expects to cost so many mean tasks more than the best
PRETRAIN_DECISIONS = 4000  # decisions, at least, on workloads with custom features …
PRETRAIN_STEPS = 0.25  # … and gradient steps for each
DURATION_TREES, DURATION_WINDOW = 20, 1000  # of the model of durations that orders queues
DURATION_INTERVAL, DURATION_TOLERANCE = 50, 0.1  # tasks between two checks, and the error up to which it stays
ORDER_PREFIX = "order_"  # of the names of its arrays in a file of version 1.0
CRITICALITY_EXPONENT = 4.0  # how fast criticality falls as the longest path through a task gets shorter


# --- observing and scoring -----------------------------------------------------------------------------------------


@jitable
def observe(agent: Any, task: TaskView, view: View) -> int:
    """Find the candidates and store what is observed of them; return how many there are."""
    row, classes = task.row, agent.state.shape[1]
    for candidate in range(classes):
        agent.device[candidate] = -1
    find_candidates(agent, task, view, view.device_index)
    number, total, shortest = 0, 0.0, np.inf
    for candidate in range(classes):
        device = agent.device[candidate]
        agent.possible[row, candidate] = device >= 0
        if device >= 0:
            wait = max(view.free[device] - task.ready_time, 0.0)
            agent.wait[row, candidate] = wait
            number, total, shortest = number + 1, total + wait, min(shortest, wait)
    if number == 0:  # fits no device whole: any answer will do, the loop splits or rejects it
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
                seen[6] = math.log1p(wait / agent.time_scale) / 5.0
                seen[7] = math.log1p(shortest / agent.time_scale) / 5.0
                seen[8] = min(max((wait - total / number) / agent.time_scale / 50.0, -1.0), 1.0)
    if agent.extended:
        observe_durations(agent, task, view)
    return number


@jitable
def find_candidates(agent: Any, task: TaskView, view: View, index: DeviceIndex | None) -> None:
    """Find the least-loaded device of every class that can hold the task."""
    if index is None:
        for device in range(len(view.free)):
            candidate = view.device_class[device]
            known = agent.device[candidate]
            if task.memory_required <= view.memory[device] and (known < 0 or view.free[device] < view.free[known]):
                agent.device[candidate] = device
    else:
        for candidate in range(len(index.first)):
            device, free = find_cheapest(index, candidate, -np.inf, free_time, ())
            if free < np.inf and task.memory_required <= view.memory[device]:
                agent.device[candidate] = device


@jitable
def observe_durations(agent: Any, task: TaskView, view: View) -> None:
    """Store the extended features: predicted durations and the place in the graph."""
    row, least, earliest = task.row, np.inf, np.inf
    for candidate in range(agent.state.shape[1]):
        if agent.device[candidate] >= 0:
            seconds = agent.expected[row, candidate]
            agent.ends[candidate] = start_on(task, view, agent.device[candidate]) + seconds
            least, earliest = min(least, seconds), min(earliest, agent.ends[candidate])
    for candidate in range(agent.state.shape[1]):
        if agent.device[candidate] >= 0:
            seen, seconds = agent.state[row, candidate], agent.expected[row, candidate]
            seen[9] = math.log(seconds / agent.time_scale) / 5.0
            seen[10] = math.log(seconds / least) / 5.0
            seen[11] = math.log1p((agent.ends[candidate] - earliest) / agent.time_scale) / 5.0
            for number in range(agent.graph.shape[1]):
                seen[12 + number] = agent.graph[row, number]


@jitable
def knows_costs(agent: Any, view: View) -> bool:
    """Whether learnt durations and prices tell what a decision costs; an extended network reads durations itself."""
    known = agent.has_durations and len(agent.prices) == agent.state.shape[1]
    return known and not agent.extended and is_proven(view)


@jitable
def add_costs(agent: Any, row: int, candidate: int, advantage: float, priced: bool) -> float:
    """Return the advantage corrected by what is known: the waits of the queues, and what learnt durations cost.

    The network sees long waits coarsely, and errs most where classes cost nearly the same.
    """
    if agent.sees_queues:
        total, number = 0.0, 0
        for each in range(agent.state.shape[1]):
            if agent.possible[row, each]:
                total, number = total + agent.wait[row, each], number + 1
        advantage -= QUEUE_SLOPE * (agent.wait[row, candidate] - total / number) / agent.time_scale
    if priced:
        advantage = 0.5 * (advantage - agent.prices[candidate] * agent.seconds[row, candidate] / agent.time_scale)
    return advantage


@jitable
def score(agent: Any, seen: Float32s) -> float:
    """Return the advantage of a candidate; the state's value is the same for all."""
    dense(seen, agent.w1, agent.b1, agent.first, True)
    dense(agent.first, agent.w2, agent.b2, agent.second, True)
    dense(agent.second, agent.w3, agent.b3, agent.out, False)
    return agent.out[1]


@kernel
def dense(inputs: Float32s, weights: Float32s, bias: Float32s, outputs: Float32s, rectify: bool) -> None:
    """Write one layer's outputs; inputs that a ReLU has set to 0 cost nothing."""
    for j in range(len(outputs)):
        outputs[j] = bias[j]
    for k in range(len(inputs)):
        if inputs[k] != 0.0:
            for j in range(len(outputs)):
                outputs[j] += inputs[k] * weights[k, j]
    if rectify:
        for j in range(len(outputs)):
            outputs[j] = max(outputs[j], np.float32(0.0))


class ExtendedState:
    """Predicted durations, graph features and criticality of a block of tasks."""

    def __init__(self, model: DurationModel, tasks: Tasks) -> None:
        self.expected = model.predict(FeatureTable.from_tasks(tasks)).mean
        self.graph = np.zeros((len(tasks), len(GRAPH_FEATURES)), np.float32)
        self.criticality = np.zeros(len(tasks))
        if tasks.has_edges:
            self._add_graph(tasks, self.expected.min(axis=1))

    def _add_graph(self, tasks: Tasks, seconds: Floats) -> None:
        depth, height, parents, children, megabytes_in, megabytes_out = graph_features(tasks).T
        rank = longest_path(tasks, seconds)
        through = longest_path(tasks, seconds, backwards=True) + rank - seconds
        columns = (
            rank / rank.max(),
            depth / np.maximum(depth + height, 1.0),
            elementary.log1p(parents) / 3.0,
            elementary.log1p(children) / 3.0,
            elementary.log1p(megabytes_in) / 10.0,
            elementary.log1p(megabytes_out) / 10.0,
        )
        self.graph = np.column_stack(columns).astype(np.float32)
        self.criticality = (through / through.max()) ** CRITICALITY_EXPONENT


# --- the policy ----------------------------------------------------------------------------------------------------


class RLAgent(Learner):
    """Learns while it runs; `pretrain` gives it a start, `save_model` and `load_model` keep what it learnt."""

    name = "rl_agent"
    stochastic = True
    indexes_queues, indexes_devices = True, True
    reads_history = True
    shared = ("_trainer", "_training", "curve", "_points", "_order_model", "_unfinished")
    row_arrays = ("state", "possible", "wait", "action")
    runtime_options = ("online", "order", "energy_weight", "fallback")
    pretraining_tasks = 6000
    zero_shot = True  # candidates are scored one by one, so any classes and any number of them will do

    def __init__(
        self,
        gamma: Annotated[float, "discount: how much the future counts, 0 to 1"] = 0.9,
        epsilon: Annotated[float, "share of random decisions, at the start"] = 1.0,
        epsilon_min: Annotated[float, "… and in the end"] = 0.01,
        epsilon_decay: Annotated[float, "factor of epsilon per task"] = 0.9995,
        replay: Annotated[int, "capacity of the replay buffer, in decisions"] = 50_000,
        batch: Annotated[int, "decisions of one gradient step"] = 128,
        target_update: Annotated[int, "gradient steps between two copies of the target network"] = 100,
        learning_rate: Annotated[float, "step size of Adam"] = 5e-4,
        steps_per_task: Annotated[float, "gradient steps per task"] = 0.125,
        energy_weight: Annotated[float, "weight of energy against time, 0 (time only) to 1"] = 0.0,
        order: Annotated[str, "queues: shortest expected duration first, or fifo"] = SHORTEST,
        reward: Annotated[str, "price, turnaround or execution"] = "price",
        state: Annotated[str, "queues, or task: the bare task without the queues"] = "queues",
        online: Annotated[bool, "whether it learns while it runs"] = True,
        background: Annotated[
            int, "train in another process: updates this many tasks later, -1 when ready, 0 not"
        ] = 0,
        fallback: Annotated[bool, "whether a simple rule decides while predictions are no better than means"] = True,
        model: Annotated[str, "model file to start from; auto: pretrained for the cluster, none: untrained"] = AUTO,
        seed: Annotated[int, "seed of weights and exploration"] = 0,
    ) -> None:
        if reward not in REWARDS:
            raise InputError(f"rl_agent: reward is '{reward}', expected {', '.join(REWARDS)}")
        shares = (("gamma", gamma), ("epsilon", epsilon), ("epsilon_min", epsilon_min))
        for name, value in (*shares, ("epsilon_decay", epsilon_decay), ("learning_rate", learning_rate)):
            check_number(f"rl_agent: {name}", value, 0, 1)
        whole = (("replay", replay, 1, 10**7), ("batch", batch, 1, 10**6), ("target_update", target_update, 1, 10**9))
        for name, count, least, most in (*whole, ("background", background, -1, 10**6), ("seed", seed, 0, 2**53)):
            check_number(f"rl_agent: {name}", count, least, most, whole=True)
        check_number("rl_agent: steps_per_task", steps_per_task, 0, 100)
        if state not in STATES:
            raise InputError(f"rl_agent: state is '{state}', expected {', '.join(STATES)}")
        self._shortest = is_shortest_first(order, self.name)
        self.falls_back, self.in_order, self.in_graph = bool(fallback) and self._shortest, False, False
        self.steals = self.falls_back
        self.imagined, self.account = imagine_queues(1)
        self.account_of_graph = close_account()  # what has ended in the graph that runs
        self.arrivals = np.zeros(3)  # tasks so far, and when the first and the last of them were ready
        self.learn_every = BLOCK if online else 0
        self.prices = np.empty(0)  # of a second of every class; none before the first are known
        self.adds_costs = True  # but for pretraining, where the network has to find out by itself
        self.sees_queues = state == "queues"
        self._seed = seed
        self._generator = np.random.default_rng([seed, 0xA6E])
        self._trainer = AgentTrainer(
            network=DQNTrainer(init_weights(len(FEATURES), seed), gamma, learning_rate, batch, target_update),
            replay=ReplayBuffer(replay),
            reward=reward,
            steps_per_task=steps_per_task,
            epsilon=float(epsilon),
            epsilon_min=epsilon_min,
            decay=epsilon_decay,
            seed=seed,
            durations=DurationTrainer(DURATION_INTERVAL, seed, DURATION_TREES, DURATION_WINDOW, DURATION_TOLERANCE),
        )
        self._training = TrainingLoop(self._trainer, background)
        self._demonstration = np.empty(0, np.int64)
        self._shape: dict[str, int] = {}  # devices by class where it was last trained
        self.curve: deque[CurvePoint] = deque(maxlen=20_000)
        self._points = deque[AgentPoint](maxlen=POINTS)
        self._decisions, self._updates, self._reward = 0, 0, NAN
        self.set_energy_weight(energy_weight)
        self._duration_model: DurationModel | None = None
        self._order_model: DurationModel | None = None
        self._unfinished = UnfinishedTasks()
        self.has_durations = False
        self.seconds = np.ones((0, 1))  # expected, by task and class; all alike before the first durations are learnt
        self._criticality: Floats | None = None
        self.extended = False
        self.expected, self.graph, self.ends = np.empty((0, 1)), np.empty((0, 1), np.float32), np.zeros(1)
        self.classes = 1
        self._apply(self._trainer.state)
        self._allocate(0)
        self.model = model or NONE  # in a spec, none is read as nothing
        if self.model not in (AUTO, NONE):
            self.load_model(model)

    def _allocate(self, count: int) -> None:
        """Allocate the arrays of a block and draw its random numbers; training reads them again."""
        classes = self.classes
        self.state = np.zeros((count, classes, len(self.w1)), np.float32)
        self.possible = np.zeros((count, classes), np.bool_)
        self.wait = np.zeros((count, classes))
        self.action = np.zeros(count, np.int64)
        self.demonstrated = np.full(count, -1, np.int64)  # a demonstrator's choice; -1: the agent's own
        self.draws = self._generator.random((count, 2))
        self.device = np.zeros(classes, np.int64)
        self.only, self.none = np.full(classes, np.inf), np.zeros(classes)  # seconds on one class; tasks to come
        self.likely = np.zeros(classes)  # seconds of a task by which the agent is judged
        hidden = len(self.b1)
        self.first, self.second, self.out = (np.zeros(n, np.float32) for n in (hidden, hidden, 2))

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> None:
        """Allocate a block and predict its durations."""
        # A class whose devices have all failed keeps its place: experience must not change its shape.
        self.classes = max(self.classes, int(view.device_class.max()) + 1)
        self._allocate(len(tasks))
        self.in_order, self.in_graph = not self._shortest or tasks.has_edges, tasks.has_edges
        if self.imagined.shape[1] != len(view.free):
            self.imagined, self.account = imagine_queues(len(view.free))
        self._criticality = None
        if self._duration_model is not None:
            state = ExtendedState(self._duration_model, tasks)
            self.expected, self.graph, self.ends = state.expected, state.graph, np.zeros(self.classes)
            self._criticality = state.criticality if tasks.has_edges else None
        self.seconds = self._expected_seconds(tasks)
        self.account_of_graph = close_account()
        if tasks.has_edges and self.falls_back and len(view.history) and self.energy_weight == 0.0:
            self.account_of_graph = open_account(tasks, view.expected.shape[1], self.predict_seconds())
        if len(self._demonstration):
            self.demonstrated[:] = self._demonstration[: len(tasks)]
            self._demonstration = self._demonstration[len(tasks) :]

    def _expected_seconds(self, tasks: Tasks) -> Floats:
        model = self._duration_model or self._order_model
        self.has_durations = model is not None and len(model.classes) >= self.classes
        if model is None or not self.has_durations:
            return np.ones((len(tasks), self.classes))
        return self.expected if model is self._duration_model else model.predict(FeatureTable.from_tasks(tasks)).mean

    def predict_seconds(self) -> Floats | None:
        """Return what the model of durations expects."""
        return self.seconds if self.has_durations else None

    def reorders(self, tasks: Tasks) -> bool:
        """Whether queues are ordered, or idle devices may steal; tasks of a graph are served as they become ready."""
        return self.falls_back or (self._shortest and not tasks.has_edges)

    @compiled
    def key(self, task: TaskView, view: View, device: int) -> float:
        """Return the expected seconds: the shortest goes first."""
        if len(self.account_of_graph.order) > 0:
            return float(self.account_of_graph.order[task.row])
        return rank_task(self, task, view, device)

    @compiled
    def steal(self, task: TaskView, view: View, device: int, victim: int) -> float:
        """Rob a queue where that helps all tasks: queues were chosen by estimates."""
        kernels = self.account_of_graph
        if keeps_account(kernels, view) and not follows_model(kernels, task.row, view):
            return weigh_theft_in_graph(kernels, task, view, device, victim)
        return steal_for(self, task, view, device, victim)

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Score every candidate, then take the best or, exploring, any."""
        row = task.row
        note_arrival(self.arrivals, task.ready_time)
        number = observe(self, task, view)
        demonstrated = self.demonstrated[row]
        skip = int(self.draws[row, 1] * number) if self.draws[row, 0] < self.epsilon else -1
        taken, best, tried, trial = -1, -np.inf, -1, 0.0
        priced = knows_costs(self, view)
        for candidate in range(self.state.shape[1]):
            if not self.possible[row, candidate]:
                continue
            advantage = score(self, self.state[row, candidate])
            if self.adds_costs:
                advantage = add_costs(self, row, candidate, advantage, priced)
            if self.energy_weight > 0.0:
                joules = view.watts[self.device[candidate]] * self.seconds[row, candidate] / self.time_scale
                advantage = -weigh(-advantage, joules, self.energy_weight)
            if advantage > best:
                taken, best = candidate, advantage
            if skip == 0:
                tried, trial = candidate, advantage
            skip -= 1
        # A trial that would surely cost more than a few tasks teaches nothing new.
        if tried >= 0 and best - trial <= self.max_trial_cost:
            taken = tried
        if demonstrated >= 0 and self.possible[row, demonstrated]:
            taken = demonstrated
        device = self.device[taken]
        if self.falls_back and demonstrated < 0 and len(view.ended) > 0:
            doubted = is_doubted(view, self.has_durations)
            for kind in range(len(self.likely)):
                self.likely[kind] = typical_seconds(kind, view.ended) if doubted else self.seconds[row, kind]
            loses = loses_to_rule(self, task, view, device, self.likely)
            # In a graph a wrong class holds up all that depends on the task, and few tasks are left to learn from it.
            if keeps_account(self.account_of_graph, view):
                read_history(self.account_of_graph, view)
                if follows_model(self.account_of_graph, row, view):
                    device = find_earliest(task, view, self.likely)
                else:
                    device = choose_in_graph(self.account_of_graph, task, view)
            elif doubted and self.in_graph:
                _, device = choose_by_means(task, view)
            elif (loses or self.in_graph) and self.energy_weight == 0.0:
                device = find_earliest(task, view, self.likely)
            taken = view.device_class[device]
        self.action[row] = taken
        if self.has_durations and len(view.queue_count) > 0 and not self.in_order:
            self.only[:] = np.inf
            self.only[taken] = self.seconds[row, taken]
            found = find_least_increase(task, self.only, view, self.none)
            device = found if found >= 0 else device
        return float(view.kind[device]), device

    def evidence(self, task: TaskView, view: View) -> Evidence:
        """Return Q of each candidate for a task of this block, in units of the mean task; NaN: no candidate."""
        observe(self, task, view)
        weights = Weights(*(getattr(self, name) for name in Weights._fields))
        rows = slice(task.row, task.row + 1)
        q = q_values(weights, self.state[rows], self.possible[rows])[0]
        scores = np.full(len(view.free), np.nan)
        for candidate in np.flatnonzero(self.possible[task.row]):
            scores[self.device[candidate]] = q[candidate]
        return Evidence(task.times, scores)

    # --- learning --------------------------------------------------------------------------------------------------

    def learn(self, placements: Placements) -> None:
        """Train on a block, in the foreground or in the background."""
        decisions = self._collect(placements)
        update: AgentUpdate | None = self._training.train(decisions, len(decisions.action))
        self._apply(update)
        if update is None:
            return
        self._updates += update.weights is not None
        self._reward = update.reward
        if np.isfinite(update.loss):
            task = int(placements.tasks.task_id[-1])
            self._points.append(AgentPoint(task, update.epsilon, update.loss, update.reward))

    def _collect(self, placements: Placements) -> Decisions:
        """Return the decisions of a block with what they cost."""
        self._shape = placements.cluster.shape
        self._decisions += len(placements)
        turnaround = placements.finish - placements.ready if placements.tasks.has_edges else placements.turnaround
        rows = np.arange(len(placements))
        expected = self.wait[rows, self.action] + placements.execution  # of those that still wait
        decisions = Decisions(
            state=self.state,
            possible=self.possible,
            wait=self.wait,
            action=self.action,
            times=placements.times,
            execution=placements.execution,
            turnaround=np.where(np.isnan(turnaround), expected, turnaround),
            counts=placements.cluster.counts,
            queued=placements.queued,
            ended=self._unfinished.exchange(placements) if self._duration_model is None else None,
            criticality=self._criticality,
        )
        if placements.tasks.has_edges:  # transitions go from decision to decision, not from row to row
            rows = np.lexsort((np.arange(len(placements)), placements.ready))
            return decisions.take(rows[placements.ran[rows]])
        return decisions if placements.ran.all() else decisions.take(placements.ran)

    def _apply(self, update: AgentUpdate | None) -> None:
        if update is None:
            return
        self._steps = update.steps
        self.time_scale, self.epsilon = update.time_scale, update.epsilon
        self.max_trial_cost = MAX_TRIAL_COST if update.epsilon <= LOW_EPSILON else np.inf
        if update.weights is not None:
            self.extended = len(update.weights.w1) > len(FEATURES)
            self.w1, self.b1, self.w2, self.b2, self.w3, self.b3 = update.weights
        self._order_model = update.durations or self._order_model
        self.prices = self.prices if update.prices is None else update.prices
        if np.isfinite(update.loss):
            self.curve.append(CurvePoint(self._decisions, update.steps, update.loss, update.epsilon, update.reward))

    def set_energy_weight(self, weight: float) -> None:
        """Weigh energy against time in every decision, from the next block on."""
        self.energy_weight = check_energy_weight(weight, self.name)

    def train_in_background(self, delay: int) -> None:
        """Train in another process from now on."""
        self._training = TrainingLoop(self._trainer, delay)

    @property
    def training_lag(self) -> int:
        """The tasks after which updates were applied, in the mean of a run."""
        return self._training.lag

    def warm_up(self) -> None:
        """Load what background training needs before the clock starts."""
        self._training.warm_up()

    def close(self) -> None:
        """End the background process, if there is one."""
        self._training.close()

    # --- pretraining -----------------------------------------------------------------------------------------------

    def forget_durations(self) -> None:
        """Forget how long tasks take; the network stays."""
        self._order_model = self._trainer.durations.model = None

    def needs_pretraining(self, warm_start: bool = False) -> bool:
        """Whether the model of the cluster should be loaded: unless the user named one or none."""
        del warm_start
        return self.model == AUTO

    def pretrain(
        self,
        workloads: Tasks | Sequence[Tasks],
        cluster: Cluster,
        mode: str = "queued",
        measured: bool = False,
        demonstrator: str = "price",
        share: float = 0.5,
        steps_per_task: float = 0.5,
    ) -> None:
        """Imitate another policy on a `share` of the tasks, explore on the rest, and train on both.

        On measured workloads with custom features a new network is trained that reads predicted durations too.
        """
        workloads = list_workloads(workloads)
        if measured and any(map(has_custom_features, workloads)):
            self._pretrain_extended(workloads, cluster)
            return
        for tasks in workloads:
            if tasks.has_edges:
                raise InputError(f"{self.name} cannot be pretrained on generated graphs: train it on measured ones")
            self._pretrain_independent(tasks, cluster, mode, demonstrator, share, steps_per_task)

    def _pretrain_independent(
        self, tasks: Tasks, cluster: Cluster, mode: str, demonstrator: str, share: float, steps_per_task: float
    ) -> None:
        machine, trainer = VirtualMultiGPU(cluster=cluster, mode=mode), self._trainer
        # What it learns of queues depends neither on their order nor on a rule that decides in its place.
        before, self._shortest, self.falls_back = (self._shortest, self.falls_back), False, False
        self.adds_costs = False
        self._demonstrate(tasks, machine, demonstrator, share)
        online_steps, trainer.steps_per_task, trainer.epsilon = trainer.steps_per_task, steps_per_task, 1.0
        self._apply(trainer.state)
        machine.reset()
        for first in range(0, len(tasks), PRETRAIN_BLOCK):
            placements = machine.step(tasks.part(first, first + PRETRAIN_BLOCK), self)
            self._apply(trainer.train(self._collect(placements)))
        trainer.steps_per_task, trainer.epsilon = online_steps, trainer.epsilon_min
        self._apply(trainer.state)
        self._demonstration = np.empty(0, np.int64)
        self._shortest, self.falls_back = before
        self.adds_costs = True
        self._order_model = trainer.durations.pretrain([DurationObservation.from_tasks(tasks, cluster)])

    def _pretrain_extended(self, workloads: Sequence[Tasks], cluster: Cluster) -> None:
        """Fit durations, then imitate a planner on half of the tasks and explore on the rest."""
        observations = (DurationObservation.from_tasks(tasks, cluster) for tasks in workloads)
        self._duration_model = DurationTrainer(1, self._seed).pretrain(observations)
        if self._duration_model is None:
            return
        inputs = len(FEATURES) + len(EXTENDED_FEATURES)
        self._set_weights(init_weights(inputs, self._seed), self._duration_model.typical)
        trainer, falls_back = self._trainer, self.falls_back
        online_steps, trainer.steps_per_task = trainer.steps_per_task, PRETRAIN_STEPS
        trainer.epsilon, self.falls_back, self.adds_costs = 1.0, False, False
        self._apply(trainer.state)
        machine = VirtualMultiGPU(cluster=cluster)
        for _ in range(max(2, -(-PRETRAIN_DECISIONS // sum(map(len, workloads))))):
            for tasks in workloads:
                self._demonstrate(tasks, machine, "heft" if tasks.has_edges else "price", share=0.5)
                machine.reset()
                self._apply(trainer.train(self._collect(machine.step(tasks, self))))
                self._demonstration = np.empty(0, np.int64)
        trainer.epsilon, self.falls_back, trainer.steps_per_task = trainer.epsilon_min, falls_back, online_steps
        self.adds_costs = True
        self._apply(trainer.state)

    def _demonstrate(self, tasks: Tasks, machine: VirtualMultiGPU, demonstrator: str, share: float) -> None:
        """Set which class another policy takes for a random `share` of the tasks."""
        shown = machine.run(tasks, registry.schedulers.create(demonstrator))
        device = np.where(shown.gpu_fraction >= 0.5, shown.gpu, shown.cpu)
        followed = self._generator.random(len(tasks)) < share
        self._demonstration = np.where(followed, machine.cluster.class_index[device], -1)

    # --- display and files -----------------------------------------------------------------------------------------

    @property
    def insight(self) -> AgentInsight:
        """The state of training, for display."""
        return AgentInsight(
            version=self._updates,
            beside=self._training.in_background,
            epsilon=float(self.epsilon),
            loss=self._points[-1].loss if self._points else NAN,
            reward=self._reward,
            steps=self._steps,
            updates=self._updates,
        )

    @property
    def weights(self) -> dict[str, Float32s]:
        """The weights of the network by layer."""
        return {name: getattr(self, name) for name in Weights._fields}

    @property
    def history(self) -> AgentHistory:
        """The last gradient steps."""
        return AgentHistory(list(self._points))

    def save_model(self, path: str | Path) -> None:
        """Write the weights and the models of durations as arrays, and their manifest."""
        kept = {
            "weights": self.weights,
            "time_scale": self.time_scale,
            "durations": self._duration_model,
            "order": self._order_model,
        }
        training = {"steps": self._steps, "reward": self._trainer.reward, "epsilon": self.epsilon}
        features = FEATURES if self._duration_model is None else (*FEATURES, *EXTENDED_FEATURES)
        save_model(kept, path, kind=self.name, features=features, training=training, cluster=self._shape)

    def load_model(self, path: str | Path) -> None:
        """Read weights that `save_model` wrote, also in version 1.0; exploration goes on at its minimum."""
        if _is_torch_file(path):
            check_manifest(read_manifest(path), path, self.name)
            kept = _read_tensors(path)
        else:
            kept = load_model(path, kind=self.name)
        try:
            weights = Weights(**{name: np.asarray(kept["weights"][name], np.float32) for name in Weights._fields})
            time_scale, durations, order = float(kept["time_scale"]), kept["durations"], kept["order"]
            for model in (durations, order):
                if model is not None:
                    model.check()
        except Exception as error:  # a file can hold anything
            raise InputError(
                f"{path} holds no weights of rl_agent ({type(error).__name__}): train it again"
            ) from error
        self._check_weights(weights, time_scale, len(FEATURES) + (len(EXTENDED_FEATURES) if durations else 0), path)
        self._duration_model, self._order_model = durations, order
        self._trainer.durations.model = order
        self._set_weights(weights, time_scale)

    @staticmethod
    def _check_weights(weights: Weights, time_scale: float, features: int, path: str | Path) -> None:
        if not all(each.size and np.isfinite(each).all() for each in (*weights, np.asarray(time_scale))):
            raise InputError(f"{path} holds weights that are no numbers (NaN, infinite or none): train it again")
        if weights.w1.shape[0] != features:
            raise InputError(
                f"{path} reads {weights.w1.shape[0]} features, this agent has {features}: train it again"
            )
        if any(own.shape != each.shape for own, each in zip(init_weights(features, 0), weights, strict=True)):
            raise InputError(f"{path} holds layers of other sizes than this agent has: train it again")

    def _set_weights(self, weights: Weights, time_scale: float) -> None:
        trainer, old = self._trainer, self._trainer.network
        trainer.network = DQNTrainer(weights, old.gamma, old.learning_rate, old.batch, old.target_update)
        trainer.time_scale, trainer.epsilon = time_scale, trainer.epsilon_min
        self._apply(trainer.state)

    save, load = save_model, load_model


def _is_torch_file(path: str | Path) -> bool:
    """Return whether a file is one of version 1.0, which wrote weights with torch."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as packed:
        return any(name.endswith("data.pkl") for name in packed.namelist())


def _read_tensors(path: str | Path) -> dict[str, Any]:
    """Return what a file of version 1.0 holds as `save_model` has it now; nothing in it is ever run."""
    import torch

    try:
        tensors = torch.load(path, weights_only=True, map_location="cpu")
        arrays = {name: each.numpy() for name, each in tensors.items()}
        durations, order = (
            {name.removeprefix(prefix): part for name, part in arrays.items() if name.startswith(prefix)}
            for prefix in (DURATIONS_PREFIX, ORDER_PREFIX)
        )
        return {
            "weights": arrays,
            "time_scale": arrays["typical"],
            "durations": DurationModel.from_arrays(durations) if durations else None,
            "order": DurationModel.from_arrays(order) if order else None,
        }
    except Exception as error:  # whatever torch raises about what is no file of its own
        raise InputError(f"{path} holds no weights of rl_agent ({type(error).__name__}): train it again") from error
