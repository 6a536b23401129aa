"""`src.ml_models` of the guide: regressors that predict from the features of a task."""

from hybrid_scheduler.learning.predictors import RandomForestPredictor, XGBoostPredictor

__all__ = ["RandomForestPredictor", "XGBoostPredictor"]
