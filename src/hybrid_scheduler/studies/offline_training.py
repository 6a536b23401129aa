"""Training from what a service has stored: a new model of GPU shares, taken if it is better on unseen rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.features import FEATURES, task_features
from hybrid_scheduler.learning.predictors import Predictor, create_predictor
from hybrid_scheduler.schedulers.hybrid_ml import HybridML

LEAST_ROWS = 100
HELD_OUT = 5  # every fifth row is for the comparison of the two models
COLUMNS = ("size", "compute_intensity", "memory_required")


class Offer(NamedTuple):
    """A model fitted to stored rows, its mean error on held-out ones, and that of the model that is there."""

    model: Predictor
    fitted: int
    held_out: int
    error: float
    current_error: float  # NaN: there is none yet

    @property
    def is_better(self) -> bool:
        """Whether it should take the place of the present one."""
        return math.isnan(self.current_error) or self.error < self.current_error

    def describe(self) -> str:
        """Return the comparison in a sentence."""
        before = "" if math.isnan(self.current_error) else f", the present one {self.current_error:.4f}"
        verdict = "taken" if self.is_better else "not taken"
        return f"mean error {self.error:.4f} on {self.held_out:,} held-out rows{before}: {verdict}"


def train_offer(
    rows: Sequence[Mapping[str, Any]], current: Path, model_type: str = "random_forest", seed: int = 0
) -> Offer:
    """Fit a model to rows of `training_data`; compare it with the one at `current`, if there is one."""
    if len(rows) < LEAST_ROWS:
        raise InputError(
            f"{len(rows)} rows of training data are stored, too few to train on: let hms serve run until there are "
            f"{LEAST_ROWS}"
        )
    size, intensity, memory = (np.array([row[name] for row in rows]) for name in COLUMNS)
    tasks = Tasks.build(size, intensity, memory)
    features, shares = task_features(tasks), np.array([row["optimal_gpu_fraction"] for row in rows])
    held = np.arange(len(rows)) % HELD_OUT == 0
    model = create_predictor(model_type, random_state=seed).fit_all(features[~held], shares[~held], FEATURES)
    known = HybridML(model=str(current)).share_model if current.is_file() else None
    errors = [
        float(np.abs(each.predict(features[held]) - shares[held]).mean()) if each is not None else math.nan
        for each in (model, known)
    ]
    return Offer(model, int((~held).sum()), int(held.sum()), *errors)


def save_offer(offer: Offer, path: Path) -> None:
    """Write an offered model as `hybrid_ml` reads it."""
    policy = HybridML()
    policy.set_model(offer.model)
    path.parent.mkdir(parents=True, exist_ok=True)
    policy.save(path)
