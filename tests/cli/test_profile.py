"""`hms profile` prints what was measured and what was not; `hms compare --profile` simulates it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers_cli import files_in, hms, refused
from hybrid_scheduler.profiling.profile_file import load_profile, save_profile
from profiles import cpu_only, with_gpu

SMALL = ("profile", "--quick", "--sizes", "16,32,64", "--device", "cpu")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_machine_is_measured_printed_and_kept() -> None:
    finished = hms(*SMALL, "-o", "profile.json")
    assert finished.code == 0, finished.err
    assert finished.err == ""
    assert "reference model, not measured" in finished.out
    for kernel in ("matmul", "convolution", "sort", "sparse", "elementwise", "fft", "copy"):
        assert kernel in finished.out
    assert max(map(len, finished.out.splitlines())) <= 80
    assert finished.out.endswith("wrote profile.json\n")
    assert load_profile("profile.json").sizes == [16.0, 32.0, 64.0]


def test_without_a_file_nothing_is_written(tmp_path: Path) -> None:
    finished = hms(*SMALL, "--kernels", "copy", "--threads", "1")
    assert "not kept: give -o FILE" in finished.out
    assert "1 thread a kernel, CPU time" in " ".join(finished.out.split())
    assert files_in(tmp_path) == {}


def test_json_is_the_file() -> None:
    finished = hms(*SMALL, "--kernels", "copy", "-o", "profile.json", "--json")
    assert json.loads(finished.out) == json.loads(Path("profile.json").read_text(encoding="utf-8"))


def test_a_measured_gpu_is_printed_with_its_links(tmp_path: Path) -> None:
    save_profile(with_gpu(), "gpu.json")
    finished = hms("compare", "--profile", "gpu.json", "-s", "eft,greedy", "--seeds", "2", "-n", "50")
    assert finished.code == 0, finished.err
    assert "machine of gpu.json: CPU measured; GPU measured" in finished.out
    assert "1 cpu, 2 gpu" in finished.out


def test_the_kernels_are_raced_unless_a_preset_is_named() -> None:
    save_profile(cpu_only(), "cpu.json")
    for words, source in (((), "profile"), (("mixed",), "mixed")):
        finished = hms("compare", *words, "--profile", "cpu.json", "-s", "eft", "--seeds", "1", "-n", "50", "--json")
        document = json.loads(finished.out)
        assert document["workload"]["source"] == source
        assert document["workload"]["machine"]["gpu"] == "reference model, not measured"


def test_a_run_on_a_profile_is_repeated_bit_for_bit() -> None:
    save_profile(cpu_only(), "cpu.json")
    assert hms("compare", "--profile", "cpu.json", "-s", "eft", "--seeds", "2", "-n", "50", "-o", "run").code == 0
    assert "repeated bit for bit" in hms("repeat", "run").out
    save_profile(cpu_only(scale=3e-9), "cpu.json")
    refused(hms("repeat", "run"), "cpu.json", "SHA-256 differs")


def test_an_existing_profile_is_not_replaced_unless_forced() -> None:
    Path("profile.json").write_text("mine", encoding="utf-8")
    refused(hms(*SMALL, "-o", "profile.json"), "profile.json exists", "--force")
    assert Path("profile.json").read_text(encoding="utf-8") == "mine"
    assert hms(*SMALL, "--kernels", "copy", "-o", "profile.json", "--force").code == 0
    assert load_profile("profile.json").kernels == ["copy"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--device", "cuba"), "did you mean 'cuda'"),
        (("--sizes", "12,many"), "whole numbers with commas"),
        (("--sizes", "0"), "size is 0"),
        (("--kernels", "matmult"), "did you mean 'matmul'"),
        (("--threads", "0"), "threads is 0"),
        (("--starpu", "folder"), "expected FOLDER:MACHINE"),
        (("--starpu", "folder:mirage"), "give the folder that holds it"),
    ],
)
def test_mistakes_end_in_one_line(words: tuple[str, ...], says: str) -> None:
    refused(hms("profile", "--quick", *words), says)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "damaged"),
        ('{"kind": "hardware_profile", "schema": 99}', "newer version"),
        ("[]", "no hardware profile"),
    ],
)
def test_a_bad_profile_ends_in_one_line(text: str, says: str) -> None:
    Path("bad.json").write_text(text, encoding="utf-8")
    refused(hms("compare", "--profile", "bad.json"), "bad.json", says)


def test_a_profile_and_a_cluster_contradict_each_other() -> None:
    save_profile(cpu_only(), "cpu.json")
    Path("c.yaml").write_text("nodes: [{cpu: 1}]", encoding="utf-8")
    refused(hms("compare", "--profile", "cpu.json", "--cluster", "c.yaml"), "give one of them")
    refused(hms("compare", "--profile", "absent.json"), "absent.json does not exist")
    refused(hms("compare", "profile"), "give --profile FILE too")
