"""A cluster of many classes is described in one short line."""

from __future__ import annotations

from hybrid_scheduler.core.cluster import DEFAULT_CPU, Cluster, DeviceClass, Node


def test_many_classes_are_counted_and_few_are_named() -> None:
    gpus = tuple(DeviceClass(f"g{number}") for number in range(9))
    many = Cluster((DEFAULT_CPU, *gpus), tuple(Node({"cpu": 1, each.name: 2}) for each in gpus))
    assert many.describe() == "9 nodes: 9 CPUs of 1 classes, 18 GPUs of 9"
    assert Cluster.default().describe() == "1 node: 1 cpu, 4 gpu"
