"""What the commands print and write when all is well: one JSON document, narrow tables, whole files."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from helpers_cli import files_in, hms, hms_process, python, refused
from hybrid_scheduler import registry
from hybrid_scheduler.cli.main import COMMANDS, app
from hybrid_scheduler.workloads import WorkloadGenerator

COMPARE = ("compare", "mixed", "-n", "60", "-s", "eft,round_robin,oracle")
PNG = b"\x89PNG\r\n\x1a\n"
NEEDED = {
    "makespan",
    "makespan_over_bound",
    "mean_execution",
    "mean_turnaround",
    "p99_turnaround",
    "energy",
    "cost",
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _document(*words: str) -> Any:
    finished = hms(*words)
    assert finished.code == 0, finished.err
    assert finished.err == ""

    def reject(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(finished.out, parse_constant=reject)


# --- JSON ----------------------------------------------------------------------------------------------------


def test_json_is_one_strict_document_with_workload_bound_and_schedulers() -> None:
    document = _document(*COMPARE, "--seeds", "1", "--json")
    assert document["workload"]["source"] == "mixed"
    assert document["workload"]["num_tasks"] == 60
    assert document["bound"]["makespan"] > 0
    assert set(document["bound"]["prices"]) == {"cpu", "gpu"}
    assert list(document["schedulers"]) == ["eft", "round_robin", "oracle"]
    for figures in document["schedulers"].values():
        assert set(figures) >= NEEDED
        assert all(math.isfinite(figures[name]) and figures[name] > 0 for name in NEEDED)


def test_json_ratios_are_the_makespan_over_the_bound_and_never_below_one() -> None:
    document = _document(*COMPARE, "--seeds", "1", "--json")
    for figures in document["schedulers"].values():
        assert figures["makespan_over_bound"] == figures["makespan"] / document["bound"]["makespan"]
        assert figures["makespan_over_bound"] >= 1.0


def test_json_has_no_interval_for_one_seed() -> None:
    document = _document(*COMPARE, "--seeds", "7,", "--json")
    assert document["seeds"] == [7]
    assert all("intervals" not in figures for figures in document["schedulers"].values())


def test_json_of_several_seeds_has_an_interval_around_every_mean() -> None:
    document = _document(*COMPARE, "--seeds", "3", "--json")
    assert document["seeds"] == [0, 1, 2]
    for figures in document["schedulers"].values():
        assert set(figures["intervals"]) >= NEEDED
        for name in NEEDED:
            low, high = figures["intervals"][name]
            assert low <= figures[name] <= high
            assert low < high


def test_json_of_several_seeds_averages_the_bounds_of_the_seeds() -> None:
    document = _document(*COMPARE, "--seeds", "3", "--json")
    bounds = [_document("bound", "-n", "60", "--seed", str(seed), "--json")["bound"]["makespan"] for seed in range(3)]
    assert [each["makespan"] for each in document["bound"]["by_seed"]] == bounds
    assert document["bound"]["makespan"] == pytest.approx(sum(bounds) / 3, rel=1e-15)


def test_the_same_command_prints_the_same_numbers_but_for_the_wall_clock() -> None:
    first, second = (_document(*COMPARE, "--seeds", "2", "--json") for _ in range(2))
    for document in (first, second):
        for figures in document["schedulers"].values():
            assert figures.pop("measured")["decision_seconds"] > 0
    assert first == second


def test_json_writes_numbers_that_json_cannot_hold_as_null(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text("nodes: [{cpu: 1}]\nclasses: {cpu: {memory: 1}}\n", encoding="utf-8")
    (tmp_path / "tasks.csv").write_text("size,compute_intensity,memory_required\n5,0.5,10\n", encoding="utf-8")
    document = _document("compare", "tasks.csv", "--cluster", "cluster.yaml", "-s", "eft", "--seeds", "1", "--json")
    assert document["schedulers"]["eft"]["rejected"] == 1
    assert document["schedulers"]["eft"]["mean_turnaround"] is None
    assert document["workload"]["arrival_rate"] is None


def test_bound_prints_one_json_document_that_is_checked() -> None:
    document = _document("bound", "cholesky", "-n", "56", "--json")
    assert document["workload"]["num_tasks"] == 56
    assert document["bound"]["verified"] is True


def test_the_bound_of_tasks_that_fit_nowhere_is_zero_and_is_checked_too(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text("nodes: [{cpu: 1}]\nclasses: {cpu: {memory: 1}}\n", encoding="utf-8")
    (tmp_path / "tasks.csv").write_text("size,compute_intensity,memory_required\n5,0.5,10\n", encoding="utf-8")
    document = _document("bound", "tasks.csv", "--cluster", "cluster.yaml", "--json")
    assert document["bound"]["makespan"] == 0.0
    assert document["bound"]["verified"] is True


def test_capacity_prints_one_json_document_with_intervals() -> None:
    document = _document("capacity", "-n", "200", "--seeds", "2", "-s", "eft,round_robin", "--json")
    assert document["seeds"] == [0, 1]
    for figures in document["schedulers"].values():
        low, high = figures["intervals"]["capacity"]
        assert 0 < low <= figures["capacity"] <= high
        assert 0 < figures["load"] <= 1


def test_schedulers_prints_one_json_document_with_every_policy() -> None:
    document = _document("schedulers", "--json")
    assert list(document["schedulers"]) == [entry.name for entry in registry.schedulers]
    assert document["schedulers"]["greedy"]["knows_times"] == "no"
    assert document["schedulers"]["oracle"]["knows_times"] == "yes"


# --- tables --------------------------------------------------------------------------------------------------


def _table(text: str) -> list[str]:
    lines = text.splitlines()
    rule = next(number for number, line in enumerate(lines) if line.strip().startswith("─"))
    end = next((number for number in range(rule + 1, len(lines)) if not lines[number].strip()), len(lines))
    return lines[rule - 1 : end]


@pytest.mark.parametrize(
    "words",
    [
        "compare mixed -n 40 --seeds 2 -s all",
        "compare mixed -n 40 --seeds 2 --mode isolated -s round_robin,random,greedy,hybrid_ml,oracle,eft",
        "compare mixed -n 3000 --seeds 2 --rate 1e9 -s round_robin,random,greedy,oracle,eft",
        "compare cpu_friendly -n 40 --seeds 1",
        "compare fork_join -n 40 --seeds 2 -s heft,peft,eft",
        "capacity mixed -n 100 --seeds 2 -s eft,greedy",
        "schedulers",
    ],
)
def test_tables_fit_80_columns_and_cut_no_number(words: str) -> None:
    finished = hms(*words.split(" "))
    assert finished.code == 0, finished.err
    table = _table(finished.out)
    assert len(table) > 3
    assert max(map(len, table)) <= 80
    if not words.startswith("schedulers"):
        assert "…" not in "".join(table)


def test_long_names_of_policies_are_shortened_so_that_the_table_fits(tmp_path: Path) -> None:
    name = "a_policy_with_a_name_that_is_much_too_long_for_any_table"
    (tmp_path / f"{name}.py").write_text(f"def {name}(task, view):\n    return 1.0, 1\n", encoding="utf-8")
    finished = hms("compare", "-n", "40", "--seeds", "2", "-s", f"eft,{name}.py:{name}")
    table = _table(finished.out)
    assert max(map(len, table)) <= 80
    assert any(line.strip().startswith("a_policy_") and "…" in line for line in table)


def test_the_table_is_ranked_and_says_what_the_seeds_say() -> None:
    finished = hms(*COMPARE, "--seeds", "3")
    names = [line.split()[0] for line in _table(finished.out)[2:]]
    document = _document(*COMPARE, "--seeds", "3", "--json")
    means = {name: figures["makespan_over_bound"] for name, figures in document["schedulers"].items()}
    assert names == sorted(means, key=lambda name: means[name])
    assert f"{means[names[0]]:.3f} [" in finished.out
    assert "certified bound" in finished.out
    assert "simulated" in finished.out


def test_one_seed_and_one_task_are_written_in_the_singular() -> None:
    assert " 1 seed," in hms("compare", "-n", "5", "-s", "eft", "--seeds", "1").out
    assert " 1 seed," in hms("capacity", "-n", "100", "-s", "eft", "--seeds", "1").out
    assert hms("bound", "-n", "1").out.startswith("1 task on ")


def test_every_policy_is_listed_with_what_it_decides_by() -> None:
    finished = hms("schedulers")
    for entry in registry.schedulers:
        assert entry.name in finished.out
        assert entry.summary.split()[0] in finished.out


# --- files ---------------------------------------------------------------------------------------------------


def test_plot_writes_a_png(tmp_path: Path) -> None:
    finished = hms(*COMPARE, "--seeds", "2", "--plot", "figures/race.png")
    assert finished.code == 0
    assert (tmp_path / "figures" / "race.png").read_bytes().startswith(PNG)
    assert finished.out.endswith("wrote figures/race.png\n")
    assert list(files_in(tmp_path)) == ["figures/", "figures/race.png"]


def test_plot_replaces_an_older_figure_whole(tmp_path: Path) -> None:
    (tmp_path / "race.png").write_text("old", encoding="utf-8")
    assert hms(*COMPARE, "--seeds", "1", "--plot", "race.png").code == 0
    assert (tmp_path / "race.png").read_bytes().startswith(PNG)


def test_plot_and_json_together_still_print_one_document(tmp_path: Path) -> None:
    document = _document(*COMPARE, "--seeds", "1", "--plot", "race.png", "--out", "run", "--json")
    assert set(document["schedulers"]) == {"eft", "round_robin", "oracle"}
    assert (tmp_path / "race.png").exists()
    assert (tmp_path / "run" / "manifest.json").exists()


@pytest.mark.parametrize("preset", ["mixed", "cholesky", "bursty"])
def test_generate_writes_what_the_generator_draws(preset: str, tmp_path: Path) -> None:
    finished = hms("generate", preset, "-n", "60", "--seed", "5", "--out", "deep/er/tasks.csv")
    assert finished.code == 0
    assert finished.out.startswith("wrote deep/er/tasks.csv: ")
    generator = WorkloadGenerator(5)
    generator.generate_preset(preset, 60)
    generator.save_workload("mine.csv")
    assert (tmp_path / "deep/er/tasks.csv").read_bytes() == (tmp_path / "mine.csv").read_bytes()


def test_a_generated_file_is_compared_like_its_preset() -> None:
    assert hms("generate", "mixed", "-n", "60", "--seed", "0", "--out", "tasks.csv").code == 0
    words = ("-s", "eft,oracle", "--seeds", "1", "--json")
    drawn = _document("compare", "mixed", "-n", "60", *words)
    read = _document("compare", "tasks.csv", *words)
    assert read["bound"] == drawn["bound"]
    assert read["workload"]["digest"] == drawn["workload"]["digest"]
    for name in ("eft", "oracle"):
        assert read["schedulers"][name]["makespan"] == drawn["schedulers"][name]["makespan"]


def test_a_generated_graph_has_one_bound_by_itself_and_in_a_comparison() -> None:
    assert hms("generate", "cholesky", "-n", "20", "-o", "tasks.csv").code == 0
    bound = _document("bound", "tasks.csv", "--json")
    assert bound["workload"]["num_tasks"] == 20
    compared = _document("compare", "tasks.csv", "-s", "heft", "--seeds", "1", "--json")
    assert compared["bound"]["makespan"] == bound["bound"]["makespan"]
    assert compared["schedulers"]["heft"]["makespan_over_bound"] >= 1.0


def test_out_on_a_folder_with_something_in_it_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "precious.txt").write_text("mine", encoding="utf-8")
    before = files_in(tmp_path)
    refused(
        hms(*COMPARE, "--seeds", "1", "--out", "run", "--plot", "race.png"),
        "run exists and is not empty",
        "choose another folder",
    )
    assert files_in(tmp_path) == before


def test_out_on_a_full_folder_is_refused_before_any_task_is_simulated(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "precious.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "policy.py").write_text("def mine(task, view):\n    return 2.0, 1\n", encoding="utf-8")
    refused(
        hms("compare", "-n", "5", "--seeds", "1", "-s", "policy.py", "--out", "run"), "run exists and is not empty"
    )


def test_out_on_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert hms(*COMPARE, "--seeds", "1", "--out", "run").code == 0
    assert set(files_in(tmp_path / "run")) == {"manifest.json", "measures.csv", "result.json"}


@pytest.mark.parametrize("option", ["--out", "--plot"])
def test_compare_refuses_a_place_that_cannot_be_written_and_leaves_nothing(option: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file is no folder", encoding="utf-8")
    before = files_in(tmp_path)
    refused(
        hms(*COMPARE, "--seeds", "1", option, "file/inside.png"), "cannot write file/inside.png", "choose another"
    )
    assert files_in(tmp_path) == before


def test_generate_refuses_a_place_that_cannot_be_written_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file is no folder", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    before = files_in(tmp_path)
    for place in ("file/tasks.csv", "folder"):
        refused(hms("generate", "-n", "5", "--out", place), f"cannot write {place}", "choose another path")
    assert files_in(tmp_path) == before


# --- help and speed ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["compare", "--help"], ["generate", "-h"], ["repeat", "-h"]])
def test_help_ends_well_and_fits_80_columns(words: list[str]) -> None:
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0
    assert result.output.startswith("Usage: hms")
    assert max(map(len, result.output.splitlines())) <= 80


def test_no_command_prints_the_help() -> None:
    finished = hms()
    assert "Compare policies on the same tasks" in finished.out + finished.err


def test_version_prints_the_version_of_the_package() -> None:
    from hybrid_scheduler import __version__

    assert hms("--version").out == f"{__version__}\n"


@pytest.mark.parametrize("words", [["--help"], ["compare", "--help"], ["--version"]])
def test_help_imports_no_heavy_package(words: list[str]) -> None:
    heavy = ["matplotlib", "numba", "numpy", "pandas", "scipy", "yaml"]
    printed = python(
        f"import sys; sys.argv = ['hms', *{words!r}]\n"
        "from hybrid_scheduler.cli.main import run\n"
        "try: run()\n"
        "except SystemExit as ended: print('code', ended.code)\n"
        f"print('heavy', [name for name in {heavy!r} if name in sys.modules])"
    )
    assert printed.splitlines()[-2:] == ["code 0", "heavy []"]


# --- the installed script ------------------------------------------------------------------------------------


def test_the_script_compares_and_prints_only_json(tmp_path: Path) -> None:
    finished = hms_process("compare", "-n", "30", "--seeds", "1", "-s", "eft", "--json", cwd=tmp_path)
    assert finished.code == 0
    assert set(json.loads(finished.out)["schedulers"]) == {"eft"}
    assert finished.err == ""


def test_the_script_refuses_with_code_2_and_one_line(tmp_path: Path) -> None:
    refused(hms_process("generate", "mixxed", cwd=tmp_path), "did you mean 'mixed'?")


def test_the_bound_of_turnaround_is_printed_and_written_for_both_scopes() -> None:
    wanted = ("bound", "mixed", "-n", "60", "--load", "0.9", "--turnaround")
    found = json.loads(hms(*wanted, "--json").out)["turnaround"]
    assert found["whole tasks"]["mean"] >= found["any schedule"]["mean"] > 0
    assert all(each["verified"] is True for each in found.values())
    assert "no schedule of whole tasks has a mean turnaround below" in hms(*wanted).out


def test_the_list_of_commands_is_told_in_whole_sentences() -> None:
    lines = hms("--help").out.split("Commands:\n")[1].split("\n\n")[0].strip().splitlines()
    assert len(lines) == len(COMMANDS)
    assert all(line.endswith((".", "?")) and not line.endswith("...") for line in lines)
