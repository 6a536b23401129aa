"""Train the models that come with the package, for the default cluster: `make models`, 131 s of CPU."""

from __future__ import annotations

from pathlib import Path

from hybrid_scheduler.core import Cluster
from hybrid_scheduler.studies.pretraining import SHIPPED, SHIPPED_SPECS, train_model


def write_models(folder: Path = SHIPPED) -> None:
    """Train every learner that is shipped and write its model and manifest."""
    folder.mkdir(exist_ok=True)
    for spec in SHIPPED_SPECS:
        train_model(spec, Cluster.default()).save(folder / f"{spec}.model")


if __name__ == "__main__":
    write_models()
