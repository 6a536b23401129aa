"""A cluster file that cannot be used ends in one line that names the file, the thing and what is expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers_cli import files_in, hms, refused

REJECTED: dict[str, tuple[str, list[str]]] = {
    "no nodes": ("nodes: []\n", ["no device", "{cpu: 1, gpu: 4}"]),
    "an empty file": ("", ["mapping with 'nodes'"]),
    "a node without devices": ("nodes: [{}]\n", ["no device", "{cpu: 1, gpu: 4}"]),
    "nodes with zero devices": ("nodes: [{cpu: 0, gpu: 0}]\n", ["no device"]),
    "a list": ("- cpu\n- gpu\n", ["mapping with 'nodes'"]),
    "a word": ("hello\n", ["mapping with 'nodes'"]),
    "an unknown device class": (
        "nodes: [{cpu: 1, gpuu: 4}]\n",
        ["class in node 0", "'gpuu'", "did you mean 'gpu'", "list it under 'classes'"],
    ),
    "an unknown key": ("node: [{cpu: 1}]\n", ["unknown key", "'node'", "did you mean 'nodes'", "classes"]),
    "a number as a key": ("1: 2\nnodes: [{cpu: 1}]\n", ["unknown key", "'1'", "classes, network, nodes"]),
    "an unknown figure of a class": (
        "nodes: [{cpu: 1, gpu: 1}]\nclasses: {gpu: {sped: 2}}\n",
        ["figure of device class 'gpu'", "'sped'", "did you mean 'speed'", "bandwidth"],
    ),
    "an unknown key beside devices": (
        "nodes: [{devices: {cpu: 1}, gpus: 4}]\n",
        ["node 0", "gpus"],
    ),
    "devices that are a list": ("nodes: [{devices: [cpu, gpu]}]\n", ["node 0", "devices"]),
    "a negative speed": ("nodes: [{cpu: 1}]\nclasses: {gpu: {speed: -1}}\n", ["'gpu'", "speed is -1", "above 0"]),
    "a speed of zero": ("nodes: [{cpu: 1}]\nclasses: {gpu: {speed: 0}}\n", ["'gpu'", "speed is 0", "above 0"]),
    "a speed that is NaN": ("nodes: [{cpu: 1}]\nclasses: {gpu: {speed: .nan}}\n", ["speed is nan", "above 0"]),
    "a speed that is a word": ("nodes: [{cpu: 1}]\nclasses: {gpu: {speed: fast}}\n", ["speed is 'fast'", "above 0"]),
    "a speed that is a truth value": ("nodes: [{cpu: 1}]\nclasses: {gpu: {speed: yes}}\n", ["speed is True"]),
    "a speed of 400 digits": (f"nodes: [{{cpu: 1}}]\nclasses: {{gpu: {{speed: {'9' * 400}}}}}\n", ["speed is"]),
    "an empty speed": ("nodes: [{cpu: 1}]\nclasses: {gpu: {speed: }}\n", ["speed is None", "above 0"]),
    "negative watts": ("nodes: [{cpu: 1}]\nclasses: {gpu: {watts: -3}}\n", ["watts is -3", "0 or more"]),
    "memory of zero": ("nodes: [{cpu: 1}]\nclasses: {gpu: {memory: 0}}\n", ["memory is 0", "above 0"]),
    "an unknown kind": ("nodes: [{cpu: 1}]\nclasses: {tpu: {kind: tpu}}\n", ["'tpu'", "kind is 'tpu'", "cpu or gpu"]),
    "a kind that is a list": (
        "nodes: [{cpu: 1}]\nclasses: {tpu: {kind: [gpu]}}\n",
        ["'tpu'", "kind is", "cpu or gpu"],
    ),
    "a class without figures": ("nodes: [{cpu: 1}]\nclasses: {tpu: }\n", ["'tpu'", "{speed: 2.0}"]),
    "classes as a list": ("nodes: [{cpu: 1}]\nclasses: [gpu]\n", ["'nodes' is a list and 'classes' a mapping"]),
    "nodes as a mapping": ("nodes: {cpu: 1}\n", ["'nodes' is a list"]),
    "a node that is a number": ("nodes: [{cpu: 1}, 5]\n", ["node 1 is 5", "{cpu: 1, gpu: 4}"]),
    "a node without a CPU": ("nodes: [{cpu: 1}, {gpu: 4}]\n", ["node 1 has no CPU", "needs one"]),
    "a node with zero CPUs": ("nodes: [{cpu: 0, gpu: 4}]\n", ["node 0 has no CPU"]),
    "a negative count": ("nodes: [{cpu: 1, gpu: -2}]\n", ["node 0", "'gpu' is -2", "whole number, 0 or more"]),
    "a count of 1.5": ("nodes: [{cpu: 1, gpu: 1.5}]\n", ["node 0", "'gpu' is 1.5", "whole number"]),
    "a count that is a word": ("nodes: [{cpu: one}]\n", ["node 0", "'cpu' is 'one'", "whole number"]),
    "an empty count": ("nodes: [{cpu: 1, gpu: }]\n", ["node 0", "'gpu' is None", "whole number"]),
    "a count that is a list": ("nodes: [{cpu: [1]}]\n", ["node 0", "'cpu' is [1]", "whole number"]),
    "zero copies of a node": ("nodes: [{cpu: 1, count: 0}]\n", ["node 0", "count is 0", "above 0"]),
    "copies that are a word": ("nodes: [{cpu: 1, count: many}]\n", ["node 0", "count is 'many'"]),
    "a network of zero": ("nodes: [{cpu: 1}]\nnetwork: 0\n", ["network is 0", "above 0"]),
    "a negative network": ("nodes: [{cpu: 1}]\nnetwork: -5\n", ["network is -5", "above 0"]),
    "a network that is a word": ("nodes: [{cpu: 1}]\nnetwork: slow\n", ["network is 'slow'", "MB/s above 0"]),
    "a network of 400 digits": (f"nodes: [{{cpu: 1}}]\nnetwork: {'9' * 400}\n", ["network is"]),
    "an open bracket": ("nodes: [{cpu: 1}\n", ["line 2", "not valid YAML"]),
    "a tab as indent": ("nodes:\n\t- cpu: 1\n", ["line 2", "not valid YAML"]),
    "an impossible date": ("nodes: 2020-13-45\n", ["not valid YAML"]),
    "an unknown tag": ("nodes: !!python/object:os.system {}\n", ["line 1", "not valid YAML"]),
    "two documents": ("nodes: [{cpu: 1}]\n---\nnodes: []\n", ["not valid YAML"]),
    "brackets 5000 deep": ("nodes: " + "[" * 5000 + "\n", ["not valid YAML"]),
    "a key with a line end": ('"two\\nlines": 1\nnodes: [{cpu: 1}]\n', ["unknown key", "classes"]),
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", REJECTED)
def test_a_bad_cluster_file_is_refused_in_one_line_that_names_it(name: str, tmp_path: Path) -> None:
    text, says = REJECTED[name]
    (tmp_path / "cluster.yaml").write_text(text, encoding="utf-8")
    before = files_in(tmp_path)
    refused(
        hms("generate", "mixed", "-n", "5", "--cluster", "cluster.yaml", "--out", "tasks.csv"),
        "cluster file cluster.yaml",
        *says,
    )
    assert files_in(tmp_path) == before


@pytest.mark.parametrize("command", ["compare", "bound", "capacity", "generate"])
def test_every_command_refuses_a_bad_cluster_alike(command: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text("nodes: [{gpu: 1}]\n", encoding="utf-8")
    before = files_in(tmp_path)
    refused(hms(command, "mixed", "--cluster", "cluster.yaml"), "cluster file cluster.yaml", "node 0 has no CPU")
    assert files_in(tmp_path) == before


def test_a_binary_cluster_file_is_refused_in_one_line_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_bytes(bytes(range(256)))
    refused(hms("bound", "-n", "5", "--cluster", "cluster.yaml"), "cluster file cluster.yaml", "not valid YAML")


def test_a_missing_cluster_file_is_named_with_its_option() -> None:
    refused(hms("bound", "--cluster", "nowhere.yaml"), "cluster file nowhere.yaml does not exist", "--cluster")


def test_a_directory_instead_of_a_cluster_file_is_called_a_directory(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    refused(hms("bound", "--cluster", "folder"), "cluster file folder", "directory", "check the path")


def test_a_cluster_file_and_a_number_of_gpus_exclude_each_other(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text("nodes: [{cpu: 1}]\n", encoding="utf-8")
    refused(hms("bound", "--cluster", "cluster.yaml", "--gpus", "2"), "--cluster and --gpus", "one of them")


def test_a_good_cluster_file_next_to_the_bad_ones_is_used(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(
        "nodes: [{cpu: 2, count: 2}, {cpu: 1, big: 3}]\nclasses: {big: {speed: 2, memory: .inf}}\nnetwork: 99\n",
        encoding="utf-8",
    )
    finished = hms("bound", "-n", "5", "--cluster", "cluster.yaml")
    assert finished.code == 0
    assert finished.out.startswith("5 tasks on 3 nodes: 5 cpu, 3 big\n")
