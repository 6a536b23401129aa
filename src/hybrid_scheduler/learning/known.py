"""What is known of a task before it runs, a row for a model: five features, its own, its place in a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.features import FEATURES, task_features
from hybrid_scheduler.learning.graph_features import GRAPH_FEATURES, graph_features
from hybrid_scheduler.model.tasks import FEATURE, Floats, Tasks

MOST_PAIRED = 12  # columns of their own that tasks may carry for ratios to be formed: there are n·(n − 1)/2 of them


@dataclass(frozen=True)
class Known:
    """Named columns on a scale on which tenfold is as far everywhere; NaN is unknown.

    A column that tasks carry themselves is called `feature_…`, as in files. The ratio of two of them stands beside
    them: work per byte says more than either, and a tree that asks one column at a time would never see it.
    """

    names: tuple[str, ...]
    rows: Floats

    @classmethod
    def of(cls, tasks: Tasks) -> Known:
        """Gather all that is known; nothing here knows how long a task takes."""
        own = {f"{FEATURE}{name}": _scaled(tasks.features[name]) for name in sorted(tasks.features)}
        pairs = list(combinations(own, 2)) if len(own) <= MOST_PAIRED else []
        ratios = {f"{one}/{other}": own[one] - own[other] for one, other in pairs}
        five, graph = _scaled(task_features(tasks)), _scaled(graph_features(tasks))
        names = (*FEATURES, *own, *ratios, *GRAPH_FEATURES)
        return cls(names, np.column_stack([five, *own.values(), *ratios.values(), graph]))

    def under(self, names: Sequence[str]) -> Floats:
        """Return the columns that a model has learnt from, in its order."""
        place = {name: number for number, name in enumerate(self.names)}
        missing = [name for name in names if name not in place and "/" not in name]
        if missing:
            own = [name for name in self.names if name.startswith(FEATURE) and "/" not in name]
            raise InputError(
                f"the model has learnt from {', '.join(missing)}, which these tasks do not carry "
                f"(their own: {', '.join(own) or 'none'}): give them those columns or train on tasks like these"
            )
        return self.rows[:, [place[name] for name in names]]

    def part(self, rows: npt.NDArray[np.bool_] | slice) -> Known:
        """Return some of the rows."""
        return Known(self.names, self.rows[rows])


def says_more(tasks: Tasks) -> bool:
    """Whether tasks say more than the five features: columns of their own, or who waits for whom."""
    return bool(tasks.features) or tasks.has_edges


def _scaled(columns: Floats) -> Floats:
    scaled: Floats = np.sign(columns) * np.log1p(np.abs(columns))
    return scaled
