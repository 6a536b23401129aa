"""A short soak: while all around the server fails, and it is killed, nothing is lost. `make soak` is the long one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.soak.clients import Watcher, summary
from benchmarks.soak.report import Report
from benchmarks.soak.run import Plan, soak
from benchmarks.soak.stored import Stored

SHORT = Plan(
    seconds=13.0,
    clients=30,
    every=0.6,
    lasting=0.4,
    kills=1,
    warm_up=3.0,
    schedulers="round_robin,greedy,eft,oracle",
    growth_matters=False,
)


@pytest.fixture(scope="module")
def report() -> Report:
    return soak(SHORT)


def test_nothing_is_lost_while_everything_around_the_server_fails(report: Report) -> None:
    assert [line for line in report.lines() if line.ok is False] == []
    assert set(report.troubles) == {
        "connections cut",
        "Redis killed",
        "database out of reach",
        "Redis hangs",
        "network silent",
        "PostgreSQL restarted",
        "server killed",
        "half-open connections",
        "wrong tokens",
        "wide upload",
        "extreme commands",
    }
    assert report.rows_stored >= report.rows_acknowledged > 6 * 100  # a task, an example and four results each
    assert report.commands_acknowledged == 5
    assert report.frames["restarts"] == SHORT.clients
    assert report.frames["clients"] == SHORT.clients
    assert report.frames["fewest"] > 3


def test_a_loss_of_any_kind_is_no_pass(report: Report) -> None:
    counts = ("rows_missing", "rows_refused", "commands_lost", "background_dead")
    lost = {**dict.fromkeys(counts, 1), "server_lived": False, "failures": ["/api/status: 500"]}
    for name, value in lost.items():
        assert not replace(report, **{name: value}).ok, name  # type: ignore[arg-type]  # names and values fit each other
    for name in ("lost", "skipped", "resets", "reconnects"):
        assert not replace(report, frames={**report.frames, name: report.frames[name] + 1}).ok, name
    heavier = replace(report, warm_bytes=100e6, end_bytes=106e6)
    assert heavier.ok  # a short soak is warming up all the time
    assert not replace(heavier, growth_matters=True).ok
    assert replace(heavier, end_bytes=104e6, growth_matters=True).ok


def test_rows_that_are_missing_are_counted_however_they_are_missing() -> None:
    whole = Stored(rows=60, tasks=10, last_task=9, settled=8, fewest_results=8)
    assert whole.missing(acknowledged=60, tasks=10) == 0
    assert whole.missing(acknowledged=61, tasks=10) == 1
    assert whole.missing(acknowledged=60, tasks=12) == 2
    assert replace(whole, tasks=9).missing(60, 9) == 1  # one in the middle
    assert replace(whole, fewest_results=5).missing(60, 10) == 3


def test_a_client_counts_what_it_misses() -> None:
    watcher = Watcher()
    watcher.see('{"type":"hello","stream":"a","seq":4}', 10.0)
    for number in (5, 6, 9):
        watcher.see(f'{{"type":"simulation_update","seq":{number},"time":{number}.5}}', 10.0)
    watcher.see('{"type":"skipped","count":4}', 10.0)
    watcher.see('{"type":"reset","seq":9}', 10.0)
    assert (watcher.received, watcher.lost, watcher.skipped, watcher.resets) == (3, 2, 4, 1)
    for message in ('{"type":"hello","stream":"b","seq":2}', '{"type":"reset","seq":2}'):
        watcher.see(message, 10.0)
    assert (watcher.lost, watcher.resets, watcher.restarts) == (2, 1, 1)  # of a new server, nothing is lost
    assert summary([watcher, Watcher()])["fewest"] == 0
