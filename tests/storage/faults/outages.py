"""What every outage must lead to: an error of ours in bounded time, and a store that recovers by itself."""

import asyncio
from collections.abc import Awaitable
from uuid import UUID

import pytest

from tenure.core.errors import StoreUnavailable
from tenure.storage.contract.store import Store
from tests.storage.backends import PostgresBackend
from tests.storage.postgres.lock_waits import until_connections
from tests.storage.verbs import enqueue_one
from tests.until import until

BOUND = 60.0
"""Seconds until a call counts as hanging; everything here takes much less."""


async def outage(call: Awaitable[object]) -> StoreUnavailable:
    """The error that a call must end with, in bounded time."""
    with pytest.raises(StoreUnavailable) as caught:
        async with asyncio.timeout(BOUND):
            await call
    return caught.value


async def outages(*calls: Awaitable[object], within: float = BOUND) -> list[StoreUnavailable]:
    """The errors that calls made together must end with, all of them in bounded time."""
    async with asyncio.timeout(within):
        answers = await asyncio.gather(*calls, return_exceptions=True)
    ends = [answer for answer in answers if isinstance(answer, StoreUnavailable)]
    assert len(ends) == len(calls), [answer for answer in answers if answer not in ends]
    return ends


async def recovered(store: Store) -> UUID:
    """A job recorded once the fault is over, by the same store, within a bounded number of outages."""

    async def job() -> UUID | None:
        try:
            return await enqueue_one(store, "recovery")
        except StoreUnavailable:
            return None

    found = await until(job, BOUND)
    assert found
    return found


async def connected(store: Store, number: int) -> None:
    """Return once the store has so many connections; a slow machine may need several tries."""

    async def are_all_there() -> bool:
        answers = await asyncio.gather(*(store.now() for _ in range(number)), return_exceptions=True)
        missing = [answer for answer in answers if isinstance(answer, BaseException)]
        assert all(isinstance(one, StoreUnavailable) for one in missing), missing
        return not missing

    await until(are_all_there, BOUND)


async def until_nobody_waits(backend: PostgresBackend) -> None:
    """Return once no statement waits for a lock: cancelled ones have ended on the server too."""
    await until_connections(backend, "wait_event_type = 'Lock'", 0)
