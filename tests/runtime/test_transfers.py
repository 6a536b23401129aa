"""Moving data counts: seconds by pair of places are learnt, policies and explanations see them."""

from __future__ import annotations

import math
from concurrent.futures import Future

import numpy as np
import pytest

from hybrid_scheduler import HybridScheduler
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.runtime.jobs import TaskFunction, find_data
from hybrid_scheduler.runtime.measured_times import TransferTimes
from hybrid_scheduler.runtime.objects import StoredObject

DEADLINE = 300.0


def test_seconds_are_learnt_by_pair_of_places_and_an_outlier_moves_nothing() -> None:
    times = TransferTimes()
    for _ in range(9):
        times.observe({"node 0": 1_000_000}, "gpu=x", 0.1)
        times.observe({"node 0": 1_000_000}, "cpu=x", 0.01)
    times.observe({"node 0": 1_000_000}, "gpu=x", 50.0)
    assert times.predict({"node 0": 2_000_000}, "gpu=x") == pytest.approx(0.2)
    assert times.predict({"node 0": 2_000_000}, "cpu=x") == pytest.approx(0.02)
    assert times.predict({"node 1": 2_000_000}, "cpu=x") == 0.0, "never seen"
    row = times.rows()[0]
    assert (row["from"], row["to"]) == ("node 0", "cpu")
    assert row["megabytes_per_second"] == pytest.approx(100.0)


def test_a_first_call_imports_modules_while_it_loads_and_counts_only_while_nothing_better_is_known() -> None:
    times = TransferTimes()
    times.observe({"driver": 1_000_000}, "cpu=x", 1.0, is_warm_up=True)
    assert times.predict({"driver": 1_000_000}, "cpu=x") == pytest.approx(1.0)
    times.observe({"driver": 1_000_000}, "cpu=x", 0.01)
    assert times.predict({"driver": 1_000_000}, "cpu=x") == pytest.approx(0.01)
    assert times.rows()[0]["transfers"] == 2
    assert times.rows()[0]["megabytes_per_second"] == pytest.approx(100.0)


def test_data_is_found_where_it_is_also_inside_containers() -> None:
    made = StoredObject(b"", (), place="node 1")
    array = np.ones(20_000)
    assert find_data((array, [array, 1], "word")) == {"driver": 320_000}
    assert find_data((made, np.ones(3))) == {}, "small"
    assert TaskFunction(abs).create_job(0, (array,), {}, 0.0).data == {"driver": 160_000}
    assert TaskFunction(abs).create_job(0, (), {"named": array}, 0.0).data == {"driver": 160_000}


def test_a_policy_sees_what_it_takes_to_bring_the_data() -> None:
    with HybridScheduler(devices="cpu,gpu=emulated:slowdown=1") as scheduler:
        made = scheduler.submit(np.ones, 100_000)
        assert scheduler.submit(np.sum, made).result(DEADLINE) == 100_000
        assert [row["from"] for row in scheduler.transfers] == ["node 0"]
        decider, cpu = scheduler._dispatcher.decider, scheduler.devices[0].signature
        for spec in scheduler.devices:
            for _ in range(4):
                scheduler.times.observe("numpy.mean", spec.signature, spec.name, 800_000.0, 0.01)
        for _ in range(80):
            decider.transfers.observe({"driver": 800_000}, cpu, 5.0)
        explained = scheduler.explain(np.mean, np.ones(100_000))
        assert explained.device == 1, "bringing the data to the CPU would take five seconds"
        assert math.isclose(explained.candidates[0].transfer, 5.0)
        assert explained.candidates[1].transfer == 0.0, "never seen"
        scattered = scheduler.scatter(np.ones(100_000))
        assert math.isclose(scheduler.explain(np.mean, scattered).candidates[0].transfer, 5.0), (
            "of the data behind it"
        )
        with pytest.raises(InputError, match="wait for its future"):
            scheduler.explain(np.mean, Future[float]())


def test_writing_a_large_result_counts_as_time_of_the_task() -> None:
    with HybridScheduler(devices="cpu") as scheduler:
        for _ in range(4):
            scheduler.submit(np.empty, 4_000_000).exception(DEADLINE)
        learnt = scheduler.times.predict("numpy.empty", [scheduler.devices[0].signature], 1.0)[0]
    assert learnt > 0.001, "making it takes microseconds, writing 32 MB does not"
