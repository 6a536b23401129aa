"""Hybrid ML: a random forest that predicts GPU shares and durations, retrained online.

Two rules decide, whichever model is there:

* By predicted share (basic features): prefer a GPU if the predicted share is above a threshold that moves with the
  difference of the queues; take the other side if that one is idle and ends earlier, or if energy counts and what it
  saves there is worth the time.
* By predicted durations (custom features, graphs): a task goes where it costs all tasks least. A task of x seconds
  on a device with u seconds of work ends after u + x and delays those behind it by λ·(2ux + x²)/(2(1 − ρ)) in the
  mean if λ tasks a second go to that device and it is busy ρ of the time (the value function of the M/G/1 queue;
  Krishnan 1990, Hyytiä et al. 2012). The square keeps huge tasks off devices on which many others wait, and makes
  the policy cautious, since the expected square of an uncertain duration is larger than that of a certain one.

Queues are ordered (`order="shortest"`): the task with the least expected seconds goes first, and each goes where it
delays all tasks least (`least_increase.py`). Expected seconds are the mean of what the trees say, not their median:
the less sure they are, the longer a task counts (shortest expected processing time first; Rothkopf 1966). With long
queues the share decides again where a task goes, since that ends all work soonest.

Graphs are planned by `heft.search_plan` with the predicted durations; kernels without good predictions go where they
should end first by what has ended in the graph (`graph_rule.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from hybrid_scheduler.core.cluster import GPU, Cluster
from hybrid_scheduler.core.compiler import compiled, jitable
from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.core.view import (
    DeviceIndex,
    TaskView,
    View,
    data_ready_time,
    end_of,
    find_cheapest,
    is_better,
    start_on,
)
from hybrid_scheduler.errors import InputError, check_number
from hybrid_scheduler.learning.background import TrainingLoop
from hybrid_scheduler.learning.durations import DurationModel, DurationObservation, UnfinishedTasks
from hybrid_scheduler.learning.features import FEATURES, FeatureTable, has_custom_features, task_features
from hybrid_scheduler.learning.forest import CHECK_INTERVAL, ForestModels, ForestTrainer, ShareObservation
from hybrid_scheduler.learning.insight import NAN, RETRAINS, ForestHistory, ForestInsight, PredictionErrors, Retrain
from hybrid_scheduler.learning.model_files import load_model, read_manifest, save_model
from hybrid_scheduler.learning.predictors import (
    MODEL_TYPES,
    Predictor,
    RandomForestPredictor,
    create_predictor,
    require_shares,
)
from hybrid_scheduler.schedulers.fallback import choose_by_means, is_doubted, note_arrival, rank_task, steal_for
from hybrid_scheduler.schedulers.graph_rule import (
    choose_in_graph,
    close_account,
    follows_model,
    keeps_account,
    open_account,
    read_history,
    weigh_theft_in_graph,
)
from hybrid_scheduler.schedulers.heft import search_plan
from hybrid_scheduler.schedulers.learner import (
    SHORTEST,
    Learner,
    check_energy_weight,
    is_shortest_first,
    list_workloads,
    weigh,
)
from hybrid_scheduler.schedulers.least_increase import find_least_increase, sum_by_class
from hybrid_scheduler.schedulers.scheduler import Evidence

RULES = ("least", "earliest")
LONG_QUEUE = 8.0  # tasks that wait per device: from here on the forest's shares decide, which end all work soonest
QUEUE_MEMORY = 0.99  # weight of the mean queue length per task
QUEUE_SLOPE = 0.02  # by which the threshold moves per mean task of difference between the queues
PRIOR_LOAD, PRIOR_TASKS = 0.8, 10.0  # load assumed before the first arrivals, and how many arrivals that weighs
MAX_LOAD = 0.9  # the value function has no answer at full load


# --- the two rules -------------------------------------------------------------------------------------------------


@compiled
def choose_by_share(policy: Any, task: TaskView, view: View) -> tuple[float, int]:
    """Return GPU share and device by the predicted share, predicted durations and the queues."""
    note_arrival(policy.arrivals, task.ready_time)
    if policy.falls_back and view.queued and is_doubted(view, policy.has_durations):
        return choose_by_means(task, view)
    seconds, share = policy.seconds[task.row], policy.share[task.row]
    gpu, cpu = find_gpu_and_cpu(seconds, policy.energy_weight, task, view, view.device_index)
    if gpu < 0:
        return 0.0, max(cpu, 0)
    if not view.queued or cpu < 0:
        return (share if cpu >= 0 else 1.0), gpu
    now = task.ready_time
    gpu_wait, cpu_wait = max(view.free[gpu] - now, 0.0), max(view.free[cpu] - now, 0.0)
    threshold = 0.5 + QUEUE_SLOPE * (gpu_wait - cpu_wait) / policy.time_scale if policy.has_durations else 0.5
    threshold = min(max(threshold, 0.05), 0.95)
    device, other = (gpu, cpu) if share >= threshold else (cpu, gpu)
    if policy.has_durations:
        here, there = seconds[view.device_class[device]], seconds[view.device_class[other]]
        saved = start_on(task, view, device) + here - (start_on(task, view, other) + there)
        joules = view.watts[device] * here - view.watts[other] * there
        is_idle = view.free[device] > now and view.free[other] <= now
        saves_energy = policy.energy_weight > 0.0 and joules > 0.0
        if (is_idle or saves_energy) and weigh(saved, joules, policy.energy_weight) > 0.0:
            device = other
    return float(view.kind[device]), device


@jitable
def find_gpu_and_cpu(
    seconds: Floats, energy_weight: float, task: TaskView, view: View, index: DeviceIndex | None
) -> tuple[int, int]:
    """Return the GPU where the task costs least and the CPU where it ends first; -1 where it fits none."""
    gpu, cpu, cheapest, earliest = -1, -1, np.inf, np.inf
    if index is None:
        for device in range(len(view.free)):
            if task.memory_required > view.memory[device]:
                continue
            needed = seconds[view.device_class[device]]
            finish = start_on(task, view, device) + needed
            if view.kind[device] == GPU:
                cost = weigh(finish - task.ready_time, view.watts[device] * needed, energy_weight)
                if cost < cheapest:
                    gpu, cheapest = device, cost
            elif finish < earliest:
                cpu, earliest = device, finish
    else:
        for kind in range(len(index.first)):
            device = index.device[index.first[kind] + index.leaves[kind]]  # any of the class
            if view.kind[device] == GPU:
                charge = (seconds[kind], task.ready_time, view.watts[device] * seconds[kind], energy_weight)
                device, cost = find_cheapest(index, kind, task.ready_time, weigh_start, charge)
                if is_better(cost, device, cheapest, gpu) and task.memory_required <= view.memory[device]:
                    gpu, cheapest = device, cost
            else:
                device, finish = find_cheapest(index, kind, task.ready_time, end_of, (seconds[kind],))
                if is_better(finish, device, earliest, cpu) and task.memory_required <= view.memory[device]:
                    cpu, earliest = device, finish
    return gpu, cpu


@jitable
def weigh_start(start: float, seconds: float, ready: float, joules: float, energy_weight: float) -> float:
    """Return what a task of so many seconds costs that starts then."""
    return weigh(start + seconds - ready, joules, energy_weight)


@compiled
def choose_by_durations(policy: Any, task: TaskView, view: View) -> tuple[float, int]:
    """Return the device on which the task costs all tasks least, or the planned one unless that is far too late."""
    return decide_by_durations(policy, task, view)


@jitable
def decide_by_durations(policy: Any, task: TaskView, view: View) -> tuple[float, int]:
    """Do as `choose_by_durations`, for rules that ask it."""
    note_arrival(policy.arrivals, task.ready_time)
    if policy.falls_back and is_doubted(view, policy.has_durations):
        return choose_by_means(task, view)
    planned = len(policy.device) > 0
    rate, idle, energy_weight = 0.0, 1.0, 0.0
    if not planned:
        rate, idle = estimate_load(policy, task.ready_time)
        energy_weight = policy.energy_weight
    best, least = find_least_delay(policy, rate, idle, energy_weight, task, view, view.device_index)
    if planned:
        device = policy.device[task.row]
        # A task leaves its planned device if elsewhere it ends before it could start there; costs are ends here.
        # What waits behind it in the plan does not delay it.
        free = view.running_end[device] if len(policy.position) > 0 else view.free[device]
        start = max(data_ready_time(task.ready_time, view, device), free)
        if task.memory_required <= view.memory[device] and start - task.ready_time <= least:
            best = device
    best = max(best, 0)
    return float(view.kind[best]), best


@jitable
def find_least_delay(
    policy: Any, rate: float, idle: float, energy_weight: float, task: TaskView, view: View, index: DeviceIndex | None
) -> tuple[int, float]:
    """Return the device on which a task costs all tasks least, and what; -1 if it fits none."""
    best, least, ready = -1, np.inf, task.ready_time
    for each in range(len(view.free) if index is None else len(index.first)):
        device, kind = each, each
        if index is None:
            kind = view.device_class[device]
        else:
            device = index.device[index.first[kind] + index.leaves[kind]]  # any of the class
        mean, square = policy.seconds[task.row, kind], policy.square[task.row, kind]
        weight, joules = policy.counts_others * rate * policy.class_share[kind], view.watts[device] * mean
        charge = (ready, mean, square, weight, idle, joules, energy_weight)
        if index is None:
            cost = weigh_delay(start_on(task, view, device), *charge)
        else:
            device, cost = find_cheapest(index, kind, ready, weigh_delay, charge)
        if is_better(cost, device, least, best) and task.memory_required <= view.memory[device]:
            best, least = device, cost
    return best, least


@jitable
def weigh_delay(
    start: float, ready: float, mean: float, square: float, weight: float, idle: float, joules: float, energy: float
) -> float:
    """Return what a start costs all tasks: the task's own turnaround, and by how much it delays those behind it."""
    wait = start - ready
    return weigh(wait + mean + weight * (2.0 * wait * mean + square) / (2.0 * idle), joules, energy)


@compiled
def choose_by_kernel(policy: Any, task: TaskView, view: View) -> tuple[float, int]:
    """Follow the plan of a graph; a task whose kernel was not predicted well goes where it should end first."""
    read_history(policy.graph, view)
    if follows_model(policy.graph, task.row, view):
        return decide_by_durations(policy, task, view)
    best = choose_in_graph(policy.graph, task, view)
    return float(view.kind[best]), best


@compiled
def choose_by_increase(policy: Any, task: TaskView, view: View) -> tuple[float, int]:
    """Return the device on which the task delays all tasks least by their predicted durations."""
    note_arrival(policy.arrivals, task.ready_time)
    if policy.falls_back and is_doubted(view, policy.has_durations):
        return choose_by_means(task, view)
    seconds = policy.seconds[task.row]
    best = max(find_least_increase(task, seconds, view, policy.length, policy.energy_weight), 0)
    return float(view.kind[best]), best


@jitable
def estimate_load(policy: Any, now: float) -> tuple[float, float]:
    """Return arrivals per second, and the share of the time in which devices are idle."""
    prior_rate = PRIOR_LOAD / policy.work
    rate = (PRIOR_TASKS + policy.arrivals[0]) / (PRIOR_TASKS / prior_rate + max(now - policy.arrivals[1], 0.0))
    return rate, 1.0 - min(rate * policy.work, MAX_LOAD)


# --- the policy ----------------------------------------------------------------------------------------------------


class HybridML(Learner):
    """Random forest, retrained every `retrain_interval` tasks on the last `window_size` ones."""

    name = "hybrid_ml"
    splits = True
    indexes_queues, indexes_devices = True, True
    reads_history = True
    runtime_options = ("online", "order", "energy_weight", "fallback")
    shared = ("_trainer", "_models", "_duration_model", "_training", "_errors", "_retrains", "_unfinished")

    def __init__(
        self,
        retrain_interval: Annotated[int, "tasks between two checks whether to refit"] = 50,
        window_size: Annotated[int, "last tasks that the forest is fitted on"] = 1000,
        n_estimators: Annotated[int, "trees of the forest"] = 100,
        max_depth: Annotated[int, "depth of its trees"] = 15,
        energy_weight: Annotated[float, "weight of energy against time, 0 (time only) to 1"] = 0.0,
        tolerance: Annotated[float, "mean error of the shares below which no refit is due"] = 0.1,
        online: Annotated[bool, "whether it learns while it runs"] = True,
        background: Annotated[
            int, "train in another process: updates this many tasks later, -1 when ready, 0 not"
        ] = 0,
        order: Annotated[str, "queues: shortest expected duration first, or fifo"] = SHORTEST,
        rule: Annotated[str, "by durations, fifo: least cost to all tasks, or earliest finish of this one"] = "least",
        fallback: Annotated[bool, "whether a simple rule decides while predictions are no better than means"] = True,
        model: Annotated[str, "model file to start from"] = "",
        seed: Annotated[int, "seed of the forest"] = 0,
        model_type: Annotated[
            str, "model of the shares: random_forest, xgboost, svm or neural_network"
        ] = RandomForestPredictor.kind,
    ) -> None:
        if rule not in RULES:
            raise InputError(f"hybrid_ml: rule is '{rule}', expected {' or '.join(RULES)}")
        self._shortest = is_shortest_first(order, self.name)
        self.falls_back = self.steals = bool(fallback) and self._shortest
        for name, value, least, most in (
            ("retrain_interval", retrain_interval, 1, 10**9),
            ("window_size", window_size, 1, 10**6),
            ("n_estimators", n_estimators, 1, 10_000),
            ("max_depth", max_depth, 1, 1000),
            ("background", background, -1, 10**6),
            ("seed", seed, 0, 2**53),
        ):
            check_number(f"hybrid_ml: {name}", value, least, most, whole=True)
        check_number("hybrid_ml: tolerance", tolerance, 0, 1e6)
        self.set_energy_weight(energy_weight)
        self.has_durations, self.by_durations = False, False
        self.time_scale = 1.0  # mean of the tasks' shortest seconds
        self.share, self.seconds, self.square = np.empty(0), np.empty((0, 1)), np.empty((0, 1))
        self.counts_others = float(rule == "least")
        self._reordering = False  # whether the queues of the present block are ordered by expected seconds
        self.in_order = False  # whether they are served first come, first served
        self.length = np.zeros(1)  # running mean of the tasks that wait per device, by class
        self.class_share, self.work = np.ones(1), 1.0
        self.arrivals = np.zeros(3)  # tasks so far, and when the first and the last of them were ready
        self.device, self.position = np.empty(0, np.int64), np.empty(0, np.int64)  # the plan of a graph
        self.graph = close_account()  # and what has ended in it
        self.learn_every = min(CHECK_INTERVAL, retrain_interval) if online else 0
        self._seed = seed
        create_predictor(model_type)  # raises here, before any work, if it is unknown or not installed
        self._trainer = ForestTrainer(
            retrain_interval, window_size, n_estimators, max_depth, tolerance, seed, model_type
        )
        self._training = TrainingLoop(self._trainer, background)
        self._models: ForestModels | None = None
        self._duration_model: DurationModel | None = None
        self._unfinished = UnfinishedTasks()
        self._errors, self._retrains = PredictionErrors(), deque[Retrain](maxlen=RETRAINS)
        self._version = 0
        if model:
            self.load(model)

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> Ints | None:
        """Predict shares and durations of a block; plan a graph."""
        if self._duration_model is not None and (has_custom_features(tasks) or self._models is None):
            self._predict_durations(self._duration_model, tasks, view)
        else:
            self._predict_shares(tasks, view)
        self.in_order = not self._shortest or tasks.has_edges
        self._reordering = view.queued and not self.in_order
        self._measure_queues(len(tasks), view)
        self.device, self.position = np.empty(0, np.int64), np.empty(0, np.int64)
        self.graph = close_account()
        if tasks.has_edges and self.falls_back and len(view.history) and self.energy_weight == 0.0:
            self.graph = open_account(tasks, view.expected.shape[1], self.predict_seconds())
        if not (tasks.has_edges and self.has_durations and view.queued):
            return None
        self.device, order = search_plan(tasks, self.seconds, view, self._seed)
        self.by_durations, self.square = True, self.seconds**2
        self.class_share = np.zeros(self.seconds.shape[1])
        if not self.falls_back:
            return order
        self.position = np.empty(len(tasks), np.int64)
        self.position[order] = np.arange(len(order))
        return None

    def predict_seconds(self) -> Floats | None:
        """Return what the forests expect."""
        return self.seconds if self.has_durations else None

    def _measure_queues(self, tasks: int, view: View) -> None:
        waiting = np.zeros(self.seconds.shape[1])
        sum_by_class(view, waiting)
        waiting /= np.maximum(np.bincount(view.device_class, minlength=len(waiting)), 1)
        known = QUEUE_MEMORY**tasks if len(self.length) == len(waiting) else 0.0
        self.length = known * self.length + (1.0 - known) * waiting if known else waiting

    def _predict_durations(self, model: DurationModel, tasks: Tasks, view: View) -> None:
        """Predict from custom features and the graph."""
        _check_classes(model.classes, view)
        self.seconds, self.square = model.predict(FeatureTable.from_tasks(tasks))
        self.by_durations, self.has_durations = view.queued, True
        self.class_share, self.work, self.time_scale = model.share, model.work, model.typical
        gpu = np.isin(np.arange(self.seconds.shape[1]), view.device_class[view.kind == GPU])
        on_cpu, on_gpu = (self.seconds[:, each].min(axis=1, initial=np.inf) for each in (~gpu, gpu))
        self.share = 1.0 / (1.0 + on_gpu / on_cpu)  # both shares end together

    def _predict_shares(self, tasks: Tasks, view: View) -> None:
        """Predict from the basic features."""
        models, self.by_durations = self._models, False
        if models is None:
            self.share = tasks.compute_intensity  # untrained: the greedy rule
        else:
            rows = task_features(tasks, models.share.feature_names_)
            self.share = np.clip(models.share.predict(rows), 0.0, 1.0)
        self.has_durations = models is not None and models.seconds is not None
        if models is not None and models.seconds is not None:
            predict = models.expected_seconds if self._shortest else models.median_seconds
            self.seconds = predict(task_features(tasks))
            self.time_scale = models.typical
            _check_classes(models.classes, view)
        else:
            self.seconds = np.ones((len(tasks), int(view.device_class.max()) + 1))

    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Decide by durations where a model predicts them from custom features, else by share."""
        decision: tuple[float, int] = self.chooser(self, task, view)
        return decision

    @property
    def chooser(self) -> Callable[..., Any]:
        """One rule at a time: with both in it, a compiled loop takes half as long again."""
        if len(self.graph.kernel):
            return choose_by_kernel
        if self._reordering and self.has_durations and self.length.max() < LONG_QUEUE:
            return choose_by_increase
        return choose_by_durations if self.by_durations else choose_by_share

    @compiled
    def key(self, task: TaskView, view: View, device: int) -> float:
        """Return the predicted seconds: the shortest goes first. Graphs follow their plan."""
        if len(self.position) > 0:
            return float(self.position[task.row])
        if len(self.graph.order) > 0:
            return float(self.graph.order[task.row])
        return rank_task(self, task, view, device)

    @compiled
    def steal(self, task: TaskView, view: View, device: int, victim: int) -> float:
        """Rob a queue where that helps all tasks: queues were chosen by estimates."""
        if keeps_account(self.graph, view) and not follows_model(self.graph, task.row, view):
            return weigh_theft_in_graph(self.graph, task, view, device, victim)
        return steal_for(self, task, view, device, victim)

    def reorders(self, tasks: Tasks) -> bool:
        """Whether queues are ordered, or idle devices may steal from them."""
        return self.falls_back or (self._shortest and not tasks.has_edges)

    def evidence(self, task: TaskView, view: View) -> Evidence:
        """Return predicted durations, the share as score, and how far each feature moved it."""
        share = self.share[task.row]
        seconds = self.seconds[task.row] if self.has_durations else np.full(self.seconds.shape[1], np.nan)
        return Evidence(seconds, np.where(view.kind == GPU, share, 1.0 - share), self._contributions(task))

    def _contributions(self, task: TaskView) -> dict[str, float]:
        if self._models is None or not isinstance(self._models.share, RandomForestPredictor):
            return {}
        size, intensity, memory = task.size, task.compute_intensity, task.memory_required
        row = np.array([size, intensity, memory, memory / (size + 1.0), intensity / (memory + 1.0)])
        return self._models.share.contributions(row)

    # --- learning --------------------------------------------------------------------------------------------------

    def learn(self, placements: Placements) -> None:
        """Train on a block, in the foreground or in the background."""
        if self.has_durations and self.seconds.shape == placements.times.shape:
            self._errors.add(self.seconds, placements.times)
        observation: ShareObservation | DurationObservation | None
        if has_custom_features(placements.tasks):
            observation = self._unfinished.exchange(placements)
        else:
            observation = ShareObservation.from_placements(placements)
        update: ForestModels | DurationModel | None = self._training.train(observation, int(placements.ran.sum()))
        if update is None:
            return
        self._version += 1
        if isinstance(update, DurationModel):
            self._duration_model = update
            return
        self._models = update
        if update.last_fit is not None:
            self._retrains.append(replace(update.last_fit, task=int(placements.tasks.task_id[-1])))

    def pretrain(
        self, workloads: Tasks | Sequence[Tasks], cluster: Cluster, mode: str = "queued", measured: bool = False
    ) -> None:
        """Fit durations to measured workloads with custom features; schedule others in simulation and learn."""
        if not (measured and any(map(has_custom_features, list_workloads(workloads)))):
            super().pretrain(workloads, cluster, mode)
            return
        observations = (DurationObservation.from_tasks(tasks, cluster) for tasks in list_workloads(workloads))
        self._duration_model = self._trainer.durations.pretrain(observations)

    def needs_pretraining(self, warm_start: bool = False) -> bool:
        """Whether a warm start is asked for and there is no model yet: a race shows how fast the forest learns."""
        return warm_start and self.learn_every > 0 and not self.is_trained

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

    def set_energy_weight(self, weight: float) -> None:
        """Weigh energy against time in every decision, from the next block on."""
        self.energy_weight = check_energy_weight(weight, self.name)

    def close(self) -> None:
        """End the background process, if there is one."""
        self._training.close()

    # --- models ----------------------------------------------------------------------------------------------------

    @property
    def is_trained(self) -> bool:
        """Whether there is a model to decide by."""
        return self._models is not None or self._duration_model is not None

    @property
    def share_model(self) -> Predictor | None:
        """The model of the GPU shares."""
        return self._models.share if self._models is not None else None

    @property
    def duration_model(self) -> DurationModel | None:
        """The model for tasks with custom features."""
        return self._duration_model

    def set_model(self, model: Predictor | ForestModels | DurationModel) -> None:
        """Decide by a model that was trained elsewhere; with a model of the shares alone, durations are unknown."""
        if isinstance(model, DurationModel):
            self._duration_model = model
            return
        if isinstance(model, Predictor):
            require_shares(model)
        models = model if isinstance(model, ForestModels) else ForestModels(share=model)
        self._models = self._trainer.models = models
        self._trainer.retrains = models.retrains
        self._duration_model = models.durations or self._duration_model

    def save(self, path: str | Path) -> None:
        """Write the models and their manifest."""
        model: ForestModels | DurationModel | None = self._duration_model
        if self._models is not None:
            model = replace(self._models, last_fit=None, durations=self._duration_model)
        if model is None:
            raise InputError("hybrid_ml is not trained yet: train it before saving, with hms train")
        training = {"retrains": model.retrains, "classes": list(model.classes)}
        features = FEATURES if self._duration_model is None else self._duration_model.names
        save_model(model, path, kind=self.name, features=features, training=training, cluster=model.shape)

    def load(self, path: str | Path) -> None:
        """Read what `save`, `hms train` or an `OfflineTrainer` wrote."""
        kind = str(read_manifest(path).get("kind")) if Path(path).is_file() else self.name
        if kind in MODEL_TYPES:
            predictor = MODEL_TYPES[kind].load(path)
            require_shares(predictor, str(path))
            self.set_model(predictor)
            return
        model = load_model(path, kind=self.name)
        if not isinstance(model, ForestModels | DurationModel):
            raise InputError(f"{path} holds no forests of hybrid_ml: train them with hms train")
        try:
            model.check()
        except Exception as error:  # a file can hold anything
            raise InputError(f"{path} holds forests that do not work ({error}): train them again") from error
        self.set_model(model)

    @property
    def insight(self) -> ForestInsight:
        """The state of the models, for display."""
        models, durations = self._models, self._duration_model
        last = self._retrains[-1] if self._retrains else None
        seconds_mae, seconds_r2 = self._errors.mae_and_r2()
        importance = durations.feature_importance() if durations else {}
        return ForestInsight(
            version=self._version,
            beside=self._training.in_background,
            retrains=(models.retrains if models else 0) + (durations.retrains if durations else 0),
            last_retrain=last.task if last else None,
            feature_importance=models.share.feature_importance() if models else importance,
            share_mae=last.mae if last else NAN,
            share_r2=last.r2 if last else NAN,
            share_tested=last.tested if last else 0,
            seconds_mae=seconds_mae,
            seconds_r2=seconds_r2,
            seconds_tested=self._errors.count,
        )

    @property
    def history(self) -> ForestHistory:
        """The last fits."""
        return ForestHistory(list(self._retrains))


def _check_classes(known: tuple[str, ...], view: View) -> None:
    present = int(view.device_class.max()) + 1
    if len(known) < present:
        raise InputError(
            f"hybrid_ml's model knows the {len(known)} device classes {', '.join(known)}, this "
            f"cluster has {present}: train it for this cluster with hms train"
        )
