"""The predictors under the module name that the project's guide uses."""

from hybrid_scheduler.learning.predictors import RandomForestPredictor, XGBoostPredictor

__all__ = ["RandomForestPredictor", "XGBoostPredictor"]
