"""`hms import` and `hms inspect` say what became of every row, and never leave half a file behind."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from helpers_cli import hms
from hybrid_scheduler.core import Cluster
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.studies.suite import Instance
from hybrid_scheduler.workloads.formats import reader
from hybrid_scheduler.workloads.source import Source, compute_digest
from workloads.formats.instances import workflow, write_file
from workloads.formats.samples import SAMPLES, alibaba_files, csv_file, swf_file


def test_import_accounts_for_rows_and_columns_and_writes_tasks_and_machines(tmp_path: Path) -> None:
    pods, nodes = alibaba_files(tmp_path)
    done = hms("import", str(nodes), str(pods), "-o", str(tmp_path / "tasks.parquet"))
    assert done.code == 0, done.err
    assert "7 rows: 5 became 8 tasks, 2 were skipped" in done.out
    assert "1 never scheduled, so its duration is not known" in done.out
    assert "measured:\n  creation_time → arrival_time" in done.out
    assert "ignored:\n  name, qos, pod_phase" in done.out
    assert "rows/s" in done.out
    assert f"wrote {tmp_path / 'tasks.cluster.yaml'}: 4 nodes, 14 devices" in done.out
    assert max(map(len, done.out.splitlines()[3:-3])) <= 80
    direct = reader.read_all([pods, nodes])
    assert compute_digest(reader.read(tmp_path / "tasks.parquet")) == compute_digest(direct.tasks)
    assert Cluster.from_yaml(tmp_path / "tasks.cluster.yaml") == direct.cluster


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_every_sample_is_imported_into_a_table_that_means_the_same(name: str, tmp_path: Path) -> None:
    paths = SAMPLES[name](tmp_path)
    out = tmp_path / "out" / "tasks.csv.gz"
    done = hms("import", *map(str, paths), "--out", str(out), "--json")
    assert done.code == 0, done.err
    said = json.loads(done.out)
    assert said["format"] == name
    assert said["rows"] == said["used"] + sum(said["skipped"].values())
    assert compute_digest(reader.read(out)) == compute_digest(reader.read_all(paths).tasks)
    assert (out.with_name("tasks.cluster.yaml")).exists() == (said["cluster_file"] is not None)


def test_import_replaces_nothing_unless_told_to(tmp_path: Path) -> None:
    log, out = str(swf_file(tmp_path)[0]), tmp_path / "tasks.csv"
    assert hms("import", log, "-o", str(out)).code == 0
    kept = out.read_bytes()
    again = hms("import", log, "-o", str(out))
    assert (again.code, again.err.count("\n")) == (2, 1)
    assert "tasks.csv exists: choose another path, or replace it with --force" in again.err
    out.unlink()
    machines = hms("import", log, "-o", str(out))
    assert machines.code == 2
    assert "tasks.cluster.yaml exists" in machines.err
    assert not out.exists()
    assert hms("import", log, "-o", str(out), "--force").code == 0
    assert out.read_bytes() == kept


def test_a_file_that_cannot_be_read_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "damaged.swf").write_text(swf_file(tmp_path)[0].read_text(encoding="utf-8")[:-20], encoding="utf-8")
    done = hms("import", str(tmp_path / "damaged.swf"), "-o", str(tmp_path / "out" / "tasks.csv"))
    assert done.code == 2
    assert "damaged.swf line 11: there are" in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["-o", "tasks.xlsx"], "tasks are written as .parquet, .csv, .csv.gz, .csv.zst"),
        (["-o", "tasks.csv", "--format", "sfw"], "unknown format 'sfw': did you mean 'swf'?"),
        (["-o", "tasks.csv", "--format", "parquet"], "cannot be read as Parquet"),
        (["-o", "other.csv", "--cluster-out", "c.yaml"], "the files name no machines"),
        (["-o", "SAME"], "is one of the files to read"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(words: list[str], why: str, tmp_path: Path) -> None:
    source = csv_file(tmp_path)[0]
    words = [words[0], str(source if words[1] == "SAME" else tmp_path / "new" / words[1]), *words[2:], "--force"]
    done = hms("import", str(source), *words)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert why in done.err


def test_inspect_shows_numbers_and_a_picture(tmp_path: Path) -> None:
    paths = [str(path) for path in alibaba_files(tmp_path)]
    done = hms("inspect", *paths, "--png", str(tmp_path / "shape.png"))
    assert done.code == 0, done.err
    assert "machines (of the file): 4 nodes, 14 devices, 10 of them GPUs" in done.out
    assert "12.50% of tasks fit none of these machines" in done.out
    assert "█" in done.out
    assert (tmp_path / "shape.png").read_bytes().startswith(b"\x89PNG")
    table = done.out[done.out.index("picture") :].splitlines()[1:-1]
    assert max(map(len, table)) <= 80


def test_inspect_answers_in_json_too(tmp_path: Path) -> None:
    done = hms("inspect", str(swf_file(tmp_path)[0]), "--json")
    said = json.loads(done.out)
    assert (said["format"], said["rows"], said["tasks"]) == ("swf", 7, 3)
    assert said["seconds"]["maximum"] == 100.0


def test_files_that_belong_together_are_compared_on_their_own_machines(tmp_path: Path) -> None:
    pods, nodes = map(str, alibaba_files(tmp_path))
    done = hms("compare", pods, nodes, "-s", "eft,greedy", "--seeds", "1")
    assert done.code == 0, done.err
    assert "machines: those that come with the tasks" in done.out
    assert "1 tasks a seed fit no device and were rejected" in done.out
    source = Source.of(f"{pods},{nodes}")
    assert Source.from_dict(json.loads(json.dumps(source.to_dict()))) == source
    Path(nodes).write_text(Path(nodes).read_text(encoding="utf-8") + "n9,1000,1000,0,\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"nodes\.csv is not the file that was compared"):
        source.cluster()
    done = hms("compare", pods, "nowhere.csv")
    assert (done.code, "nowhere.csv does not exist" in done.err) == (2, True)


def test_imported_tasks_are_raced_on_the_machines_that_stand_beside_them(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.csv.gz"
    assert hms("import", *map(str, alibaba_files(tmp_path)), "-o", str(tasks)).code == 0
    done = hms("compare", str(tasks), "-s", "eft,greedy", "--seeds", "1")
    assert done.code == 0, done.err
    assert "machines: those of tasks.cluster.yaml beside the tasks" in done.out
    machines = Cluster.from_yaml(tmp_path / "tasks.cluster.yaml")
    assert Source.of(str(tasks)).cluster() == machines
    assert Instance("tasks", "csv", (tasks,)).read(None)[1] == machines
    assert "machines (of tasks.cluster.yaml): 4 nodes, 14 devices" in hms("inspect", str(tasks)).out


def test_machines_beside_tasks_give_way_to_those_that_are_named(tmp_path: Path) -> None:
    assert hms("generate", "mixed", "-n", "20", "-o", str(tmp_path / "tasks.csv")).code == 0
    (tmp_path / "tasks.cluster.yaml").write_text(Cluster.default(7).to_yaml(), encoding="utf-8")
    for words, gpus, said in ((["--gpus", "2"], "2 gpu", False), ([], "7 gpu", True)):
        done = hms("compare", str(tmp_path / "tasks.csv"), "-s", "eft", "--seeds", "1", *words)
        assert (gpus in done.out, "beside the tasks" in done.out) == (True, said)


def test_policies_that_do_equally_well_tie(tmp_path: Path) -> None:
    (tmp_path / "one.etc").write_text("1 9\n9 1\n", encoding="utf-8")
    one = hms("compare", str(tmp_path / "one.etc"), "-s", "eft,min_min,heft", "--seeds", "1")
    assert "tie: eft, min_min and heft cannot be told apart on 1 seed" in one.out
    assert "leads" not in one.out
    three = hms("compare", str(tmp_path / "one.etc"), "-s", "eft,min_min", "--seeds", "3")
    assert "tie: eft and min_min cannot be told apart on 3 seeds" in three.out


def test_inspect_says_what_no_task_can_use_and_draws_nothing_of_what_is_the_same_for_all(tmp_path: Path) -> None:
    paths = SAMPLES["wfcommons"](tmp_path)
    done = hms("inspect", *map(str, paths), "--png", str(tmp_path / "shape.png"))
    assert "measured times: cpu; no task can run on gpu" in done.out
    assert "arrivals: all at once" in done.out
    table = done.out[done.out.index("picture") :]
    assert "arrival" not in table
    assert re.search(r"best time +1\.00 µs .* 4\.00 s", table)
    assert (tmp_path / "shape.png").read_bytes().startswith(b"\x89PNG")


def test_inspect_writes_long_times_in_hours_and_days(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("arrival,duration\n0,5\n864000,7200\n", encoding="utf-8")
    done = hms("inspect", str(tmp_path / "log.csv"))
    assert "arrivals over 10 days" in done.out
    assert re.search(r"best time .* 2 h", done.out)


def test_inspect_says_that_one_core_leaves_nothing_to_schedule(tmp_path: Path) -> None:
    document = workflow()
    document["workflow"]["execution"]["machines"] = [{"nodeName": "one", "cpu": {"coreCount": 1}}]
    done = hms("inspect", str(write_file(tmp_path / "one.json", json.dumps(document))))
    assert "one device: there is nothing to schedule; give other machines with --cluster" in done.out
    assert "nodes: [{count: 2, devices: {cpu: 8}}]" in done.out
