"""The five features by which a model knows a task."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.model.tasks import Floats, Tasks

FEATURES = ("size", "compute_intensity", "memory_required", "memory_per_size", "compute_to_memory")


def task_features(tasks: Tasks) -> Floats:
    """Return one row of features a task; nothing here knows how long a task takes."""
    size, intensity, memory = tasks.size, tasks.compute_intensity, tasks.memory_required
    return np.column_stack([size, intensity, memory, memory / (size + 1.0), intensity / (memory + 1.0)])
