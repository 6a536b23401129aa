"""A cluster is validated when built, survives a round trip through plain data, and numbers its devices."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from drawn import examples
from hybrid_scheduler.core import Cluster, DeviceClass, Node
from hybrid_scheduler.core.cluster import DEFAULT_CPU, DEFAULT_GPU
from hybrid_scheduler.errors import InputError, SchedulerError

SEVERAL = """
network: 625
classes:
  big: {speed: 2.5, memory: 80000, bandwidth: 64000, watts: 400, idle_watts: 60, dollars_per_second: 0.001}
  small: {speed: 0.5, speedup_slope: 1.5, memory: .inf, bandwidth: .inf}
  arm: {kind: cpu, speed: 0.7, watts: 9}
nodes:
  - {cpu: 2, big: 1, small: 2}
  - {arm: 1, big: 2, count: 2}
  - {devices: {cpu: 1, arm: 1}}
"""


def test_the_default_is_one_cpu_with_four_gpus() -> None:
    cluster = Cluster.default()
    assert [device.name for device in cluster.devices] == ["cpu", "gpu0", "gpu1", "gpu2", "gpu3"]
    assert [device.index for device in cluster.devices] == [0, 1, 2, 3, 4]
    assert cluster.gpus.tolist() == [1, 2, 3, 4]
    assert cluster.counts.tolist() == [1, 4]
    assert cluster.describe() == "1 node: 1 cpu, 4 gpu"
    assert cluster.per_device("memory").tolist() == [math.inf, 8000, 8000, 8000, 8000]


def test_number_and_memory_of_the_default_gpus_can_be_chosen() -> None:
    cluster = Cluster.default(gpus=2, memory=123.0)
    assert cluster.per_device("memory").tolist() == [math.inf, 123.0, 123.0]
    assert Cluster.default(gpus=0).gpus.tolist() == []
    assert Cluster.default(gpus=0).describe() == "1 node: 1 cpu"


def test_yaml_with_several_nodes_and_classes_numbers_cpus_before_gpus_node_by_node(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(SEVERAL, encoding="utf-8")
    cluster = Cluster.from_yaml(tmp_path / "cluster.yaml")
    assert [device.name for device in cluster.devices] == [
        "node0/cpu0",
        "node0/cpu1",
        "node0/big0",
        "node0/small0",
        "node0/small1",
        "node1/arm",
        "node1/big0",
        "node1/big1",
        "node2/arm",
        "node2/big0",
        "node2/big1",
        "node3/cpu",
        "node3/arm",
    ]
    assert [device.index for device in cluster.devices] == list(range(13))
    assert [device.node for device in cluster.devices] == [0] * 5 + [1] * 3 + [2] * 3 + [3] * 2
    assert cluster.is_gpu.tolist() == [device.device_class.kind == "gpu" for device in cluster.devices]
    assert cluster.network == 625.0
    assert cluster.describe() == "4 nodes: 3 cpu, 5 big, 2 small, 3 arm"


def test_yaml_gives_the_figures_of_the_classes_and_defaults_for_the_rest(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(SEVERAL, encoding="utf-8")
    classes = {each.name: each for each in Cluster.from_yaml(tmp_path / "cluster.yaml").classes}
    assert classes["big"] == DeviceClass("big", "gpu", 2.5, 3.0, 80000, 64000, 400, 60, 0.001)
    assert classes["small"].speedup_slope == 1.5
    assert classes["small"].memory == math.inf
    assert classes["arm"] == DeviceClass("arm", "cpu", 0.7, 0.0, math.inf, math.inf, 9, 0.0, 2e-5)
    assert classes["cpu"] == DEFAULT_CPU
    assert "gpu" not in classes


def test_a_class_of_the_default_can_be_changed_in_one_figure() -> None:
    cluster = Cluster.from_dict({"nodes": [{"cpu": 1, "gpu": 1}], "classes": {"gpu": {"speed": 3}}})
    assert cluster.classes == (DEFAULT_CPU, DeviceClass("gpu", speed=3, memory=8000.0, bandwidth=16000.0))


@pytest.mark.parametrize("text", [SEVERAL, "nodes: [{cpu: 1}]", "nodes: [{cpu: 1, gpu: 9}]\nnetwork: 1e-3"])
def test_plain_data_builds_the_same_cluster_again(text: str) -> None:
    cluster = Cluster.from_dict(yaml.safe_load(text.replace("1e-3", "0.001")))
    assert Cluster.from_dict(cluster.to_dict()) == cluster
    assert Cluster.from_dict(yaml.safe_load(yaml.safe_dump(cluster.to_dict(), sort_keys=False))) == cluster


positive = st.floats(1e-6, 1e6) | st.just(math.inf)
NAMES = ["cpu", "gpu", "a", "b", "z9"]


@st.composite
def any_clusters(draw: st.DrawFn) -> Cluster:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    cpu = draw(st.sampled_from(names))
    classes = tuple(
        DeviceClass(
            name,
            kind="cpu" if name == cpu else draw(st.sampled_from(["cpu", "gpu"])),
            speed=draw(st.floats(1e-3, 1e3)),
            speedup_slope=draw(st.floats(0, 10)),
            memory=draw(positive),
            bandwidth=draw(positive),
            watts=draw(st.floats(0, 1e3)),
            idle_watts=draw(st.floats(0, 1e3)),
            dollars_per_second=draw(st.floats(0, 1)),
        )
        for name in names
    )
    nodes = tuple(
        Node({cpu: draw(st.integers(1, 3)), **{name: draw(st.integers(0, 3)) for name in names if name != cpu}})
        for _ in range(draw(st.integers(1, 3)))
    )
    return Cluster(classes, nodes, draw(positive))


@examples(200)
@given(any_clusters())
@example(Cluster((DEFAULT_GPU, DEFAULT_CPU), (Node({"cpu": 1, "gpu": 1}),)))
@example(Cluster((DeviceClass("a", kind="cpu"), DEFAULT_CPU), (Node({"cpu": 1, "a": 1}),)))
def test_any_cluster_comes_back_the_same_from_its_plain_data(cluster: Cluster) -> None:
    again = Cluster.from_dict(yaml.safe_load(yaml.safe_dump(cluster.to_dict(), sort_keys=False)))
    assert again == cluster
    assert again.devices == cluster.devices
    assert again.class_index.tolist() == cluster.class_index.tolist()


@examples(200)
@given(any_clusters())
def test_devices_are_counted_through_nodes_with_cpus_first_in_each(cluster: Cluster) -> None:
    devices = cluster.devices
    assert [device.index for device in devices] == list(range(len(devices)))
    keys = [(device.node, device.device_class.kind == "gpu") for device in devices]
    assert keys == sorted(keys)
    assert len({device.name for device in devices}) == len(devices)
    for number, node in enumerate(cluster.nodes):
        for name, count in node.devices.items():
            assert sum(each.node == number and each.device_class.name == name for each in devices) == count
    assert cluster.counts.sum() == len(devices)
    assert np.array_equal(np.flatnonzero(cluster.is_gpu), cluster.gpus)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kind": "tpu"}, "'x': kind is 'tpu', expected cpu or gpu"),
        ({"speed": 0}, "'x': speed is 0, expected a number above 0"),
        ({"speed": -1.5}, "'x': speed is -1.5"),
        ({"speed": math.nan}, "'x': speed is nan"),
        ({"speed": "fast"}, "'x': speed is 'fast'"),
        ({"speed": True}, "'x': speed is True"),
        ({"speed": math.inf}, "'x': speed is inf"),
        ({"memory": 0}, "'x': memory is 0, expected a number above 0"),
        ({"bandwidth": -1}, "'x': bandwidth is -1"),
        ({"watts": -1}, "'x': watts is -1, expected a number, 0 or more"),
        ({"watts": math.inf}, "'x': watts is inf"),
        ({"idle_watts": math.nan}, "'x': idle_watts is nan"),
        ({"speedup_slope": None}, "'x': speedup_slope is None"),
        ({"speedup_slope": math.inf}, "'x': speedup_slope is inf"),
        ({"dollars_per_second": -0.1}, "'x': dollars_per_second is -0.1"),
    ],
)
def test_a_class_with_an_impossible_figure_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        DeviceClass("x", **options)


def test_two_classes_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="names must differ, got cpu, cpu: rename one"):
        Cluster((DEFAULT_CPU, DEFAULT_CPU), (Node({"cpu": 1}),))


@pytest.mark.parametrize("nodes", [(), (Node({}),), (Node({"cpu": 0}),)])
def test_a_cluster_without_a_device_is_refused(nodes: tuple[Node, ...]) -> None:
    with pytest.raises(InputError, match="no device"):
        Cluster((DEFAULT_CPU,), nodes)


def test_a_negative_number_of_default_gpus_is_refused() -> None:
    with pytest.raises(InputError, match="node 0: count of 'gpu' is -1"):
        Cluster.default(gpus=-1)


@pytest.mark.parametrize("network", [0.0, -1.0, math.nan])
def test_a_network_without_speed_is_refused(network: float) -> None:
    with pytest.raises(InputError, match="network is"):
        Cluster((DEFAULT_CPU,), (Node({"cpu": 1}),), network)


# --- any bytes -----------------------------------------------------------------------------------------------

scalars: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 5),
    st.floats(),
    st.sampled_from(["cpu", "gpu", "x", "", "inf", 10**400, -(10**400), "a\nb"]),
)
small: st.SearchStrategy[Any] = st.one_of(st.none(), st.booleans(), st.integers(-2, 5), st.floats(), st.just("x"))
KEYS = st.sampled_from(["cpu", "gpu", "x", "count", "devices", "kind", "speed", "watts", 1, None, True, 0.5])
NODE = st.dictionaries(
    KEYS, small | st.lists(small, max_size=2) | st.dictionaries(KEYS, small, max_size=3), max_size=4
)
FIGURES = st.dictionaries(KEYS, scalars | st.lists(scalars, max_size=2), max_size=4)
TOP = st.sampled_from(["nodes", "classes", "network", "nodse", 1, None])
ANYTHING = st.recursive(small, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3))
CLUSTERS = st.dictionaries(
    TOP,
    scalars | st.lists(NODE | small, max_size=3) | st.dictionaries(KEYS, FIGURES | small, max_size=3) | ANYTHING,
    max_size=3,
) | st.fixed_dictionaries(
    {"nodes": st.lists(NODE, max_size=3)},
    optional={"classes": st.dictionaries(KEYS, FIGURES | small, max_size=3), "network": scalars},
)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any_bytes") / "cluster.yaml"


def _reads_or_refuses(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        cluster = Cluster.from_yaml(path)
    except SchedulerError as error:
        assert str(path) in str(error)  # noqa: PT017  # an error is one of two good ends
        return
    assert len(cluster.devices) > 0
    assert Cluster.from_dict(cluster.to_dict()) == cluster


@examples(300)
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(b"nodes: 2020-13-45")
@example(b"!!int ''")
@example(b"!!float x")
@example(b"!!bool maybe")
@example(b"!!timestamp today")
@example(b"!!binary '\xc3\xa9'")
@example(b"nodes: " + b"[" * 3000)
@example(b"a: &a [*a]")
@example(b"nodes: &n [*n]")
@example(b"<<: {nodes: [{cpu: 1}]}")
@example(b"<<: 5")
@example(b"=: 1")
@example(b"? [a]\n: b")
@example(b"\xff\xfe\x00")
@example(b"nodes: [{cpu: 1}]\nnetwork: 0x" + b"f" * 400)
@example(b"nodes: [{cpu: 1}]\nnetwork: " + b"9" * 5000)
def test_any_bytes_are_a_cluster_or_an_error_for_the_user(scratch: Path, content: bytes) -> None:
    _reads_or_refuses(scratch, content)


@examples(500)
@given(CLUSTERS)
@example({"nodes": [{"cpu": 1, "gpu": None}]})
@example({"nodes": [{"cpu": 1}], "classes": {"gpu": {"kind": ["gpu"]}}})
@example({"nodes": [{"cpu": 1}], "classes": {"gpu": {"speed": 10**400}}})
@example({"nodes": [{"cpu": 1}], "network": 10**400})
@example({"nodes": [{"cpu": 1, 1: 2}], "classes": {1: {"speed": 2}}})
def test_any_yaml_is_a_cluster_or_an_error_for_the_user(scratch: Path, data: Any) -> None:
    _reads_or_refuses(scratch, yaml.safe_dump(data).encode())


def test_many_classes_are_counted_and_few_are_named() -> None:
    gpus = tuple(DeviceClass(f"g{number}") for number in range(9))
    many = Cluster((DEFAULT_CPU, *gpus), tuple(Node({"cpu": 1, each.name: 2}) for each in gpus))
    assert many.describe() == "9 nodes: 9 CPUs of 1 classes, 18 GPUs of 9"
    assert Cluster.default().describe() == "1 node: 1 cpu, 4 gpu"
