"""Pods of Alibaba's GPU trace become tasks on the classes of devices of its nodes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.core.physics import class_times, rejections
from hybrid_scheduler.core.placements import RAN
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import reader
from hybrid_scheduler.workloads.formats.reader import Imported
from workloads.formats import real_data
from workloads.formats.real_data import needs_data
from workloads.formats.samples import NODES, PODS, alibaba_files

DATA = real_data.DATA / "alibaba_gpu_v2023"


@pytest.fixture
def found(tmp_path: Path) -> Imported:
    return reader.read_all(alibaba_files(tmp_path))


def test_a_pod_becomes_as_many_tasks_as_it_has_gpus_and_one_without(found: Imported) -> None:
    assert found.tasks.features["num_gpu"].tolist() == [1, 1, 4, 4, 4, 4, 0, 1]
    assert found.tasks.arrival_time.tolist() == [0, 50, 100, 100, 100, 100, 110, 140]


def test_pods_that_never_ran_are_skipped_for_a_reason(found: Imported) -> None:
    assert (found.rows, found.used) == (7, 5)
    assert found.skipped == {"never scheduled, so its duration is not known": 1, "ran for 0 s": 1}


def test_a_share_of_a_gpu_takes_that_share_of_the_seconds(found: Imported) -> None:
    v100 = found.tasks.measured["v100x4_64c_128g"]
    assert v100[:6].tolist() == [1000.0, 50.0, 100.0, 100.0, 100.0, 100.0]  # the second has half a GPU for 100 s


def test_devices_that_a_pod_cannot_use_take_forever(found: Imported) -> None:
    t4 = found.tasks.measured["t4x2_16c_64g"]
    assert t4.tolist() == [1000.0, 50.0, *[math.inf] * 6]  # two GPUs are too few for four, a CPU pod takes none
    assert np.isinf(found.tasks.measured["v100x4_64c_128g"][6:]).all()  # a CPU pod, and one that wants an A100
    assert np.isinf(found.tasks.measured["cpu_64c_128g"][:6]).all()


def test_cores_of_a_pod_are_a_share_of_the_node(found: Imported) -> None:
    times = {name: found.tasks.measured[name][6] for name in ("cpu_32c_256g", "cpu_64c_128g", "cpu_16c_64g")}
    assert times == {"cpu_32c_256g": 25.0, "cpu_64c_128g": 12.5, "cpu_16c_64g": 50.0}  # 8 cores for 100 s


def test_the_list_of_nodes_is_the_cluster_and_its_memory_binds(found: Imported) -> None:
    cluster = found.cluster
    assert cluster is not None
    assert cluster.describe() == (
        "4 nodes: 1 cpu_16c_64g, 1 cpu_32c_256g, 2 cpu_64c_128g, 2 t4x2_16c_64g, 8 v100x4_64c_128g"
    )
    assert {each.name: each.memory for each in cluster.classes}["t4x2_16c_64g"] == 65536 * 1.048576
    assert found.tasks.memory_required[2] == 65536 * 1.048576
    status = rejections(found.tasks, class_times(found.tasks, cluster), cluster)
    assert (status == RAN).tolist() == [True] * 7 + [False]  # nobody has an A100


def test_without_a_list_of_nodes_there_are_cores_and_gpus(tmp_path: Path) -> None:
    pods, _ = alibaba_files(tmp_path)
    found = reader.read_all([pods])
    assert found.cluster is None
    assert found.tasks.measured["cpu"][6] == 800.0
    assert found.tasks.measured["gpu"].tolist() == [1000.0, 50.0, *[100.0] * 4, math.inf, 40.0]


def test_a_list_of_nodes_alone_is_refused_with_what_is_missing(tmp_path: Path) -> None:
    _, nodes = alibaba_files(tmp_path)
    with pytest.raises(InputError, match=r"nodes\.csv goes with a file of the format alibaba: give that file too"):
        reader.read(nodes)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        (
            "pods.csv",
            PODS.replace("p3,8000", "p3,-8000"),
            r"pods\.csv line 5: cpu_milli is -8000, expected a number, 0",
        ),
        ("pods.csv", PODS.replace(",4,1000,", ",2.5,1000,"), r"pods\.csv line 4: num_gpu is 2\.5, expected a whole"),
        (
            "pods.csv",
            PODS.replace(",4,1000,", ",1e9,1000,"),
            r"pods\.csv line 4: num_gpu is 1e\+09, expected a whole",
        ),
        ("pods.csv", PODS.replace("BE,Failed,200", "BE,Failed,-5"), r"line 4: creation_time is -5, expected"),
        ("pods.csv", PODS.replace("p6,1000,1024", "p6,1000"), r"pods\.csv line 8: there are 10 fields, expected 11"),
        (
            "nodes.csv",
            NODES.replace("n2,16000", "n2,0"),
            r"nodes\.csv line 4: cpu_milli is 0, expected a number above 0",
        ),
        ("nodes.csv", NODES.replace(",2,T4", ",-2,T4"), r"nodes\.csv line 4: gpu is -2, expected a whole number"),
    ],
)
def test_a_wrong_figure_is_named_with_its_file_and_line(name: str, text: str, why: str, tmp_path: Path) -> None:
    paths = alibaba_files(tmp_path)
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=why):
        reader.read_all(paths)


@needs_data
@pytest.mark.parametrize("name", ["openb_pod_list_default.csv", "openb_pod_list_gpuspec33.csv"])
def test_the_published_trace_is_there_in_full(name: str) -> None:
    found = reader.read_all([DATA / name, DATA / "openb_node_list_all_node.csv"])
    assert found.rows == 8152
    assert found.skipped == {"never scheduled, so its duration is not known": 897}
    cluster = found.cluster
    assert cluster is not None
    assert (len(cluster.nodes), len(cluster.gpus), len(cluster.devices)) == (1523, 6212, 7735)
    status = rejections(found.tasks, class_times(found.tasks, cluster), cluster)
    assert int((status != RAN).sum()) == (
        0 if "default" in name else 8
    )  # one pod of 8 GPUs and 120 cores of a model whose nodes have 96


def test_a_list_of_pods_without_times_says_what_is_missing(tmp_path: Path) -> None:
    pods, nodes = alibaba_files(tmp_path)
    rows = [line.rsplit(",", 3)[0] for line in pods.read_text(encoding="utf-8").splitlines()]
    pods.write_text("\n".join(rows) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"pods\.csv: this list of pods has no creation_time, deletion_time"):
        reader.read_all([pods, nodes])
