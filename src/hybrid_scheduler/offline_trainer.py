"""The trainer under the module name that the project's guide uses."""

from hybrid_scheduler.learning.offline_trainer import OfflineTrainer

__all__ = ["OfflineTrainer"]
