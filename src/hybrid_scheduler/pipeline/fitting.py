"""Phase 3: fit the model of the best GPU share to the training trace."""

from __future__ import annotations

from dataclasses import replace

from hybrid_scheduler.learning.features import task_features
from hybrid_scheduler.learning.forest_lessons import Models, with_times
from hybrid_scheduler.learning.offline_trainer import OfflineTrainer
from hybrid_scheduler.model.placements import RAN
from hybrid_scheduler.model.tasks import Tasks
from hybrid_scheduler.physics import class_times, rejections
from hybrid_scheduler.pipeline.phase import COMMON, FOREST, MODEL, TRAINING_TRACE, Found, Phase, Work
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.workload.generator import WorkloadGenerator

LESSON = 50  # tasks between two lessons of `hybrid_ml`


def fit_model(work: Work) -> Found:
    """Write the model alone, for `OnlineScheduler`, and as a start of `hybrid_ml`."""
    options = work.options.training
    trainer = OfflineTrainer(
        options.model,
        mode=work.options.mode,
        cluster=work.cluster,
        n_estimators=options.n_estimators,
        max_depth=options.max_depth,
        random_state=work.options.seed,
    )
    workload = WorkloadGenerator.load(work.source(TRAINING_TRACE))
    found = trainer.run_full_pipeline(workload, work.target(MODEL))
    policy = HybridML()
    policy.use(start_of(trainer, workload.tasks, work.options.seed))
    policy.save(work.target(FOREST))
    return Found({"model": options.model, **found})


def start_of(trainer: OfflineTrainer, tasks: Tasks | None, seed: int) -> Models:
    """Return the trained model with times beside it, as `hybrid_ml` starts from it.

    It counts as so many lessons as the tasks would have given online: the hasty first ones, on a handful of tasks
    each, would only make a good start worse.
    """
    known = Tasks.of(tasks or ())
    times = class_times(known, trainer.cluster)
    runs = rejections(known, times, trainer.cluster) == RAN
    models = with_times(trainer.model, task_features(known)[runs], times[runs], trainer.cluster, seed % 2**32)
    return replace(models, retrains=len(known) // LESSON)


FITTING = Phase(
    "training",
    "offline training",
    (*COMMON, "training"),
    (MODEL, f"{MODEL}.json", FOREST, f"{FOREST}.json"),
    fit_model,
    reads=(TRAINING_TRACE,),
)
