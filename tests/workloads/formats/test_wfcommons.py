"""Workflows: what was measured becomes times and edges, what is wrong is refused with the task's name."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import reader
from hybrid_scheduler.workloads.formats.reader import Imported
from workloads.formats.instances import wfcommons_file, workflow, write_file
from workloads.formats.real_data import DATA, needs_data, rows

WORKFLOWS = DATA / "wf_pegasus_makeflow"


@pytest.fixture
def found(tmp_path: Path) -> Imported:
    return reader.read_all(wfcommons_file(tmp_path))


def test_run_times_are_measured_on_the_cpu_and_no_gpu_can_run_the_tasks(found: Imported) -> None:
    assert found.tasks.measured["cpu"].tolist() == [2.5, 1.0, 1e-6, 4.0]
    assert np.isinf(found.tasks.measured["gpu"]).all()
    assert found.tasks.duration_estimate.tolist() == [2.5, 1.0, 1e-6, 4.0]


def test_edges_carry_the_files_that_the_parent_writes_and_the_child_reads(found: Imported) -> None:
    edges = found.tasks.edges
    assert [edges.neighbours(row).tolist() for row in range(4)] == [[], [0], [0], [1, 2]]
    assert edges.megabytes.tolist() == [0.5, 0.0, 1.0, 7e-6]


def test_memory_and_intensity_are_the_files_or_assumed(found: Imported) -> None:
    assert found.tasks.memory_required.tolist() == [3.0, 0.0, 0.0, 0.0]
    assert found.tasks.compute_intensity.tolist() == [0.9, 1.0, 0.5, 0.125]
    assert found.tasks.features["input_mb"].tolist() == [4.0, 0.5, 4.0, 1.000007]
    assert found.tasks.size.tolist() == [1000.0, math.sqrt(125_000), 1000.0, math.sqrt(1_000_007 / 4)]


def test_machines_become_nodes_with_their_cores(found: Imported) -> None:
    assert found.cluster is not None
    assert [dict(node.devices) for node in found.cluster.nodes] == [{"cpu": 2}, {"cpu": 1}]


def test_a_task_must_fit_the_memory_of_a_node(tmp_path: Path) -> None:
    document = workflow()
    machines = document["workflow"]["execution"]["machines"]
    machines[0]["memoryInBytes"], machines[1]["memoryInBytes"] = 2_000_000_000, 2_000_000_000
    found = reader.read_all([write_file(tmp_path / "same.json", json.dumps(document))])
    assert found.cluster is not None
    assert [(each.name, each.memory) for each in found.cluster.classes] == [("cpu", 2000.0)]
    machines[1]["memoryInBytes"] = 64_000_000_000
    found = reader.read_all([write_file(tmp_path / "other.json", json.dumps(document))])
    assert found.cluster is not None
    assert [(each.name, each.memory) for each in found.cluster.classes] == [
        ("cpu_2gb", 2000.0),
        ("cpu_64gb", 64_000.0),
    ]
    assert found.tasks.measured["cpu_2gb"].tolist() == found.tasks.measured["cpu_64gb"].tolist()


def older(version: str) -> dict[str, Any]:
    """Return the same workflow as versions up to 1.4 have it."""
    new = workflow()["workflow"]
    sizes = {file["id"]: file["sizeInBytes"] for file in new["specification"]["files"]}
    units = version == "1.4"
    tasks = []
    for task, run in zip(new["specification"]["tasks"], new["execution"]["tasks"], strict=True):
        link = {"input": task["inputFiles"], "output": task["outputFiles"]}
        files = [
            {"link": way, "name": name, ("sizeInBytes" if units else "size"): sizes[name]}
            for way, names in link.items()
            for name in names
        ]
        old = {"name": task["id"], "parents": task["parents"], "files": files}
        old["runtimeInSeconds" if units else "runtime"] = run["runtimeInSeconds"]
        if "avgCPU" in run:
            old["avgCPU"] = run["avgCPU"]
        if "memoryInBytes" in run:
            old["memoryInBytes" if units else "memory"] = run["memoryInBytes"] / (1 if units else 1000)
        tasks.append(old)
    machines = [{"nodeName": "one", "cpu": {"count": 2}}, {"nodeName": "two"}]
    return {"schemaVersion": version, "workflow": {"tasks": tasks, "machines": machines}}


@pytest.mark.parametrize("version", ["1.3", "1.4"])
def test_older_versions_give_the_same_tasks(version: str, found: Imported, tmp_path: Path) -> None:
    same = reader.read_all([write_file(tmp_path / "old.json", json.dumps(older(version)))])
    assert list(same.tasks) == list(found.tasks)
    assert same.tasks.edges.megabytes.tolist() == found.tasks.edges.megabytes.tolist()
    assert same.cluster == found.cluster


def test_an_edge_told_by_the_parent_alone_counts(tmp_path: Path) -> None:
    data = workflow()
    for task in data["workflow"]["specification"]["tasks"]:
        task["parents"] = []
    tasks = reader.read(write_file(tmp_path / "children.json", json.dumps(data)))
    assert [tasks.edges.neighbours(row).tolist() for row in range(4)] == [[], [0], [0], [1, 2]]


def plan(data: dict[str, Any]) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = data["workflow"]["specification"]["tasks"]
    return entries


def make_cycle(data: dict[str, Any]) -> None:
    plan(data)[0]["parents"] = ["d"]


def unknown_parent(data: dict[str, Any]) -> None:
    plan(data)[1]["parents"] = ["nobody"]


def unknown_child(data: dict[str, Any]) -> None:
    plan(data)[1]["children"] = ["nobody"]


def same_id(data: dict[str, Any]) -> None:
    plan(data)[2]["id"] = "b"


def negative(data: dict[str, Any]) -> None:
    data["workflow"]["execution"]["tasks"][3]["runtimeInSeconds"] = -1


def never_run(data: dict[str, Any]) -> None:
    del data["workflow"]["execution"]["tasks"][3]


def lost_file(data: dict[str, Any]) -> None:
    plan(data)[1]["inputFiles"] = ["lost"]


def many_cores(data: dict[str, Any]) -> None:
    data["workflow"]["execution"]["machines"][0]["cpu"]["coreCount"] = 1e9


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (make_cycle, r"task '[abd]'.* cycle"),
        (unknown_parent, "task 'b': its parent 'nobody' does not exist"),
        (unknown_child, "task 'b' has the child 'nobody', which does not exist"),
        (same_id, "task 'b': its id appears twice"),
        (negative, "'d': runtimeInSeconds is -1"),
        (never_run, "task 'd' is not among the executed ones"),
        (lost_file, "file 'lost' is read or written by a task but not listed"),
        (many_cores, "the machines have 1e.09 cores"),
    ],
)
def test_what_cannot_be_a_workflow_is_refused_by_name(
    change: Callable[[dict[str, Any]], None], said: str, tmp_path: Path
) -> None:
    data = workflow()
    change(data)
    path = write_file(tmp_path / "bad.json", json.dumps(data))
    with pytest.raises(InputError, match=said) as refused:
        reader.read(path)
    assert str(refused.value).startswith(str(path))


def test_a_file_that_is_cut_off_is_refused_with_its_line(tmp_path: Path) -> None:
    path = wfcommons_file(tmp_path)[0]
    lines = path.read_text(encoding="utf-8").split("\n")
    path.write_text("\n".join(lines[:20]), encoding="utf-8")
    with pytest.raises(InputError, match=r"diamond.json line 20 is no valid JSON \(.*\): it may be cut off"):
        reader.read(path)


@needs_data
def test_every_workflow_has_the_counts_of_the_index() -> None:
    index = rows(WORKFLOWS / "INDEX.csv")
    tasks = edges = 0
    for row in index:
        found = reader.read_all([WORKFLOWS / row["local"]])
        assert (found.rows, found.used) == (int(row["tasks"]), int(row["with_runtime"]))
        assert len(found.tasks.edges.parents) == int(row["edges"])
        assert np.isclose(found.tasks.measured["cpu"].sum(), float(row["sum_runtime_s"]))
        assert found.cluster is not None
        assert len(found.cluster.nodes) == int(row["machines"])
        tasks, edges = tasks + len(found.tasks), edges + len(found.tasks.edges.parents)
    assert (len(index), tasks, edges) == (24, 5347, 9416)
