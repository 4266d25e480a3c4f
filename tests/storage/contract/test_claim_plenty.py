"""Claiming while there is plenty: what others do is seen soon, though no claim ever falls short."""

import asyncio

import pytest

from tenure.core.model.lease import Line
from tenure.storage.contract.store import Store
from tests.storage.verbs import MAIL, PATIENCE, claim, enqueue_one


async def with_a_backlog(store: Store) -> None:
    """Let a store know its line, with one job left in it."""
    for _ in range(2):
        await enqueue_one(store)
    assert len(await claim(store, limit=1)) == 1


@pytest.mark.parametrize("target", [MAIL, "default"], ids=["line", "queue"])
async def test_a_pause_set_elsewhere_stops_who_always_finds_enough(
    store: Store, other: Store, target: Line | str
) -> None:
    await with_a_backlog(store)
    await other.pause(target)
    async with asyncio.timeout(PATIENCE):
        while await claim(store, limit=1):
            await enqueue_one(store)
    assert (await store.lines())[0].oldest is not None


async def test_an_urgent_job_put_in_line_elsewhere_overtakes_a_backlog(store: Store, other: Store) -> None:
    """Though it stands where nobody stood when the store last looked."""
    await with_a_backlog(store)
    urgent = await enqueue_one(other, priority=9)
    async with asyncio.timeout(PATIENCE):
        while [owned.lease.job for owned in await claim(store, limit=1)] != [urgent]:
            await enqueue_one(store)
