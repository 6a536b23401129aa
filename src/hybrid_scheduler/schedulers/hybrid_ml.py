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

from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np

from hybrid_scheduler.compiling import compiled
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.beside import Study
from hybrid_scheduler.learning.features import FEATURES, task_features
from hybrid_scheduler.learning.forest_lessons import CHECK, ForestLessons, Models, Seen
from hybrid_scheduler.learning.guesses import Guesses
from hybrid_scheduler.learning.insight import NAN, RETRAINS, ForestHistory, ForestInsight, Retrain
from hybrid_scheduler.learning.model_file import load_model, save_model
from hybrid_scheduler.learning.predictors import Predictor, RandomForestPredictor
from hybrid_scheduler.model.cluster import GPU
from hybrid_scheduler.model.placements import Placements
from hybrid_scheduler.model.tasks import Floats, Tasks
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.view import TaskView, View, start_on

LEAN = 0.02  # threshold moved per mean task of difference between the queues
TIME_UNIT, ENERGY_UNIT = 10.0, 500.0


class HybridML(Scheduler):
    """Random forest, retrained every `retrain_interval` tasks on the last `window_size` ones."""

    name = "hybrid_ml"
    sighted = False
    shared = ("_lessons", "_models", "_study", "_guesses", "_retrains")

    def __init__(
        self,
        retrain_interval: Annotated[int, "tasks between two looks whether to fit anew"] = 50,
        window_size: Annotated[int, "last tasks that are learnt from"] = 1000,
        n_estimators: Annotated[int, "trees of the forest"] = 100,
        max_depth: Annotated[int, "depth of its trees"] = 15,
        energy_weight: Annotated[float, "weight of energy against time, 0 to 1"] = 0.5,
        tolerance: Annotated[float, "mean error of the shares that is put up with"] = 0.1,
        online: Annotated[bool, "whether it learns while it runs"] = True,
        beside: Annotated[int, "learn in another process: this many tasks later, -1 as soon as it can be, 0 not"] = 0,
        model: Annotated[str, "model file to start from"] = "",
        seed: Annotated[int, "seed of the forest"] = 0,
    ) -> None:
        for name, value in (("retrain_interval", retrain_interval), ("window_size", window_size)):
            if value < 1:
                raise InputError(f"hybrid_ml: {name} is {value}, expected a whole number above 0")
        self.weigh_energy(energy_weight)
        self.timed = False  # whether times are known
        self.typical = 1.0
        self.share = np.empty(0)
        self.seconds = np.empty((0, 1))
        self.learn_every = min(CHECK, retrain_interval) if online else 0
        self._lessons = ForestLessons(retrain_interval, window_size, n_estimators, max_depth, tolerance, seed)
        self._models: Models | None = None
        self._study = Study(self._lessons, beside)
        self._guesses, self._retrains = Guesses(), deque[Retrain](maxlen=RETRAINS)
        self._version = 0
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
            known, present = self.seconds.shape[1], int(view.device_class.max()) + 1
            if known < present:
                raise InputError(
                    f"hybrid_ml's model knows the {known} device classes {', '.join(self._models.classes)}, this "
                    f"cluster has {present}: train it for this cluster with hms train"
                )
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
        lean = (1.0 - self.pull) * LEAN  # queues may be uneven where energy counts
        threshold = 0.5 + lean * (gpu_wait - cpu_wait) / self.typical if self.timed else 0.5
        threshold = min(max(threshold, 0.05), 0.95)
        device, other = (gpu, cpu) if share >= threshold else (cpu, gpu)
        if self.timed and view.free[device] > now and view.free[other] <= now:
            here, there = seconds[view.device_class[device]], seconds[view.device_class[other]]
            saved = view.free[device] + here - (now + there)
            # Joules become seconds at the power of the device that the forest wants.
            wasted = (view.watts[other] * there - view.watts[device] * here) / max(view.watts[device], 1e-9)
            if (1.0 - self.pull) * saved > self.pull * wasted:
                device = other
        return float(view.kind[device]), device

    # --- learning ----------------------------------------------------------------------------------------------

    def learn(self, placements: Placements) -> None:
        """Let the pupil study a block: here and now, or beside the decisions."""
        if self.timed and self.seconds.shape == placements.times.shape:
            self._guesses.add(self.seconds, placements.times)
        seen = Seen.of(placements, self.pull)
        models: Models | None = self._study.study(seen, len(seen.rows))
        if models is not None:
            self._take(models, int(placements.tasks.task_id[-1]))

    def _take(self, models: Models, task: int) -> None:
        self._models = models
        self._version += 1
        if models.lesson is not None:
            self._retrains.append(replace(models.lesson, task=task))

    def weigh_energy(self, weight: float) -> None:
        """Weigh energy against time; up to a half that only chooses among GPUs, beyond it, it also pulls tasks."""
        if not 0 <= weight <= 1:
            raise InputError(f"hybrid_ml: energy_weight is {weight}, expected a number from 0 to 1")
        self.energy_weight, self.pull = float(weight), max(0.0, 2.0 * weight - 1.0)

    def learn_beside(self, tasks: int) -> None:
        """From now on learn in another process; what is learnt counts `tasks` tasks later."""
        self._study = Study(self._lessons, tasks)

    def close(self) -> None:
        """End the process that learns beside, if there is one."""
        self._study.close()

    # --- files and explanations --------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the forests and their manifest."""
        if self._models is None:
            raise InputError("hybrid_ml has learnt nothing yet: train it before saving, with hms train")
        training = {"retrains": self._models.retrains, "classes": list(self._models.classes)}
        save_model(
            replace(self._models, lesson=None),
            path,
            kind=self.name,
            features=FEATURES,
            training=training,
            cluster=self._models.shape,
        )

    def load(self, path: str | Path) -> None:
        """Read forests that `save` or `hms train` wrote."""
        models = load_model(path, kind=self.name)
        if not isinstance(models, Models):
            raise InputError(f"{path} holds no forests of hybrid_ml: train them with hms train")
        self._models = self._lessons.models = models
        self._lessons.retrains = models.retrains

    @property
    def knows(self) -> bool:
        """Whether there is a forest to decide by."""
        return self._models is not None

    def use(self, model: Predictor | Models) -> None:
        """Decide by what was trained elsewhere; with a model of the shares alone, times stay unknown."""
        models = model if isinstance(model, Models) else Models(share=model)
        self._models = self._lessons.models = models
        self._lessons.retrains = models.retrains

    def expected_seconds(self, task: TaskView) -> Floats:
        """Return the learned seconds of a task of the current block."""
        return self.seconds[task.row] if self.timed else np.full(self.seconds.shape[1], np.nan)

    def scores(self, task: TaskView, view: View) -> Floats:
        """Return how much the forest leans to each device: the predicted share for GPUs, the rest for CPUs."""
        share = self.share[task.row]
        return np.where(view.kind == GPU, share, 1.0 - share)

    def contributions(self, task: TaskView) -> dict[str, float]:
        """Return how far each feature moves this task's predicted share; empty without a forest."""
        if self._models is None or not isinstance(self._models.share, RandomForestPredictor):
            return {}
        size, intensity, memory = task.size, task.compute_intensity, task.memory_required
        row = np.array([size, intensity, memory, memory / (size + 1.0), intensity / (memory + 1.0)])
        return self._models.share.contributions(row)

    @property
    def insight(self) -> ForestInsight:
        """Return how the forest stands, seen from outside."""
        models = self._models
        last = self._retrains[-1] if self._retrains else None
        seconds_mae, seconds_r2 = self._guesses.errors()
        return ForestInsight(
            version=self._version,
            beside=self._study.beside,
            retrains=models.retrains if models else 0,
            last_retrain=last.task if last else None,
            feature_importance=models.share.feature_importance() if models else {},
            share_mae=last.mae if last else NAN,
            share_r2=last.r2 if last else NAN,
            share_tested=last.tested if last else 0,
            seconds_mae=seconds_mae,
            seconds_r2=seconds_r2,
            seconds_tested=self._guesses.count,
        )

    @property
    def history(self) -> ForestHistory:
        """Return how the last fits went."""
        return ForestHistory(list(self._retrains))
