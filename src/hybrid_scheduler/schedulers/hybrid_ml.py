"""Hybrid ML: a random forest that predicts the GPU share, retrained while it works on what it has seen.

It never sees the times of a task before deciding. When a block of tasks has run, their shares are labelled in
retrospect: in the isolated race the oracle's share, with queues the share that the best use of the whole cluster
would have given them (`learning/labels.py`).

With queues the forest's share is a leaning, not a split: above the threshold a task goes to a GPU, else to a CPU. Two
things the forest cannot know are taken from the queues. The threshold moves with the difference between the
queues, so that tasks on the fence even them out; and a task whose device is busy takes an idle one if by the
*learned* times it would end there sooner.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.compiling import compiled
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.features import FEATURES, task_features
from hybrid_scheduler.learning.labels import isolated_labels, queued_labels
from hybrid_scheduler.learning.model_file import load_model, save_model
from hybrid_scheduler.learning.predictors import Predictor, RandomForestPredictor
from hybrid_scheduler.model.cluster import GPU, Cluster
from hybrid_scheduler.model.placements import Placements
from hybrid_scheduler.model.tasks import Floats, Tasks
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.view import TaskView, View, start_on

TIME_TREES, TIME_DEPTH = 20, 12
DRIFT_CHECK = 10  # tasks between two looks whether the forest still fits the work
DRIFT = 3.0  # times the tolerance: an error at which waiting for the next retraining would be folly
LEAN = 0.02  # threshold moved per mean task of difference between the queues
TIME_UNIT, ENERGY_UNIT = 10.0, 500.0


@dataclass
class Models:
    """One state of knowledge: a model of the shares and, if it was learnt too, of the logarithm of times by class."""

    share: Predictor
    seconds: RandomForestPredictor | None = None
    typical: float = 1.0  # mean of the tasks' shortest seconds in the window
    classes: tuple[str, ...] = ()


class HybridML(Scheduler):
    """Random forest, retrained every `retrain_interval` tasks on the last `window_size` ones."""

    name = "hybrid_ml"
    sighted = False

    def __init__(
        self,
        retrain_interval: int = 50,
        window_size: int = 1000,
        n_estimators: int = 100,
        max_depth: int = 15,
        energy_weight: float = 0.5,
        tolerance: float = 0.1,
        online: bool = True,
        model: str = "",
        seed: int = 0,
    ) -> None:
        for name, value in (("retrain_interval", retrain_interval), ("window_size", window_size)):
            if value < 1:
                raise InputError(f"hybrid_ml: {name} is {value}, expected a whole number above 0")
        if not 0 <= energy_weight <= 1:
            raise InputError(f"hybrid_ml: energy_weight is {energy_weight}, expected a number from 0 to 1")
        self.energy_weight = float(energy_weight)
        self.timed = False  # whether times are known
        self.typical = 1.0
        self.share = np.empty(0)
        self.seconds = np.empty((0, 1))
        self.learn_every = min(DRIFT_CHECK, retrain_interval) if online else 0
        self.retrains = 0
        self._window, self._interval, self._since = window_size, retrain_interval, 0
        self._options = {"n_estimators": n_estimators, "max_depth": max_depth}
        self._tolerance = tolerance
        self._seed = seed
        self._models: Models | None = None
        self._seen: tuple[Floats, Floats] | None = None
        if model:
            self.load(model)

    # --- deciding ----------------------------------------------------------------------------------------------

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> None:
        """Predict a block at once: shares and seconds by class."""
        if self._models is None:
            # Nothing is known yet: lean like the greedy rule, and trust no times.
            self.share = tasks.compute_intensity
        else:
            rows = task_features(tasks, self._models.share.feature_names_)
            self.share = np.clip(self._models.share.predict(rows), 0.0, 1.0)
        self.timed = self._models is not None and self._models.seconds is not None
        if self._models is not None and self._models.seconds is not None:
            self.seconds = np.exp(self._models.seconds.predict(task_features(tasks))).reshape(len(tasks), -1)
            self.typical = self._models.typical
        else:
            self.seconds = np.ones((len(tasks), int(view.device_class.max()) + 1))

    @compiled
    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Lean to a GPU or a CPU by the forest, then let the queues speak."""
        seconds, share = self.seconds[task.row], self.share[task.row]
        gpu, cpu = -1, -1
        cheapest, earliest = np.inf, np.inf
        for device in range(len(view.free)):
            if task.memory_required > view.memory[device]:
                continue
            needed = seconds[view.device_class[device]]
            finish = start_on(task, view, device) + needed
            if view.kind[device] == GPU:
                time, energy = finish - task.ready_time, view.watts[device] * needed
                cost = (1.0 - self.energy_weight) * time / TIME_UNIT + self.energy_weight * energy / ENERGY_UNIT
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
        threshold = 0.5 + LEAN * (gpu_wait - cpu_wait) / self.typical if self.timed else 0.5
        threshold = min(max(threshold, 0.05), 0.95)
        device, other = (gpu, cpu) if share >= threshold else (cpu, gpu)
        if self.timed and view.free[device] > now and view.free[other] <= now:
            sooner = now + seconds[view.device_class[other]]
            if sooner < view.free[device] + seconds[view.device_class[device]]:
                device = other
        return float(view.kind[device]), device

    # --- learning ----------------------------------------------------------------------------------------------

    def learn(self, placements: Placements) -> None:
        """Add a block to the window; fit anew when it is time and worth it, and at once when the work has changed."""
        ran = placements.ran
        if not ran.any():
            return
        rows, times = task_features(placements.tasks)[ran], placements.times[ran]
        if self._seen is not None:
            rows, times = np.concatenate([self._seen[0], rows]), np.concatenate([self._seen[1], times])
        self._seen = rows[-self._window :], times[-self._window :]
        labels = self._labels(self._seen[1], placements.cluster, queued=placements.queued)
        self._since += int(ran.sum())
        if self._is_stale(labels, int(ran.sum())):
            self.fit(*self._seen, labels, placements.cluster)
            self._since = 0

    def _labels(self, times: Floats, cluster: Cluster, queued: bool) -> Floats:
        if not queued:
            return isolated_labels(times, cluster)
        # Up to a half, the energy weight only chooses among GPUs; beyond it, it also pulls tasks to frugal classes.
        return queued_labels(times, cluster, max(0.0, 2.0 * self.energy_weight - 1.0))

    def _is_stale(self, labels: Floats, new: int) -> bool:
        if self._models is None:
            return self._since >= min(self._interval, 2 * DRIFT_CHECK)  # a handful of tasks teaches chance
        if self._error(labels, new) > DRIFT * self._tolerance:
            return True
        if self._since < self._interval:
            return False
        first_lessons = self.retrains * self._interval < self._window // 4  # they teach most
        return first_lessons or self._error(labels, self._since) > self._tolerance

    def _error(self, labels: Floats, new: int) -> float:
        """Return the mean error of the forest on the last tasks."""
        assert self._models is not None and self._seen is not None  # noqa: S101, PT018  # asked after the first fit
        rows = self._seen[0][-new:]
        return float(np.abs(self._models.share.predict(rows) - labels[-len(rows) :]).mean())

    def fit(self, rows: Floats, times: Floats, labels: Floats, cluster: Cluster) -> None:
        """Fit both forests on features, times by class and labels."""
        seed = self._seed * 1_000_003 + self.retrains
        share = RandomForestPredictor(**self._options, random_state=seed % 2**32)
        seconds = RandomForestPredictor(TIME_TREES, TIME_DEPTH, random_state=seed % 2**32)
        finite = np.where(np.isfinite(times), times, 10.0 * np.nanmax(np.where(np.isfinite(times), times, np.nan)))
        self._models = Models(
            share=share.fit_all(rows, labels, FEATURES),
            seconds=seconds.fit_all(rows, np.log(finite), FEATURES),
            typical=float(finite.min(axis=1).mean()),
            classes=tuple(each.name for each in cluster.classes),
        )
        self.retrains += 1

    # --- files and explanations --------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the forests and their manifest."""
        if self._models is None:
            raise InputError("hybrid_ml has learnt nothing yet: train it before saving, with hms train")
        training = {"retrains": self.retrains, "classes": list(self._models.classes)}
        save_model(self._models, path, kind=self.name, features=FEATURES, training=training)

    def load(self, path: str | Path) -> None:
        """Read forests that `save` or `hms train` wrote."""
        models = load_model(path, kind=self.name)
        if not isinstance(models, Models):
            raise InputError(f"{path} holds no forests of hybrid_ml: train them with hms train")
        self._models = models

    def use(self, model: Predictor) -> None:
        """Decide by a model of the shares that was trained elsewhere; times stay unknown."""
        self._models = Models(share=model)

    def expected_seconds(self, task: TaskView) -> Floats:
        """Return the learned seconds of a task of the current block."""
        return self.seconds[task.row] if self.timed else np.full(self.seconds.shape[1], np.nan)

    def contributions(self, task: TaskView) -> dict[str, float]:
        """Return how far each feature moves this task's predicted share; empty without a forest."""
        if self._models is None or not isinstance(self._models.share, RandomForestPredictor):
            return {}
        size, intensity, memory = task.size, task.compute_intensity, task.memory_required
        row = np.array([size, intensity, memory, memory / (size + 1.0), intensity / (memory + 1.0)])
        return self._models.share.contributions(row)

    @property
    def insight(self) -> dict[str, Any]:
        """Return what the model looks like from outside: importances and how often it was retrained."""
        if self._models is None:
            return {"retrains": 0, "feature_importance": {}}
        return {"retrains": self.retrains, "feature_importance": self._models.share.feature_importance()}
