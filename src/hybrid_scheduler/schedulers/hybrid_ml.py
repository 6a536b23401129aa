"""Hybrid ML: a random forest that predicts the GPU share, retrained while it works on what it has seen.

It never sees the times of a task before deciding. When a block of tasks has run, their shares are labelled in
retrospect: in the isolated race the oracle's share, with queues the share that the best use of the whole cluster
would have given them (`learning/labels.py`).

With queues the forest's share is a leaning, not a split: above the threshold a task goes to a GPU, else to a CPU. Two
things the forest cannot know are taken from the queues. The threshold moves with the difference between the
queues, so that tasks on the fence even them out; and a task whose device is busy takes an idle one if by the
*learned* times it would end there sooner.

Tasks that say more than the five features (columns of their own, or who waits for whom) are learnt from in another
way: their times are learnt with how sure that is (`learning/learnt_times.py`). Those that stand alone go where they
cost all tasks least (`dispatch.py`), graphs are planned ahead (`learnt_plan.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.beside import Study
from hybrid_scheduler.learning.features import FEATURES, task_features
from hybrid_scheduler.learning.forest_lessons import CHECK, ForestLessons, Models, Seen
from hybrid_scheduler.learning.guesses import Guesses
from hybrid_scheduler.learning.insight import NAN, RETRAINS, ForestHistory, ForestInsight, Retrain
from hybrid_scheduler.learning.known import Known, says_more
from hybrid_scheduler.learning.learnt_times import LearntTimes
from hybrid_scheduler.learning.model_file import load_model, save_model
from hybrid_scheduler.learning.predictors import Predictor, RandomForestPredictor
from hybrid_scheduler.learning.times_lessons import SeenMore, TimesLessons
from hybrid_scheduler.model.cluster import GPU, Cluster
from hybrid_scheduler.model.placements import Placements
from hybrid_scheduler.model.tasks import Floats, Tasks
from hybrid_scheduler.schedulers.dispatch import by_weighing
from hybrid_scheduler.schedulers.leaning import by_leaning
from hybrid_scheduler.schedulers.learnt_plan import plan
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.view import TaskView, View

RULES = ("least", "earliest")


class HybridML(Scheduler):
    """Random forest, retrained every `retrain_interval` tasks on the last `window_size` ones."""

    name = "hybrid_ml"
    sighted = False
    shared = ("_lessons", "_models", "_times", "_study", "_guesses", "_retrains")

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
        rule: Annotated[str, "by learnt times: least cost to all tasks, or earliest end of this one"] = "least",
        model: Annotated[str, "model file to start from"] = "",
        seed: Annotated[int, "seed of the forest"] = 0,
    ) -> None:
        if rule not in RULES:
            raise InputError(f"hybrid_ml: rule is '{rule}', expected {' or '.join(RULES)}")
        for name, value in (("retrain_interval", retrain_interval), ("window_size", window_size)):
            if value < 1:
                raise InputError(f"hybrid_ml: {name} is {value}, expected a whole number above 0")
        self.weigh_energy(energy_weight)
        self.timed = False  # whether times are known
        self.typical = 1.0
        self.share = np.empty(0)
        self.seconds = np.empty((0, 1))
        self.weighs, self.selfless = False, float(rule == "least")  # by learnt times, not by the share
        self.square, self.belongs, self.work = np.empty((0, 1)), np.ones(1), 1.0
        self.stream = np.zeros(2)  # tasks weighed so far, and when the first of them was ready
        self.device = np.empty(0, np.int64)
        self._seed = seed
        self._times: LearntTimes | None = None
        self.learn_every = min(CHECK, retrain_interval) if online else 0
        self._lessons = ForestLessons(retrain_interval, window_size, n_estimators, max_depth, tolerance, seed)
        self._lessons.more = TimesLessons(max(1, retrain_interval // 2), seed)
        self._models: Models | None = None
        self._study = Study(self._lessons, beside)
        self._guesses, self._retrains = Guesses(), deque[Retrain](maxlen=RETRAINS)
        self._version = 0
        if model:
            self.load(model)

    # --- deciding ----------------------------------------------------------------------------------------------

    def prepare(self, tasks: Tasks, times: Floats, view: View) -> None:
        """Predict a block at once: shares and seconds by class; plan a graph."""
        more = says_more(tasks)
        if self._times is not None and (more or self._models is None):
            self._expect(self._times, tasks, view)
        else:
            self._lean(tasks, view)
        self.order, self.device = None, np.empty(0, np.int64)
        if tasks.has_edges and self.timed and view.queued:
            self.device, self.order = plan(tasks, self.seconds, view, self._seed)
            self.weighs, self.square, self.belongs = True, self.seconds**2, np.zeros(self.seconds.shape[1])

    def _expect(self, learnt: LearntTimes, tasks: Tasks, view: View) -> None:
        """Take times from what was learnt of tasks that say more than the five features."""
        _check_classes(learnt.classes, view)
        self.seconds, self.square = learnt.predict(Known.of(tasks))
        self.weighs, self.timed = view.queued, True
        self.belongs, self.work, self.typical = learnt.share, learnt.work, learnt.typical
        gpu = np.isin(np.arange(self.seconds.shape[1]), view.device_class[view.kind == GPU])
        on_cpu, on_gpu = (self.seconds[:, each].min(axis=1, initial=np.inf) for each in (~gpu, gpu))
        self.share = 1.0 / (1.0 + on_gpu / on_cpu)  # both shares end together

    def _lean(self, tasks: Tasks, view: View) -> None:
        """Take shares and times from the forests of the five features."""
        self.weighs = False
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
            _check_classes(self._models.classes, view)
        else:
            self.seconds = np.ones((len(tasks), int(view.device_class.max()) + 1))

    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        """Lean to a GPU or a CPU by the forest and let the queues speak; or weigh by learnt times."""
        return by_weighing(self, task, view) if self.weighs else by_leaning(self, task, view)

    @property
    def chooser(self) -> Callable[..., Any]:
        """One way of deciding at a time: with both in it, a compiled loop takes half as long again."""
        return by_weighing if self.weighs else by_leaning

    # --- learning ----------------------------------------------------------------------------------------------

    def learn(self, placements: Placements) -> None:
        """Let the pupil study a block: here and now, or beside the decisions."""
        if self.timed and self.seconds.shape == placements.times.shape:
            self._guesses.add(self.seconds, placements.times)
        seen = SeenMore.of(placements) if says_more(placements.tasks) else Seen.of(placements, self.pull)
        models: Models | LearntTimes | None = self._study.study(seen, len(seen.times))
        if models is not None:
            self._take(models, int(placements.tasks.task_id[-1]))

    def _take(self, models: Models | LearntTimes, task: int) -> None:
        self._version += 1
        if isinstance(models, LearntTimes):
            self._times = models
            return
        self._models = models
        if models.lesson is not None:
            self._retrains.append(replace(models.lesson, task=task))

    def pretrain_more(self, lessons: Sequence[Tasks], cluster: Cluster) -> None:
        """Learn all that is known of tasks whose times have been measured; nothing has to run."""
        assert self._lessons.more is not None  # noqa: S101  # set when it was built
        self._times = self._lessons.more.taught(SeenMore.known_of(tasks, cluster) for tasks in lessons)

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
        """Write what was learnt and its manifest."""
        kept: Models | LearntTimes | None = self._times
        if self._models is not None:
            kept = replace(self._models, lesson=None, more=self._times)
        if kept is None:
            raise InputError("hybrid_ml has learnt nothing yet: train it before saving, with hms train")
        training = {"retrains": kept.retrains, "classes": list(kept.classes)}
        features = FEATURES if self._times is None else self._times.names
        save_model(kept, path, kind=self.name, features=features, training=training, cluster=kept.shape)

    def load(self, path: str | Path) -> None:
        """Read what `save` or `hms train` wrote."""
        models = load_model(path, kind=self.name)
        if not isinstance(models, Models | LearntTimes):
            raise InputError(f"{path} holds no forests of hybrid_ml: train them with hms train")
        self.use(models)

    @property
    def knows(self) -> bool:
        """Whether there is a forest to decide by."""
        return self._models is not None or self._times is not None

    @property
    def learnt(self) -> LearntTimes | None:
        """What it has learnt of tasks that say more than the five features."""
        return self._times

    def use(self, model: Predictor | Models | LearntTimes) -> None:
        """Decide by what was trained elsewhere; with a model of the shares alone, times stay unknown."""
        if isinstance(model, LearntTimes):
            self._times = model
            return
        models = model if isinstance(model, Models) else Models(share=model)
        self._models = self._lessons.models = models
        self._lessons.retrains = models.retrains
        self._times = models.more or self._times

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
        importance = self._times.feature_importance() if self._times else {}
        return ForestInsight(
            version=self._version,
            beside=self._study.beside,
            retrains=(models.retrains if models else 0) + (self._times.retrains if self._times else 0),
            last_retrain=last.task if last else None,
            feature_importance=models.share.feature_importance() if models else importance,
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


def _check_classes(known: tuple[str, ...], view: View) -> None:
    present = int(view.device_class.max()) + 1
    if len(known) < present:
        raise InputError(
            f"hybrid_ml's model knows the {len(known)} device classes {', '.join(known)}, this "
            f"cluster has {present}: train it for this cluster with hms train"
        )
