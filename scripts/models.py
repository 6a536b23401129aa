"""Train the models that come with the package: `make models`.

Those of `hybrid_ml` and `rl_agent` are for the default cluster, 131 s of CPU; that of `attention_agent` is for any.
"""

from __future__ import annotations

from pathlib import Path

from hybrid_scheduler.core import Cluster
from hybrid_scheduler.studies.pretraining import SHIPPED, SHIPPED_SPECS, train_model, train_on_clusters


def write_models(folder: Path = SHIPPED) -> None:
    """Train every learner that is shipped and write its model and manifest."""
    folder.mkdir(exist_ok=True)
    for spec in SHIPPED_SPECS:
        train_model(spec, Cluster.default()).save(folder / f"{spec}.model")
    train_on_clusters("attention_agent").save(folder / "attention_agent.model")


if __name__ == "__main__":
    write_models()
