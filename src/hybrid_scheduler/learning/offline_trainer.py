"""`OfflineTrainer` turns a workload into a trained model of the best GPU share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.learning.features import FEATURES, task_features
from hybrid_scheduler.learning.labels import isolated_labels, queued_labels
from hybrid_scheduler.learning.predictors import Predictor, RandomForestPredictor, XGBoostPredictor
from hybrid_scheduler.model.cluster import Cluster
from hybrid_scheduler.model.placements import RAN
from hybrid_scheduler.model.tasks import Floats, Task, Tasks
from hybrid_scheduler.physics import class_times, rejections

MODEL_TYPES: dict[str, type[Predictor]] = {"random_forest": RandomForestPredictor, "xgboost": XGBoostPredictor}


class HasTasks(Protocol):
    """Something that holds a workload, such as a `WorkloadGenerator`."""

    tasks: Tasks | None


class OfflineTrainer:
    """Labels a workload in retrospect, fits a model, judges it and saves it."""

    def __init__(
        self,
        model_type: str = "random_forest",
        *,
        mode: str = "isolated",
        cluster: Cluster | None = None,
        **options: Any,
    ) -> None:
        if model_type not in MODEL_TYPES:
            raise unknown_name("model type", model_type, MODEL_TYPES)
        if mode not in ("isolated", "queued"):
            raise InputError(f"mode is '{mode}', expected isolated or queued")
        self.mode = mode
        self.cluster = cluster or Cluster.default()
        self.model: Predictor = MODEL_TYPES[model_type](**options)

    def prepare_data(self, workload: HasTasks | Tasks | Iterable[Task]) -> tuple[Floats, Floats]:
        """Return features and labels of the tasks that fit the cluster."""
        tasks = _tasks_of(workload)
        times = class_times(tasks, self.cluster)
        runs = rejections(tasks, times, self.cluster) == RAN
        label = isolated_labels if self.mode == "isolated" else queued_labels
        return task_features(tasks)[runs], label(times[runs], self.cluster)

    def run_full_pipeline(
        self, workload: HasTasks | Tasks | Iterable[Task], model_output_path: str | Path | None = None
    ) -> dict[str, Any]:
        """Label, fit, judge and, if a path is given, save; return the quality and the feature importances."""
        import pandas as pd

        rows, labels = self.prepare_data(workload)
        results: dict[str, Any] = self.model.fit(pd.DataFrame(rows, columns=list(FEATURES)), labels)
        results["feature_importances"] = self.model.feature_importance()
        if model_output_path is not None:
            training = {
                "mode": self.mode,
                "rows": len(rows),
                "classes": [each.name for each in self.cluster.classes],
                "data_sha256": hashlib.sha256(rows.tobytes() + labels.tobytes()).hexdigest(),
                "quality": {key: value for key, value in results.items() if key != "feature_importances"},
            }
            self.model.save(model_output_path, training)
        return results


def _tasks_of(workload: HasTasks | Tasks | Iterable[Task]) -> Tasks:
    held: Any = getattr(workload, "tasks", workload)
    if held is None:
        raise InputError("the generator holds no workload yet: call generate_workload or load first")
    return Tasks.of(held)
