"""Hybrid ML: a random forest that predicts GPU shares and durations, retrained online.

Two rules decide, whichever model is there:

* By predicted share (basic features): prefer a GPU if the predicted share is above a threshold that moves with the
  difference of the queues; take the other side if that one is idle and ends earlier.
* By predicted durations (custom features, graphs): a task goes where it costs all tasks least. A task of x seconds
  on a device with u seconds of work ends after u + x and delays those behind it by λ·(2ux + x²)/(2(1 − ρ)) in the
  mean if λ tasks a second go to that device and it is busy ρ of the time (the value function of the M/G/1 queue;
  Krishnan 1990, Hyytiä et al. 2012). The square keeps huge tasks off devices on which many others wait, and makes
  the policy cautious, since the expected square of an uncertain duration is larger than that of a certain one.

Graphs are planned by `heft.search_plan` with the predicted durations.
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
from hybrid_scheduler.core.view import TaskView, View, start_on
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.background import TrainingLoop
from hybrid_scheduler.learning.durations import DurationModel, DurationObservation
from hybrid_scheduler.learning.features import FEATURES, FeatureTable, has_custom_features, task_features
from hybrid_scheduler.learning.forest import CHECK_INTERVAL, ForestModels, ForestTrainer, ShareObservation
from hybrid_scheduler.learning.insight import NAN, RETRAINS, ForestHistory, ForestInsight, PredictionErrors, Retrain
from hybrid_scheduler.learning.model_files import load_model, save_model
from hybrid_scheduler.learning.predictors import Predictor, RandomForestPredictor
from hybrid_scheduler.schedulers.heft import search_plan
from hybrid_scheduler.schedulers.learner import Learner, list_workloads
from hybrid_scheduler.schedulers.scheduler import Evidence

RULES = ("least", "earliest")
QUEUE_SLOPE = 0.02  # by which the threshold moves per mean task of difference between the queues
TIME_UNIT, ENERGY_UNIT = 10.0, 500.0
PRIOR_LOAD, PRIOR_TASKS = 0.8, 10.0  # load assumed before the first arrivals, and how many arrivals that weighs
MAX_LOAD = 0.9  # the value function has no answer at full load


# --- the two rules -------------------------------------------------------------------------------------------------


@compiled
def choose_by_share(policy: Any, task: TaskView, view: View) -> tuple[float, int]:
    """Return GPU share and device by the predicted share, predicted durations and the queues."""
    seconds, share = policy.seconds[task.row], policy.share[task.row]
    gpu, cpu = -1, -1
    cheapest, earliest = np.inf, np.inf
    for device in range(len(view.free)):
        if task.memory_required > view.memory[device]:
            continue
        needed = seconds[view.device_class[device]]
        finish = start_on(task, view, device) + needed
        if view.kind[device] == GPU:
            time, energy = finish - task.ready_time, view.watts[device] * needed
            cost = (1.0 - policy.energy_weight) * time / TIME_UNIT + policy.energy_weight * energy / ENERGY_UNIT
            if cost < cheapest:
                gpu, cheapest = device, cost
        elif finish < earliest:
            cpu, earliest = device, finish
    if gpu < 0:
        return 0.0, max(cpu, 0)
    if not view.queued or cpu < 0:
        return (share if cpu >= 0 else 1.0), gpu
    now = task.ready_time
    gpu_wait, cpu_wait = max(view.free[gpu] - now, 0.0), max(view.free[cpu] - now, 0.0)
    slope = (1.0 - policy.energy_bias) * QUEUE_SLOPE  # queues may be uneven where energy counts
    threshold = 0.5 + slope * (gpu_wait - cpu_wait) / policy.time_scale if policy.has_durations else 0.5
    threshold = min(max(threshold, 0.05), 0.95)
    device, other = (gpu, cpu) if share >= threshold else (cpu, gpu)
    if policy.has_durations and view.free[device] > now and view.free[other] <= now:
        here, there = seconds[view.device_class[device]], seconds[view.device_class[other]]
        saved = view.free[device] + here - (now + there)
        # Joules become seconds at the power of the device that the forest prefers.
        wasted = (view.watts[other] * there - view.watts[device] * here) / max(view.watts[device], 1e-9)
        if (1.0 - policy.energy_bias) * saved > policy.energy_bias * wasted:
            device = other
    return float(view.kind[device]), device


@compiled
def choose_by_durations(policy: Any, task: TaskView, view: View) -> tuple[float, int]:
    """Return the device on which the task costs all tasks least, or the planned one unless that is far too late."""
    planned = len(policy.device) > 0
    rate, idle, energy_bias = 0.0, 1.0, 0.0
    if not planned:
        rate, idle = update_arrival_rate(policy, task.ready_time)
        energy_bias = policy.energy_bias
    best, least = -1, np.inf
    for device in range(len(view.free)):
        if task.memory_required > view.memory[device]:
            continue
        kind = view.device_class[device]
        wait = start_on(task, view, device) - task.ready_time
        mean, square = policy.seconds[task.row, kind], policy.square[task.row, kind]
        delay = policy.counts_others * rate * policy.class_share[kind] * (2.0 * wait * mean + square) / (2.0 * idle)
        cost = (1.0 - energy_bias) * (wait + mean + delay) + energy_bias * view.watts[device] * mean / 100.0
        if cost < least:
            best, least = device, cost
    if planned:
        device = policy.device[task.row]
        # A task leaves its planned device if elsewhere it ends before it could start there; costs are ends here.
        if task.memory_required <= view.memory[device] and start_on(task, view, device) - task.ready_time <= least:
            best = device
    best = max(best, 0)
    return float(view.kind[best]), best


@jitable
def update_arrival_rate(policy: Any, now: float) -> tuple[float, float]:
    """Count an arrival; return arrivals per second, and the share of the time in which devices are idle."""
    prior_rate = PRIOR_LOAD / policy.work
    if policy.arrivals[0] == 0.0:
        policy.arrivals[1] = now
    policy.arrivals[0] += 1.0
    rate = (PRIOR_TASKS + policy.arrivals[0]) / (PRIOR_TASKS / prior_rate + max(now - policy.arrivals[1], 0.0))
    return rate, 1.0 - min(rate * policy.work, MAX_LOAD)


# --- the policy ----------------------------------------------------------------------------------------------------


class HybridML(Learner):
    """Random forest, retrained every `retrain_interval` tasks on the last `window_size` ones."""

    name = "hybrid_ml"
    splits = True
    shared = ("_trainer", "_models", "_duration_model", "_training", "_errors", "_retrains")

    def __init__(
        self,
        retrain_interval: Annotated[int, "tasks between two checks whether to refit"] = 50,
        window_size: Annotated[int, "last tasks that the forest is fitted on"] = 1000,
        n_estimators: Annotated[int, "trees of the forest"] = 100,
        max_depth: Annotated[int, "depth of its trees"] = 15,
        energy_weight: Annotated[float, "weight of energy against time, 0 to 1"] = 0.5,
        tolerance: Annotated[float, "mean error of the shares below which no refit is due"] = 0.1,
        online: Annotated[bool, "whether it learns while it runs"] = True,
        background: Annotated[
            int, "train in another process: updates this many tasks later, -1 when ready, 0 not"
        ] = 0,
        rule: Annotated[str, "by durations: least cost to all tasks, or earliest finish of this one"] = "least",
        model: Annotated[str, "model file to start from"] = "",
        seed: Annotated[int, "seed of the forest"] = 0,
    ) -> None:
        if rule not in RULES:
            raise InputError(f"hybrid_ml: rule is '{rule}', expected {' or '.join(RULES)}")
        for name, value in (("retrain_interval", retrain_interval), ("window_size", window_size)):
            if value < 1:
                raise InputError(f"hybrid_ml: {name} is {value}, expected a whole number above 0")
        self.set_energy_weight(energy_weight)
        self.has_durations, self.by_durations = False, False
        self.time_scale = 1.0  # mean of the tasks' shortest seconds
        self.share, self.seconds, self.square = np.empty(0), np.empty((0, 1)), np.empty((0, 1))
        self.counts_others = float(rule == "least")
        self.class_share, self.work = np.ones(1), 1.0
        self.arrivals = np.zeros(2)  # tasks so far, and when the first of them was ready
        self.device = np.empty(0, np.int64)  # the plan of a graph
        self.learn_every = min(CHECK_INTERVAL, retrain_interval) if online else 0
        self._seed = seed
        self._trainer = ForestTrainer(retrain_interval, window_size, n_estimators, max_depth, tolerance, seed)
        self._training = TrainingLoop(self._trainer, background)
        self._models: ForestModels | None = None
        self._duration_model: DurationModel | None = None
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
        self.device = np.empty(0, np.int64)
        if not (tasks.has_edges and self.has_durations and view.queued):
            return None
        self.device, order = search_plan(tasks, self.seconds, view, self._seed)
        self.by_durations, self.square = True, self.seconds**2
        self.class_share = np.zeros(self.seconds.shape[1])
        return order

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
            self.seconds = np.exp(models.seconds.predict(task_features(tasks))).reshape(len(tasks), -1)
            self.time_scale = models.typical
            _check_classes(models.classes, view)
        else:
            self.seconds = np.ones((len(tasks), int(view.device_class.max()) + 1))

    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Decide by durations where a model predicts them from custom features, else by share."""
        return choose_by_durations(self, task, view) if self.by_durations else choose_by_share(self, task, view)

    @property
    def chooser(self) -> Callable[..., Any]:
        """One rule at a time: with both in it, a compiled loop takes half as long again."""
        return choose_by_durations if self.by_durations else choose_by_share

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
        observation: ShareObservation | DurationObservation
        if has_custom_features(placements.tasks):
            observation = DurationObservation.from_placements(placements)
        else:
            observation = ShareObservation.from_placements(placements, self.energy_bias)
        update: ForestModels | DurationModel | None = self._training.train(observation, len(observation.times))
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

    def set_energy_weight(self, weight: float) -> None:
        """Weigh energy against time: up to 0.5 only in the choice among GPUs, above it also between GPU and CPU."""
        if not 0 <= weight <= 1:
            raise InputError(f"hybrid_ml: energy_weight is {weight}, expected a number from 0 to 1")
        self.energy_weight, self.energy_bias = float(weight), max(0.0, 2.0 * weight - 1.0)

    def close(self) -> None:
        """End the background process, if there is one."""
        self._training.close()

    # --- models ----------------------------------------------------------------------------------------------------

    @property
    def is_trained(self) -> bool:
        """Whether there is a model to decide by."""
        return self._models is not None or self._duration_model is not None

    @property
    def duration_model(self) -> DurationModel | None:
        """The model for tasks with custom features."""
        return self._duration_model

    def set_model(self, model: Predictor | ForestModels | DurationModel) -> None:
        """Decide by a model that was trained elsewhere; with a model of the shares alone, durations are unknown."""
        if isinstance(model, DurationModel):
            self._duration_model = model
            return
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
        """Read what `save` or `hms train` wrote."""
        model = load_model(path, kind=self.name)
        if not isinstance(model, ForestModels | DurationModel):
            raise InputError(f"{path} holds no forests of hybrid_ml: train them with hms train")
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
