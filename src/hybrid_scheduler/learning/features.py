"""The five features by which a model knows a task."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.errors import unknown_name
from hybrid_scheduler.model.tasks import Floats, Tasks

FEATURES = ("size", "compute_intensity", "memory_required", "memory_per_size", "compute_to_memory")


def task_features(tasks: Tasks, names: tuple[str, ...] = FEATURES) -> Floats:
    """Return one row of features a task; nothing here knows how long a task takes."""
    size, intensity, memory = tasks.size, tasks.compute_intensity, tasks.memory_required
    columns = {
        "size": size,
        "task_size": size,  # as the guide's table calls it
        "compute_intensity": intensity,
        "memory_required": memory,
        "memory_per_size": memory / (size + 1.0),
        "compute_to_memory": intensity / (memory + 1.0),
    }
    for name in names:
        if name not in columns:
            raise unknown_name("feature of the model:", name, FEATURES)
    return np.column_stack([columns[name] for name in names])
