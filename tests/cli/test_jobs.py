"""`hms jobs`: logs of parallel machines, pods and presets on shared clusters."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from helpers_cli import hms, refused
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.files import sha256
from hybrid_scheduler.workloads.formats import job_table
from hybrid_scheduler.workloads.formats.reader import read_jobs
from workloads.formats.instances import gavel_file

LOG = "; MaxProcs: 4\n" + "\n".join(
    f"{number} {10 * number} -1 {20 + number} {1 + number % 4} -1 64 {1 + number % 4} {40 + number} -1 1 "
    f"{number % 2} -1 -1 -1 -1 -1 -1"
    for number in range(1, 31)
)
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n" + "\n".join(
    f"p{number},4000,1024,1,{(500, 1000)[number % 2]},{('', 'T4')[number % 3 == 0]}" for number in range(24)
)
NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,65536,0,\n" + "\n".join(
    f"n{number},32000,65536,2,{('T4', 'V100')[number % 2]}" for number in range(1, 5)
)


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("log.swf", LOG), ("pods.csv", PODS), ("nodes.csv", NODES)):
        Path(name).write_text(text + "\n", encoding="utf-8")


def test_a_log_is_run_with_its_widths_in_windows_and_ranked() -> None:
    done = hms("jobs", "log.swf", "-s", "fcfs,sjf", "--windows", "3", "--window-jobs", "20", "--csv", "all.csv")
    assert done.code == 0, done.err
    assert done.out.startswith("log.swf: 3 windows of 20 jobs on 4 processors, simulated\n")
    assert "mean turnaround, checked" in done.out
    assert all(policy in done.out for policy in ("fcfs", "sjf", "fcfs+easy", "sjf+easy"))
    with Path("all.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12
    assert all(float(row["makespan_over_bound"]) >= 1 for row in rows)


def test_what_fits_no_machine_is_said_and_what_never_ends_is_refused() -> None:
    wide = "31 320 -1 50 9 -1 -1 9 60 -1 1 0 -1 -1 -1 -1 -1 -1\n"
    Path("wide.swf").write_text(LOG + "\n" + wide, encoding="utf-8")
    assert "1 job did not run: no machine here has room" in hms("jobs", "wide.swf", "-s", "sjf").out
    refused(hms("jobs", "pods.csv", "nodes.csv", "-s", "fcfs"), "pods.csv does not say how long", "--fill")


def test_a_picture_shows_the_first_window_and_not_a_filling() -> None:
    done = hms("jobs", "log.swf", "-s", "fcfs,las", "--plot", "jobs.png")
    assert (done.code, done.out.splitlines()[-1]) == (0, "wrote jobs.png"), done.err
    assert Path("jobs.png").read_bytes().startswith(b"\x89PNG")
    refused(hms("jobs", "pods.csv", "nodes.csv", "--fill", "1.1", "--plot", "p.png"), "with --fill nobody waits")


def test_a_kept_run_is_repeated_bit_for_bit_from_the_same_files() -> None:
    words = ("jobs", "log.swf", "-s", "sjf,hybrid_ml,las", "--spot", "1", "--stay", "100", "--away", "20")
    assert hms(*words, "--windows", "2", "-n", "20", "--out", "kept").code == 0
    assert "repeated bit for bit: 2 windows, 5 policies\n" in hms("repeat", "kept").out
    kept, manifest = Path("kept/measures.csv"), Path("kept/manifest.json")
    digest = sha256(kept)
    kept.write_text(kept.read_text(encoding="utf-8").replace(".", ".9", 1), encoding="utf-8")
    refused(hms("repeat", "kept"), "measures.csv", "SHA-256 differs")
    manifest.write_text(manifest.read_text(encoding="utf-8").replace(digest, sha256(kept)), encoding="utf-8")
    refused(hms("repeat", "kept"), "not repeated bit for bit")
    Path("log.swf").write_text(LOG.replace("MaxProcs: 4", "MaxProcs: 8"), encoding="utf-8")
    refused(hms("repeat", "kept"), "log.swf", "SHA-256 differs")


def test_a_kept_filling_is_repeated_bit_for_bit_but_for_its_wall_times() -> None:
    words = [
        "jobs",
        "pods.csv",
        "nodes.csv",
        "--fill",
        "1.1",
        "--fit",
        "best,random",
        "--seeds",
        "3",
        "--out",
        "kept",
    ]
    assert hms(*words).out.endswith("wrote kept\n")
    assert Path("kept/measures.csv").read_text(encoding="utf-8").startswith("fit,seed,allocated_gpus,")
    assert "repeated bit for bit: 3 seeds, 2 fit rules\n" in hms("repeat", "kept").out
    refused(hms(*words), "kept")
    refused(hms("report", "kept"), "kept", "filling")
    manifest = Path("kept/manifest.json")
    manifest.write_text(manifest.read_text(encoding="utf-8").replace("1.1", "1.2"), encoding="utf-8")
    refused(hms("repeat", "kept"), "not repeated bit for bit")
    Path("pods.csv").write_text(PODS.replace("4000", "5000"), encoding="utf-8")
    refused(hms("repeat", "kept"), "pods.csv", "SHA-256 differs")


def test_a_kept_suite_of_jobs_is_repeated_bit_for_bit_but_for_its_wall_times() -> None:
    words = ("bench-suite", "log.swf", "--jobs", "-s", "fcfs,sjf+easy,hybrid_ml+easy", "--quiet", "--out", "kept")
    assert hms(*words).code == 0
    assert "repeated bit for bit: 1 instance, 3 policies, 3 cells that ended\n" in hms("repeat", "kept").out
    table, manifest = Path("kept/scoreboard.csv"), Path("kept/manifest.json")
    digest, text = sha256(table), table.read_text(encoding="utf-8")
    assert ",813.0," in text
    table.write_text(text.replace(",813.0,", ",814.0,", 1), encoding="utf-8")
    refused(hms("repeat", "kept"), "scoreboard.csv", "SHA-256 differs")
    manifest.write_text(manifest.read_text(encoding="utf-8").replace(digest, sha256(table)), encoding="utf-8")
    refused(hms("repeat", "kept"), "not repeated bit for bit")
    Path("log.swf").write_text(LOG.replace("MaxProcs: 4", "MaxProcs: 8"), encoding="utf-8")
    refused(hms("repeat", "kept"), "log.swf is not the file that was run")


@pytest.mark.usefixtures("blank_pictures")
def test_a_kept_run_is_reported_and_drawn() -> None:
    words = ("jobs", "log.swf", "-s", "fcfs,sjf", "--backfill", "easy", "--windows", "3", "-n", "20", "--out", "kept")
    assert hms(*words).out.endswith("wrote kept\n")
    done = hms("report", "kept", "--format", "html")
    assert done.code == 0, done.err
    page = Path("kept/report.html").read_text(encoding="utf-8")
    for each in (
        "log.swf on a shared cluster",
        "Every measure.",
        "How many jobs wait",
        "sjf+easy",
        "--windows 3",
    ):
        assert each in page
    drawn = hms("plot", "kept", "--figure", "fairness", "-o", "fairness.png")
    assert (drawn.code, drawn.out) == (0, "wrote fairness.png\n"), drawn.err
    Path("log.swf").write_text(LOG.replace("41", "42"), encoding="utf-8")
    refused(hms("report", "kept", "-o", "again.html"), "log.swf is not the file that was run")


def test_spot_nodes_leave_and_what_is_saved_ends_sooner() -> None:
    words = ("training_jobs", "-n", "60", "--seeds", "1", "--backfill", "none", "--spot", "0.5", "--stay", "6000")
    done = hms("jobs", *words, "-s", "fcfs,fcfs:checkpoint=30,max_min_fairness", "--json")
    assert done.code == 0, done.err
    reached = {name: each["mean_turnaround"]["mean"] for name, each in json.loads(done.out)["policies"].items()}
    assert reached["fcfs:checkpoint=30"] < reached["fcfs"]
    told = hms("jobs", *words, "-s", "fcfs:checkpoint=30").out
    assert "50% of the nodes are spot: stay 6000 s, away 1800 s (means), notice 120 s" in told
    refused(hms("jobs", "training_jobs", "--spot", "2"), "share of spot nodes is 2")


def test_json_has_intervals_values_bounds_and_users() -> None:
    document = json.loads(hms("jobs", "log.swf", "-s", "f1", "--backfill", "easy", "--json").out)
    assert document["policies"]["f1+easy"]["bounded_slowdown"]["values"][0] >= 1
    assert document["bounds"][0]["verified"]
    assert set(document["users"]["f1+easy"]) == {"0", "1"}


def test_the_same_command_prints_the_same_bytes() -> None:
    words = ("jobs", "training_jobs", "-n", "40", "--seeds", "2", "-s", "edf,fair_share", "--json")
    assert hms(*words).out == hms(*words).out


def test_pods_fill_the_nodes_that_have_gpus() -> None:
    done = hms("jobs", "pods.csv", "nodes.csv", "--fill", "1.3", "--seeds", "42..44", "--json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["machines"] == "4 nodes with 8 GPUs of 2 models and 128 cores"
    assert document["seeds"] == [42, 43, 44]
    assert set(document["fits"]) == {"random", "dot_product", "gpu_clustering", "gpu_packing", "best", "fgd"}
    for measures in document["fits"].values():
        assert 0.5 < measures["allocated_gpus"]["mean"] <= 1
    assert (
        "fgd" in hms("jobs", "pods.csv", "--nodes", "nodes.csv", "--fill", "1.2", "--fit", "fgd", "--seeds", "2").out
    )


def test_bounds_of_wide_jobs_are_printed_with_their_prices_and_checked() -> None:
    done = hms("bound", "log.swf", "--jobs")
    assert done.code == 0, done.err
    assert done.out.startswith("log.swf: 30 jobs on 4 processors\nno schedule ends before ")
    assert "  cores        0.00025\n" in done.out
    assert "no schedule has a mean turnaround below" in done.out
    assert done.out.endswith("checked independently: yes\n")
    document = json.loads(hms("bound", "training_jobs", "-n", "50", "--seed", "3", "--json").out)
    ran = json.loads(hms("jobs", "training_jobs", "-n", "50", "--seeds", "3..3", "-s", "sjf", "--json").out)
    assert document["verified"]
    assert document["end"]["end"] == ran["bounds"][0]["end"]
    assert document["mean_turnaround"]["mean"] == ran["bounds"][0]["mean_turnaround"]
    assert all(each["turnaround_over_bound"]["mean"] >= 1 for each in ran["policies"].values())


def test_whole_units_and_loose_parts_are_read_and_shown() -> None:
    table = "seconds,gpus,gpu_share,cores,deadline,gang\n60,1,0.5,2,100,1\n300,2,,3,,0\n9,0,,2.5,,0\n"
    Path("own.csv").write_text(table, encoding="utf-8")
    jobs = read_jobs(["own.csv"]).jobs
    assert jobs.job_id.tolist() == [0, 1, 1, 2, 2, 2], "parts of what is no gang are jobs of their own"
    assert jobs.gpus.tolist() == [1, 1, 1, 0, 0, 0]
    assert jobs.gpu_milli.tolist() == [500, *[1000] * 5]
    assert jobs.cpu_milli.tolist() == [2000, 1500, 1500, 834, 834, 834]
    shown = hms("inspect", "own.csv")
    assert shown.code == 0, shown.err
    assert shown.out.startswith("own.csv: 6 jobs of a shared cluster\n")
    assert "1 take a share of one" in shown.out
    assert "1 have a deadline" in " ".join(shown.out.split())
    assert "48 nodes with 232 GPUs" in hms("inspect", "cluster_pods").out
    assert json.loads(hms("inspect", "log.swf", "--jobs", "--json").out)["machines"] == "4 processors"
    job_table.write(jobs, "own.parquet")
    assert hms("inspect", "own.parquet").out.startswith("own.parquet: 6 jobs")
    for wrong, says in (
        (table.replace("0.5", "1.5"), "line 2: gpu_share is 1.5, expected above 0 and at most 1"),
        (table.replace(",100,", ",-5,"), "line 2: deadline is -5, expected a moment above 0"),
        (table.replace("cores", "cpu_milli").replace("gang", "cores"), "'cores' and 'cpu_milli' say the same"),
        (table.replace(",,0", ",,2", 1), "line 3: gang is 2, expected 0 or 1"),
    ):
        Path("own.csv").write_text(wrong, encoding="utf-8")
        refused(hms("jobs", "own.csv", "--gpus", "4"), "own.csv", says)


def test_readers_keep_what_files_say() -> None:
    log = read_jobs(["log.swf"])
    assert log.machines is not None
    assert log.jobs.cpu_milli[:3].tolist() == [2000, 3000, 4000]
    assert log.jobs.requested[0] == 41
    assert log.jobs.memory_mib[0] == 1
    assert log.jobs.users.tolist() == [0, 1]
    pods = read_jobs(["pods.csv", "nodes.csv"])
    assert pods.machines is not None
    assert len(pods.machines) == 5
    assert pods.jobs.gpu_milli[:2].tolist() == [500, 1000]
    assert pods.jobs.model_names == ("T4",)
    assert pods.jobs.models[:4].tolist() == [1, 0, 0, 1]
    Path("philly.csv").write_text("jobid,num_gpus,submit_time,duration\na,8,100,60\nb,1,130,5\n", encoding="utf-8")
    assert read_jobs(["philly.csv"]).jobs.gpus.tolist() == [8, 1]


def test_gavels_scale_factor_is_a_gang_of_the_fastest_gpus(tmp_path: Path) -> None:
    found = read_jobs(gavel_file(tmp_path))
    assert found.jobs.gpus.tolist() == [1, 1, 4]
    assert found.jobs.seconds.tolist() == [100, 100, 1]
    assert found.jobs.models.all(), "each names the types that run it"
    assert found.jobs.speed.max(axis=1).tolist() == [1, 1, 1], "its seconds are those on the fastest"
    assert found.machines is not None
    assert found.machines.total_gpus == 72


def test_inspect_says_how_wide_jobs_are() -> None:
    told = hms("inspect", "log.swf").out
    assert "(hms jobs): 1 to 4 cores, 2.5 in the middle; up to 1 MiB of memory" in told
    assert "30 have estimates that differ from their time; 2 users" in told


def test_our_own_table_of_jobs_is_read_as_it_was_written() -> None:
    jobs = Jobs.build(
        seconds=[1.5, 3], arrival=[0, 2], requested=[9, 3], cpu_milli=[500, 2000], gpus=[1, 2], gpu_milli=[250, 1000],
        accepts=[{"T4": 0.4, "A10": 1.0}, []], span=[False, True], deadline=[8, float("inf")], user=[3, 4],
        weight=[1, 2],
    )  # fmt: skip
    for path in ("jobs.csv", "jobs.parquet"):
        job_table.write(jobs, path)
        again = read_jobs([path]).jobs
        for name in (*job_table.NUMBERS, "user", "models", "speed"):
            assert getattr(again, name).tolist() == getattr(jobs, name).tolist(), name
    assert hms("jobs", "jobs.csv", "--gpus", "4", "-s", "fcfs", "--backfill", "none").code == 0


def test_users_may_have_names() -> None:
    Path("named.csv").write_text("seconds,gpus,gang,user\n5,1,1,zoe\n6,2,0,ann\n7,1,1,7\n", encoding="utf-8")
    jobs = read_jobs(["named.csv"]).jobs
    assert [jobs.name_user(user) for user in jobs.user.tolist()] == ["zoe", "ann", "ann", "7"]
    for path in ("named_again.csv", "named.parquet"):
        job_table.write(jobs, path)
        again = read_jobs([path]).jobs
        assert (again.user_names, again.user.tolist()) == (jobs.user_names, jobs.user.tolist())
    document = json.loads(hms("jobs", "named.csv", "--gpus", "4", "-s", "fcfs", "--backfill", "none", "--json").out)
    assert set(document["users"]["fcfs"]) == {"7", "ann", "zoe"}
    Path("nobody.csv").write_text("seconds,gpus,user\n5,1,zoe\n6,2,\n", encoding="utf-8")
    refused(hms("jobs", "nobody.csv", "--gpus", "4"), "line 3: user is empty, expected a number or a name")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("bound nope", "of jobs of a shared cluster: cluster_batch, cluster_pods, training_jobs"),
        ("inspect nope", "no preset of jobs (cluster_batch, cluster_pods, training_jobs)"),
        ("compare cluster_pods", "run it with hms jobs cluster_pods"),
    ],
)
def test_presets_of_jobs_are_named_where_they_can_be_meant(words: str, says: str) -> None:
    refused(hms(*words.split()), says)


def test_orders_and_fit_rules_are_listed() -> None:
    listed = json.loads(hms("jobs", "--list", "--json").out)
    assert "f1" in listed["orders"]
    assert "fgd" in listed["fits"]
    assert "fgd" in hms("jobs", "--list").out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nothing.swf"], "is no file and no preset"),
        (["log.swf", "-s", "sfj"], "did you mean 'sjf'"),
        (["log.swf", "--fit", "bset"], "did you mean 'best'"),
        (["log.swf", "--backfill", "esay"], "did you mean 'easy'"),
        (["log.swf", "--windows", "0"], "give 1 or more"),
        (["log.swf", "--threshold", "0"], "seconds above 0"),
        (["pods.csv", "--fill", "1.3"], "give both files"),
        (["pods.csv", "nodes.csv", "--fill", "-1"], "--fill is -1"),
        (["log.swf", "--fill", "1.3"], "there are none"),
        (["cluster_batch", "log.swf"], "is a preset"),
        (["nodes.csv"], "goes with a file of the format alibaba"),
        (["pods.csv", "-s", "fcfs"], "give --processors, --gpus or a list of nodes"),
    ],
)
def test_mistakes_end_in_one_line(words: list[str], says: str) -> None:
    refused(hms("jobs", *words), says)
