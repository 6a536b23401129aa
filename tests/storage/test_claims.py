"""Two servers on one database never run one simulation twice, and a dead one is replaced."""

from __future__ import annotations

import asyncio

import pytest

from hybrid_scheduler.storage.database import ClaimedError
from hybrid_scheduler.storage.store import Store
from stored import new_run

pytestmark = pytest.mark.asyncio


async def test_a_second_server_is_refused_and_told_who_the_first_is(store: Store) -> None:
    await store.claim("alpha:1", ttl=60)
    with pytest.raises(ClaimedError, match="run by 'alpha:1': stop it there") as refusal:
        await store.claim("beta:2", ttl=60)
    assert refusal.value.owner == "alpha:1"
    assert 50 < refusal.value.seconds_left <= 60


async def test_of_many_that_claim_at_once_one_wins(url: str) -> None:
    stores = [await Store.open(url) for _ in range(5)]
    outcomes = await asyncio.gather(
        *(store.claim(f"server:{number}", 60) for number, store in enumerate(stores)), return_exceptions=True
    )
    assert sum(each is None for each in outcomes) == 1
    assert sum(isinstance(each, ClaimedError) for each in outcomes) == 4
    for store in stores:
        await store.close()


async def test_the_owner_may_renew_its_claim(store: Store) -> None:
    await store.claim("alpha:1", ttl=0.0)
    await store.heartbeat("alpha:1", ttl=60)
    with pytest.raises(ClaimedError):
        await store.claim("beta:2", ttl=60)


async def test_a_claim_that_is_not_renewed_ends(store: Store) -> None:
    await store.claim("alpha:1", ttl=0.0)
    await store.claim("beta:2", ttl=60)
    with pytest.raises(ClaimedError, match="beta:2"):
        await store.heartbeat("alpha:1", ttl=60)


async def test_a_released_claim_is_free_at_once(store: Store) -> None:
    await store.claim("alpha:1", ttl=60)
    await store.release("beta:2")  # not its claim: nothing happens
    with pytest.raises(ClaimedError):
        await store.claim("beta:2", ttl=60)
    await store.release("alpha:1")
    await store.claim("beta:2", ttl=60)


async def test_runs_of_a_dead_owner_are_interrupted_and_others_go_on(store: Store) -> None:
    await store.claim("dead:1", ttl=0.0)
    left, ended = await new_run(store, "dead:1"), await new_run(store, "dead:1")
    await store.end_run(ended)
    await store.claim("alive:2", ttl=60)
    running = await new_run(store, "alive:2")
    assert await store.mark_interrupted() == [left]
    assert [(await store.run(run)).status for run in (left, ended, running)] == ["interrupted", "finished", "running"]
    assert await store.mark_interrupted() == []


async def test_an_interrupted_run_says_when_its_owner_was_last_alive_and_can_be_resumed(store: Store) -> None:
    run_id = await new_run(store, "dead:1")
    await store.heartbeat("dead:1", ttl=0.0)
    alive = (await store.run(run_id)).heartbeat_at
    await store.mark_interrupted()
    assert (await store.run(run_id)).ended_at == alive
    await store.resume_run(run_id, "alive:2")
    resumed = await store.run(run_id)
    assert (resumed.status, resumed.owner, resumed.ended_at) == ("running", "alive:2", None)
