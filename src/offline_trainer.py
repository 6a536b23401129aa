"""`src.offline_trainer` of the guide: labels a workload, trains a model on it and saves it."""

from hybrid_scheduler.learning.predictors import OfflineTrainer

__all__ = ["OfflineTrainer"]
