"""`hms prune` says what it would free, and frees it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from helpers_cli import hms
from hybrid_scheduler.cli.prune import parse_bytes
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.storage.store import Store
from stored import make_batch, new_run


async def _fill(url: str) -> None:
    store = await Store.open(url)
    try:
        for _ in range(3):
            run_id = await new_run(store)
            for first in range(0, 3000, 1000):
                await store.write(make_batch(run_id, first, first + 1000))
            await store.end_run(run_id, "finished", {})
    finally:
        await store.close()


def test_it_tells_first_and_then_frees_the_space(tmp_path: Path) -> None:
    file = tmp_path / "hms.db"
    url = f"sqlite:///{file}"
    asyncio.run(_fill(url))
    size = file.stat().st_size
    told = hms("prune", "--database", url, "--bytes", "500KB", "--dry-run")
    assert told.code == 0
    assert "would delete runs 1, 2 and all but the newest" in told.out
    assert file.stat().st_size == size
    done = hms("prune", "--database", url, "--bytes", "500KB")
    assert done.code == 0
    assert "freed" in done.out
    assert file.stat().st_size < size / 2


def test_sizes_are_read_with_their_units() -> None:
    assert [parse_bytes(each) for each in ("7", "5GB", "1.5 mb", "2TB")] == [7, 5 * 10**9, 1_500_000, 2 * 10**12]
    for wrong in ("", "GB", "5XB", "-1GB", "nan", "1e400", "5GBB"):
        with pytest.raises(InputError, match="expected a size such as 500MB"):
            parse_bytes(wrong)
