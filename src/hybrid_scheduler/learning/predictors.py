"""Predictors of a number from features (random forest, XGBoost where it is installed) and their offline training.

They follow scikit-learn's conventions (parameters in the constructor, fitted attributes end in `_`) and return the
quality of a fit from `fit`, as the project's guide shows.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.physics import class_times, rejections
from hybrid_scheduler.core.placements import RAN
from hybrid_scheduler.core.tasks import Floats, Task, Tasks
from hybrid_scheduler.errors import InputError, SchedulerError, unknown_name
from hybrid_scheduler.learning import LOADING
from hybrid_scheduler.learning.compiled_forest import CompiledForest, compile_forest
from hybrid_scheduler.learning.features import FEATURES, task_features
from hybrid_scheduler.learning.labels import label_isolated, label_queued
from hybrid_scheduler.learning.model_arrays import is_plain
from hybrid_scheduler.learning.model_files import load_model, save_model
from hybrid_scheduler.learning.trees import fit_random_forest
from hybrid_scheduler.registry import how_to_install, is_installed

if TYPE_CHECKING:
    import pandas as pd

CV_FOLDS = 5


class Predictor:
    """Base of the predictors: scaling, quality figures, names of features, files."""

    kind = ""

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state
        self.feature_names_: tuple[str, ...] = ()
        self.model_: Any = None
        self.mean_: Floats = np.empty(0)
        self.scale_: Floats = np.empty(0)
        self.importances_: Floats = np.empty(0)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # scikit-learn's signature
        """Return the constructor's parameters."""
        return {name: value for name, value in vars(self).items() if not name.endswith("_")}

    def set_params(self, **params: Any) -> Self:
        """Change parameters; an unknown one is an error."""
        for name, value in params.items():
            if name not in self.get_params():
                raise InputError(f"{type(self).__name__} has no parameter '{name}': {', '.join(self.get_params())}")
            setattr(self, name, value)
        return self

    @property
    def is_fitted(self) -> bool:
        """Whether there is something to predict with."""
        return len(self.mean_) > 0

    def _new_estimator(self) -> Any:
        raise NotImplementedError

    def fit(
        self,
        X: npt.ArrayLike | pd.DataFrame,  # noqa: N803  # the field's names
        y: npt.ArrayLike,
        test_size: float = 0.2,
        cv: int = CV_FOLDS,
    ) -> dict[str, float]:
        """Fit on a part of the rows, test on the rest; return train_r2, test_r2, cv_r2 and errors.

        `cv` is the number of folds of the cross-validation; 0 leaves it out (it costs as many fits more).
        """
        from sklearn.metrics import mean_absolute_error, r2_score
        from sklearn.model_selection import train_test_split

        rows, target = _matrix(X), np.asarray(y, np.float64).ravel()
        _check_rows(rows, target, test_size)
        self.feature_names_ = _names(X, rows.shape[1])
        split = train_test_split(rows, target, test_size=test_size, random_state=self.random_state)
        train, test, y_train, y_test = split
        self._fit_rows(train, y_train)
        predicted = self.predict(test)
        results = {
            "train_r2": float(r2_score(y_train, self.predict(train))),
            "test_r2": float(r2_score(y_test, predicted)),
            "mae": float(mean_absolute_error(y_test, predicted)),
            "rmse": float(np.sqrt(np.mean((y_test - predicted) ** 2))),
        }
        return results | self._cross_validate(rows, target, cv)

    def fit_all(self, rows: Floats, target: Floats, names: tuple[str, ...]) -> Self:
        """Fit on all rows without testing; what online learning uses."""
        self.feature_names_ = names
        self._fit_rows(rows, target)
        return self

    def _fit_rows(self, rows: Floats, target: Floats) -> None:
        scaled = self._scale(rows)
        self.model_ = self._new_estimator().fit(scaled, target)
        known = getattr(self.model_, "feature_importances_", None)
        self.importances_ = np.asarray(self._shuffle(scaled, target) if known is None else known, np.float64)

    def _scale(self, rows: Floats) -> Floats:
        """Fit the scaler to rows and return them scaled."""
        with LOADING:
            from sklearn.preprocessing import StandardScaler

        scaler = StandardScaler().fit(rows)
        self.mean_, self.scale_ = scaler.mean_, scaler.scale_
        scaled: Floats = (rows - self.mean_) / self.scale_
        return scaled

    def _shuffle(self, scaled: Floats, target: Floats) -> Floats:
        """Return how much worse the fit gets if a feature is shuffled, for models that count no importances."""
        from sklearn.inspection import permutation_importance

        few = slice(0, 500)
        found = permutation_importance(
            self.model_, scaled[few], target[few], n_repeats=2, random_state=self.random_state
        )
        worse = np.maximum(found.importances_mean, 0.0)
        shares: Floats = worse / worse.sum() if worse.sum() > 0 else np.full(len(worse), 1.0 / len(worse))
        return shares

    def _cross_validate(self, rows: Floats, target: Floats, folds: int) -> dict[str, float]:
        if folds < 2:
            return {}
        from sklearn.model_selection import cross_val_score

        scores = cross_val_score(
            self._new_estimator(), (rows - self.mean_) / self.scale_, target, cv=folds, scoring="r2"
        )
        return {"cv_r2": float(scores.mean()), "cv_r2_std": float(scores.std())}

    def predict(self, X: npt.ArrayLike | pd.DataFrame) -> Floats:  # noqa: N803
        """Return a prediction for every row."""
        if not self.is_fitted:
            raise SchedulerError(f"this {type(self).__name__} has not been fitted: call fit or load first")
        rows = _matrix(X)
        if rows.shape[1] != len(self.mean_):
            raise InputError(
                f"{rows.shape[1]} features given, this model was fitted on {', '.join(self.feature_names_)}"
            )
        return np.asarray(self._predict_rows(rows), np.float64)

    def _predict_rows(self, rows: Floats) -> Floats:
        predicted: Floats = self.model_.predict((rows - self.mean_) / self.scale_)
        return predicted

    def feature_importance(self) -> dict[str, float]:
        """Return how much each feature matters, largest first; they add up to 1."""
        if not self.is_fitted:
            raise SchedulerError("feature importances exist once the model has been fitted: call fit first")
        pairs = zip(self.feature_names_, self.importances_, strict=True)
        return dict(sorted(((name, float(value)) for name, value in pairs), key=lambda pair: -pair[1]))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "model_": None if self.model_ is None else self._estimator_state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if isinstance(self.model_, dict | bytearray):  # else it is one of version 1.0
            self.model_ = self._restore_estimator(self.model_)

    def _estimator_state(self) -> Any:
        """Return what predicting takes of the estimator: its plain values, without generators and optimisers."""
        return {name: value for name, value in vars(self.model_).items() if is_plain(value)}

    def _restore_estimator(self, state: Any) -> Any:
        estimator = self._new_estimator()
        vars(estimator).update(state)
        return estimator

    def save(self, path: str | Path, training: dict[str, Any] | None = None) -> None:
        """Write the model and, beside it, its manifest."""
        if not self.is_fitted:
            raise SchedulerError("there is no fitted model to save: call fit first")
        save_model(self, path, kind=self.kind, features=self.feature_names_, training=training or {})

    @classmethod
    def load(cls, path: str | Path, *, trusted: bool = False) -> Self:
        """Read a model whose digest matches its manifest; `trusted` skips that check (see the docs first)."""
        model = load_model(path, kind=cls.kind, trusted=trusted)
        if not isinstance(model, cls):
            raise InputError(f"{path} holds a {type(model).__name__}, expected a {cls.__name__}")
        return model


class RandomForestPredictor(Predictor):
    """A random forest evaluated by compiled code."""

    kind = "random_forest"

    def __init__(self, n_estimators: int = 100, max_depth: int = 15, random_state: int = 0, n_jobs: int = 1) -> None:
        super().__init__(random_state)
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.n_jobs = n_jobs
        self.compiled_: CompiledForest | None = None

    def _new_estimator(self) -> Any:
        from sklearn.ensemble import RandomForestRegressor

        return RandomForestRegressor(
            self.n_estimators, max_depth=self.max_depth, random_state=self.random_state, n_jobs=self.n_jobs
        )

    def _fit_rows(self, rows: Floats, target: Floats) -> None:
        super()._fit_rows(rows, target)
        self.compiled_ = compile_forest(self.model_, self.mean_, self.scale_)

    def fit_all(self, rows: Floats, target: Floats, names: tuple[str, ...]) -> Self:
        """Fit on all rows without testing; keeps the flat arrays only, which is all that predicting takes."""
        self.feature_names_, self.model_ = names, None
        scaled = self._scale(rows)
        trees = fit_random_forest(scaled, target, self.n_estimators, self.max_depth, self.random_state)
        self.compiled_ = compile_forest(trees, self.mean_, self.scale_)
        self.importances_ = trees.feature_importances_
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "model_": None}  # the flat arrays are all that predicting takes

    def _predict_rows(self, rows: Floats) -> Floats:
        if self.compiled_ is None:
            raise SchedulerError("this forest has not been fitted: call fit or load first")
        return self.compiled_.predict(rows)

    def contributions(self, row: Floats) -> dict[str, float]:
        """Return how far each feature moves the prediction of one row from the forest's mean."""
        if self.compiled_ is None:
            raise SchedulerError("contributions exist once the forest has been fitted: call fit first")
        contributions = self.compiled_.contributions(row).tolist()
        return dict(zip(self.feature_names_, contributions, strict=True))


class XGBoostPredictor(Predictor):
    """Gradient boosting by XGBoost, an optional extra."""

    kind = "xgboost"

    def __init__(
        self, n_estimators: int = 100, max_depth: int = 7, learning_rate: float = 0.1, random_state: int = 0
    ) -> None:
        super().__init__(random_state)
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate

    def _new_estimator(self) -> Any:
        try:
            from xgboost import XGBRegressor
        except ImportError:
            raise SchedulerError(
                "XGBoost is not installed: pip install 'hybrid-ml-scheduler[xgboost]', or use RandomForestPredictor"
            ) from None
        return XGBRegressor(
            n_estimators=self.n_estimators,
            max_depth=self.max_depth,
            learning_rate=self.learning_rate,
            random_state=self.random_state,
            n_jobs=1,
        )

    def _estimator_state(self) -> bytearray:
        raw: bytearray = self.model_.get_booster().save_raw("ubj")
        return raw

    def _restore_estimator(self, state: Any) -> Any:
        estimator = self._new_estimator()
        estimator.load_model(state)
        return estimator


class SVMPredictor(Predictor):
    """Support vector regression by scikit-learn."""

    kind = "svm"

    def __init__(self, C: float = 10.0, epsilon: float = 0.02, random_state: int = 0) -> None:  # noqa: N803  # the field's name
        super().__init__(random_state)
        self.C = C
        self.epsilon = epsilon

    def _new_estimator(self) -> Any:
        from sklearn.svm import SVR

        return SVR(C=self.C, epsilon=self.epsilon)

    def _restore_estimator(self, state: Any) -> Any:
        count, features = np.shape(state["support_vectors_"])  # libsvm looks at no limits
        if np.shape(state["support_"]) != (count,) or np.shape(state["_dual_coef_"]) != (1, count):
            raise ValueError("the arrays of the support vectors do not belong together")
        if features != len(self.mean_) or np.shape(state["_intercept_"]) != (1,):
            raise ValueError("the support vectors have other features than the model")
        return super()._restore_estimator(state)


class NeuralNetworkPredictor(Predictor):
    """A network of two hidden layers by scikit-learn, trained by Adam."""

    kind = "neural_network"

    def __init__(self, hidden: int = 64, max_iter: int = 300, random_state: int = 0) -> None:
        super().__init__(random_state)
        self.hidden = hidden
        self.max_iter = max_iter

    def _new_estimator(self) -> Any:
        from sklearn.neural_network import MLPRegressor

        # Stops by itself: iterations that are not enough would be a warning at every fit.
        return MLPRegressor(
            hidden_layer_sizes=(self.hidden, self.hidden),
            max_iter=self.max_iter,
            early_stopping=True,
            random_state=self.random_state,
        )


def _matrix(X: npt.ArrayLike | pd.DataFrame) -> Floats:  # noqa: N803
    rows = np.asarray(X, np.float64)
    if rows.ndim != 2:
        raise InputError(f"features have shape {rows.shape}, expected rows and columns")
    return rows


def _names(X: npt.ArrayLike | pd.DataFrame, count: int) -> tuple[str, ...]:  # noqa: N803
    columns = getattr(X, "columns", None)
    return tuple(f"x{k}" for k in range(count)) if columns is None else tuple(str(name) for name in columns)


def _check_rows(rows: Floats, target: Floats, test_size: float) -> None:
    if len(rows) != len(target):
        raise InputError(f"{len(rows)} rows of features and {len(target)} targets: they must be as many")
    if len(rows) < 5:
        raise InputError(f"{len(rows)} rows are too few to fit and test a model: give at least 5")
    if not 0 < test_size < 1:
        raise InputError(f"test_size is {test_size}, expected a share between 0 and 1")
    if not np.isfinite(rows).all() or not np.isfinite(target).all():
        raise InputError("features and targets must be finite numbers: drop rows with NaN or inf")


MODEL_TYPES: dict[str, type[Predictor]] = {
    each.kind: each for each in (RandomForestPredictor, XGBoostPredictor, SVMPredictor, NeuralNetworkPredictor)
}


def create_predictor(model_type: str, **options: Any) -> Predictor:
    """Return a model of a type; of the options it gets those that it has, since trees have others than networks."""
    if model_type not in MODEL_TYPES:
        raise unknown_name("model type", model_type, MODEL_TYPES)
    if model_type == XGBoostPredictor.kind and not is_installed("xgboost"):
        raise SchedulerError(f"XGBoost is not installed: {how_to_install('xgboost')}, or use random_forest")
    accepted = inspect.signature(MODEL_TYPES[model_type]).parameters
    return MODEL_TYPES[model_type](**{name: value for name, value in options.items() if name in accepted})


def require_shares(model: Predictor, name: str = "this model") -> None:
    """Refuse a model that predicts no GPU shares of tasks, such as one of durations: it would decide nonsense."""
    unknown = [each for each in model.feature_names_ if each not in (*FEATURES, "task_size")]
    if unknown:
        raise InputError(f"{name} was fitted on {', '.join(unknown)}, which tasks do not have: fit it on {FEATURES}")
    predicted = model.predict(task_features(_typical_tasks(), model.feature_names_))
    low, high = float(predicted.min()), float(predicted.max())
    if low < -SHARE_SLACK or high > 1.0 + SHARE_SLACK:
        raise InputError(
            f"{name} predicts {low:.3g} to {high:.3g} for usual tasks, a GPU share is from 0 to 1: it is a model of "
            "something else, such as durations; train one of shares with OfflineTrainer or hms train hybrid_ml"
        )


SHARE_SLACK = 0.25
"""How far beyond 0 and 1 a model of shares may go: networks and boosted trees overshoot a little."""


def _typical_tasks() -> Tasks:
    sizes, intensities, memories = (
        axis.ravel() for axis in np.meshgrid((200.0, 1000.0, 4000.0), (0.1, 0.5, 0.9), (20.0, 200.0, 480.0))
    )
    return Tasks.build(size=sizes, compute_intensity=intensities, memory_required=memories)


class HasTasks(Protocol):
    """Something that holds a workload, such as a `WorkloadGenerator`."""

    tasks: Tasks | None


class OfflineTrainer:
    """Labels a workload in retrospect, fits a model, tests and saves it."""

    def __init__(
        self,
        model_type: str = "random_forest",
        *,
        mode: str = "isolated",
        cluster: Cluster | None = None,
        **options: Any,
    ) -> None:
        if mode not in ("isolated", "queued"):
            raise InputError(f"mode is '{mode}', expected isolated or queued")
        self.mode = mode
        self.cluster = cluster or Cluster.default()
        self.model = create_predictor(model_type, **options)

    def prepare_data(self, workload: HasTasks | Tasks | Iterable[Task]) -> tuple[Floats, Floats]:
        """Return features and labels of the tasks that fit the cluster."""
        held: Any = getattr(workload, "tasks", workload)
        if held is None:
            raise InputError("the generator holds no workload yet: call generate_workload or load first")
        tasks = Tasks.from_iterable(held)
        times = class_times(tasks, self.cluster)
        runs = rejections(tasks, times, self.cluster) == RAN
        label = label_isolated if self.mode == "isolated" else label_queued
        return task_features(tasks)[runs], label(times[runs], self.cluster)

    def run_full_pipeline(
        self, workload: HasTasks | Tasks | Iterable[Task], model_output_path: str | Path | None = None
    ) -> dict[str, Any]:
        """Label, fit, test and, if a path is given, save; return the quality and the feature importances."""
        import pandas as pd

        rows, labels = self.prepare_data(workload)
        results: dict[str, Any] = self.model.fit(pd.DataFrame(rows, columns=list(FEATURES)), labels)
        results["feature_importances"] = self.model.feature_importance()
        if model_output_path is not None:
            training = {
                "mode": self.mode,
                "rows": len(rows),
                "classes": [each.name for each in self.cluster.classes],
                "data_sha256": hashlib.sha256(rows.tobytes() + labels.tobytes()).hexdigest(),
                "quality": {key: value for key, value in results.items() if key != "feature_importances"},
            }
            self.model.save(model_output_path, training)
        return results
