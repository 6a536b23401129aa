"""Studies of shared clusters: what is published about real pods and logs is found again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hybrid_scheduler import registry
from hybrid_scheduler.core.job_metrics import measure_jobs
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import WHOLE, Machines
from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.schedulers.job_learner import LearntOrder
from hybrid_scheduler.studies.jobs import JobStudy, draw_pods, fill_machines, run_jobs
from hybrid_scheduler.workloads.formats.reader import read_jobs
from hybrid_scheduler.workloads.job_presets import JOB_PRESETS, draw_jobs
from workloads.formats.real_data import DATA, needs_data

PUBLISHED = {
    "random": (87.47, 0.32), "dot_product": (90.85, 0.20), "gpu_clustering": (91.88, 0.62),
    "gpu_packing": (92.00, 0.54), "best": (93.08, 0.13), "fgd": (95.39, 0.08),
}  # fmt: skip
"""GPUs allocated in per cent, mean and deviation over ten seeds: see fgd_reference/SOURCE.md."""
SLOWDOWNS = {
    "fcfs": 7273.77, "sjf": 277.35, "f1": 258.37, "fcfs+easy": 235.82, "sjf+easy": 73.31, "f1+easy": 75.07,
}  # fmt: skip
"""Mean bounded slowdowns of ten windows: see batch_lublin/SOURCE.md."""


@needs_data
def test_fit_rules_allocate_as_many_of_alibabas_gpus_as_published() -> None:
    folder = DATA / "alibaba_gpu_v2023"
    found = read_jobs([folder / "openb_pod_list_default.csv", folder / "openb_node_list_all_node.csv"])
    assert found.machines is not None
    result = fill_machines("pods", found.jobs, found.machines, list(PUBLISHED), 1.3, (42, 43, 44, 45))
    for rule, (mean, deviation) in PUBLISHED.items():
        reached = 100 * result.interval(rule, "allocated_gpus").mean
        assert abs(reached - mean) <= max(0.6, 2 * deviation), f"{rule} reaches {reached:.2f}, published is {mean}"
    broken = {rule: result.interval(rule, "fragmentation").mean for rule in PUBLISHED}
    assert min(broken, key=broken.__getitem__) == "fgd"


@needs_data
def test_orders_of_lublins_log_are_as_far_apart_as_published() -> None:
    found = read_jobs([DATA / "batch_lublin" / "lublin_256.swf"])
    study = JobStudy("lublin", found.jobs, found.machines, backfilling=("none", "easy"), windows=20, window_jobs=1024)
    result = run_jobs(study)
    reached = {policy: result.interval(policy, "bounded_slowdown").mean for policy in study.policies}
    for policy, published in SLOWDOWNS.items():
        assert published / 2 < reached[policy] < published * 2, policy
    assert reached["fcfs"] > 10 * max(reached["sjf"], reached["f1"])
    assert reached["fcfs+easy"] > 2 * max(reached["sjf+easy"], reached["f1+easy"])
    assert all(outcome.verified for outcome in result.outcomes)


@needs_data
def test_the_learner_is_no_worse_with_backfilling_than_the_better_of_sjf_and_f1() -> None:
    found = read_jobs([DATA / "batch_lublin" / "lublin_256.swf"])
    orders = ("sjf", "f1", "hybrid_ml")
    study = JobStudy(
        "lublin", found.jobs, found.machines, orders, ("easy",), windows=20, window_jobs=1024, seeds=(3,)
    )
    result = run_jobs(study)
    reached = {policy: result.interval(policy, "bounded_slowdown").mean for policy in study.policies}
    assert reached["hybrid_ml+easy"] <= min(reached["sjf+easy"], reached["f1+easy"])


def test_the_learner_sees_through_estimates_that_are_too_long() -> None:
    study = JobStudy(
        "cluster_batch", None, None, ("sjf", "hybrid_ml", "las"), ("easy",), window_jobs=400, seeds=(0, 1, 2)
    )
    result = run_jobs(study)
    assert list(study.policies) == ["sjf+easy", "hybrid_ml+easy", "las"]
    slowdown = {policy: result.interval(policy, "bounded_slowdown").mean for policy in study.policies}
    assert slowdown["hybrid_ml+easy"] < slowdown["sjf+easy"]


def test_attention_begins_as_the_learnt_order_and_is_kept_only_where_it_helped() -> None:
    past, machines = draw_jobs("cluster_batch", 1, 3000)
    jobs = draw_jobs("cluster_batch", 2, 400)[0]
    orders = {name: registry.job_orders.create(name) for name in ("hybrid_ml", "attention_agent:generations=0")}
    for order in orders.values():
        order.learn(past, machines, "easy")
    one, other = (order.run(jobs, machines, "easy").start for order in orders.values())
    assert np.array_equal(one, other)
    agents = [registry.job_orders.create("attention_agent:generations=3:trees=10") for _ in range(2)]
    for agent in agents:
        agent.learn(past, machines, "easy")
    assert np.array_equal(agents[0].weights, agents[1].weights), "the same past teaches the same"
    newest = past.select(slice(-1024, None))
    evolved = measure_jobs(agents[0].run(newest, machines, "easy"))["bounded_slowdown"]
    agents[0].weights[:] = 0.0
    assert evolved <= measure_jobs(agents[0].run(newest, machines, "easy"))["bounded_slowdown"]


@pytest.mark.parametrize("load", [0.7, 1.0])
def test_the_learner_is_no_worse_than_sjf_and_f1_on_logs_of_other_machines(load: float) -> None:
    drawn, _ = draw_jobs("cluster_batch", 11, 6000)
    narrow = np.minimum(drawn.cpu_milli, 64 * WHOLE)
    jobs = replace(
        drawn,
        cpu_milli=narrow,
        arrival=drawn.arrival * (0.8 / load) * (narrow.sum() / 64) / (drawn.cpu_milli.sum() / 256),
    )
    study = JobStudy(
        "other", jobs, Machines.pool(64), ("sjf", "f1", "hybrid_ml"), ("easy",), windows=5, window_jobs=1024
    )
    result = run_jobs(study)
    reached = {policy: result.interval(policy, "bounded_slowdown").mean for policy in study.policies}
    assert reached["hybrid_ml+easy"] <= min(reached["sjf+easy"], reached["f1+easy"])


def test_the_learner_sees_the_present_without_what_has_not_ended() -> None:
    jobs, machines = draw_jobs("cluster_batch", 4, 500)
    order = registry.job_orders.create("hybrid_ml")
    found = order.run(jobs, machines, "easy")
    known = int(np.searchsorted(jobs.arrival, jobs.arrival[300]))
    later = np.arange(len(jobs)) > known
    unknown = later | (found.finish > jobs.arrival[known])
    other = replace(jobs, seconds=np.where(unknown, jobs.requested, jobs.seconds))
    again = registry.job_orders.create("hybrid_ml").run(other, machines, "easy")
    early = found.start < jobs.arrival[known]
    assert early.sum() > 100
    assert np.array_equal(found.start[early], again.start[early]), "what comes later changes nothing that was"


def test_the_learner_learns_run_times_while_it_serves_and_forgets_them_after() -> None:
    generator, count = np.random.default_rng(12), 700
    user = generator.integers(0, 10, count)
    seconds = np.exp(generator.normal(2.0, 0.3, count)) * 2.0 ** generator.permutation(10)[user]
    width = 2.0 ** generator.integers(0, 5, count)
    arrival = np.cumsum(generator.exponential(1.0, count))
    arrival *= (width * seconds).sum() / (0.9 * 64 * arrival[-1])
    jobs = Jobs.build(
        seconds=seconds, arrival=arrival, requested=np.full(count, 1e5), cpu_milli=1000 * width, user=user
    )
    order, machines = registry.job_orders.create("hybrid_ml"), Machines.pool(64)
    found = order.run(jobs, machines, "easy")
    others = [measure_jobs(registry.job_orders.create(name).run(jobs, machines, "easy")) for name in ("sjf", "f1")]
    assert measure_jobs(found)["bounded_slowdown"] < 0.8 * min(each["bounded_slowdown"] for each in others)
    assert np.array_equal(order.estimate(jobs), jobs.requested), "what a run taught is not kept"
    assert np.array_equal(order.run(jobs, machines, "easy").start, found.start)


def test_jobs_count_for_less_the_more_the_latest_ones_differ() -> None:
    past, machines = draw_jobs("cluster_batch", 3, 1024)
    order = LearntOrder(trees=5)
    order.learn(past, machines, "easy")
    like = draw_jobs("cluster_batch", 4, 128)[0]
    assert order.weigh_past(past, like) == 1.0
    wider = [order.weigh_past(past, replace(like, cpu_milli=factor * like.cpu_milli)) for factor in (8, 64)]
    longer = order.weigh_past(past, replace(like, requested=100 * like.requested))
    assert 1.0 > wider[0] > wider[1] > 0.0
    assert longer < 0.5


def test_the_learner_changes_its_mind_where_the_first_order_serves_badly() -> None:
    generator, count = np.random.default_rng(6), 600
    width, seconds = 2.0 ** generator.integers(0, 7, count), 5 + 20 * generator.pareto(0.8, count)
    arrival = np.cumsum(generator.exponential(1.0, count))
    seconds = seconds.clip(5, 5e4)
    arrival *= (width * seconds).sum() / (64 * arrival[-1])
    jobs, machines = Jobs.build(seconds=seconds, arrival=arrival, cpu_milli=1000 * width), Machines.pool(64)
    slowdown = {
        name: measure_jobs(registry.job_orders.create(name).run(jobs, machines, "easy", keep_head=False))[
            "bounded_slowdown"
        ]
        for name in ("saf", "hybrid_ml")
    }
    assert slowdown["hybrid_ml"] < slowdown["saf"] / 4, "it begins as saf, and there was nothing to learn from"


@pytest.mark.parametrize("name", JOB_PRESETS)
def test_presets_are_drawn_by_seed_run_and_are_bounded(name: str) -> None:
    study = JobStudy(name, None, None, orders=("fcfs", "sjf"), backfilling=("easy",), window_jobs=150, seeds=(0, 1))
    result = run_jobs(study)
    assert len(result.outcomes) == 2
    for outcome in result.outcomes:
        assert outcome.verified
        for measures in outcome.measures.values():
            assert measures["rejected"] == 0
            assert measures["makespan_over_bound"] >= 1
            assert 0 < measures["utilisation"] <= 1
    one, two = draw_jobs(name, 5, 60)[0], draw_jobs(name, 5, 60)[0]
    assert np.array_equal(one.arrival, two.arrival)
    assert not np.array_equal(one.seconds, draw_jobs(name, 6, 60)[0].seconds)


def test_an_order_may_bring_its_backfilling_as_tables_show_it() -> None:
    study = JobStudy("cluster_batch", None, None, orders=("f1+easy", "fcfs", "sjf+none+fgd"), backfilling=("none",))
    assert study.policies == {
        "f1+easy": ("f1", "easy", "best"),
        "fcfs": ("fcfs", "none", "best"),
        "sjf+none+fgd": ("sjf", "none", "fgd"),
    }


@pytest.mark.parametrize(
    ("order", "says"),
    [("f1+eazy", "mean 'easy'"), ("f1+easy+bestt", "mean 'best'"), ("f1+easy+best+x", "too many parts")],
)
def test_a_wrong_part_of_an_order_is_named(order: str, says: str) -> None:
    with pytest.raises(SchedulerError, match=says):
        JobStudy("cluster_batch", None, None, orders=(order,))


def test_pods_are_drawn_until_they_ask_for_the_share_of_all_gpus() -> None:
    pods, machines = draw_jobs("cluster_pods", 0, 100)
    for fill in (0.1, 1.3):
        stream, rank = draw_pods(pods, machines, fill, 7)
        asked = int((stream.gpus * np.where(stream.gpus > 0, stream.gpu_milli, 0)).sum())
        total = machines.total_gpus * WHOLE
        assert fill * total - 8 * WHOLE <= asked <= fill * total
        assert sorted(rank.tolist()) == list(range(len(machines)))
        assert np.isinf(stream.seconds).all()
