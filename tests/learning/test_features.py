"""What is known of a task before it runs: its own columns, ratios of them, its place in a graph."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler.core.tasks import Tasks, edges_from_ids
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.features import (
    FEATURES,
    GRAPH_FEATURES,
    FeatureTable,
    graph_features,
    has_custom_features,
    longest_path,
)


def tasks(features: dict[str, list[float]] | None = None) -> Tasks:
    return Tasks.build([100.0, 200.0], [0.1, 0.9], [10.0, 20.0], features=features)


def diamond() -> Tasks:
    edges = edges_from_ids(range(4), [(), (0,), (0,), (1, 2)], [(), (5.0,), (6.0,), (1.0, 2.0)])
    return Tasks.build([100.0] * 4, [0.5] * 4, [1.0] * 4, edges=edges)


def test_a_task_in_a_graph_is_known_by_its_place_and_the_data_it_moves() -> None:
    found = dict(zip(GRAPH_FEATURES, graph_features(diamond()).T.tolist(), strict=True))
    assert found == {
        "depth": [0, 1, 1, 2],
        "height": [2, 1, 1, 0],
        "parents": [0, 1, 1, 2],
        "children": [2, 1, 1, 0],
        "megabytes_in": [0, 5, 6, 3],
        "megabytes_out": [11, 1, 2, 0],
    }


def test_a_task_that_stands_alone_has_no_place() -> None:
    assert not graph_features(tasks()).any()
    assert not has_custom_features(tasks())
    assert has_custom_features(tasks({"loads": [1.0, 2.0]}))
    assert has_custom_features(diamond())


def test_the_way_to_the_end_is_the_longest_chain_of_seconds() -> None:
    assert longest_path(diamond(), np.array([1.0, 10.0, 2.0, 4.0])).tolist() == [15.0, 14.0, 6.0, 4.0]
    assert longest_path(diamond(), np.array([1.0, 10.0, 2.0, 4.0]), backwards=True).tolist() == [
        1.0,
        11.0,
        3.0,
        15.0,
    ]


def test_own_columns_come_by_name_with_the_ratio_of_each_two_in_logarithms() -> None:
    known = FeatureTable.from_tasks(tasks({"work": [9.0, 99.0], "bytes": [0.0, 9.0]}))
    own = ("feature_bytes", "feature_work", "feature_bytes/feature_work")
    assert known.names == (*FEATURES, *own, *GRAPH_FEATURES)
    assert np.allclose(known.select(own), np.log(10) * np.array([[0.0, 1.0, -1.0], [1.0, 2.0, -1.0]]))


def test_a_column_that_a_model_has_learnt_from_must_be_there() -> None:
    learnt = FeatureTable.from_tasks(tasks({"work": [1.0, 2.0]})).names
    with pytest.raises(InputError, match=r"trained on feature_work, which these tasks do not carry .*feature_words"):
        FeatureTable.from_tasks(tasks({"words": [1.0, 2.0]})).select(learnt)
