"""What every outage must come to: an error of ours within bounds, and a store that works again by itself."""

import asyncio
from collections.abc import Awaitable
from uuid import UUID

import pytest

from tenure.core.errors import StoreUnavailable
from tenure.storage.contract import Store
from tests.storage.backends import PostgresBackend
from tests.storage.telling import enqueue_one

BOUND = 60.0
"""Seconds within which everything here has long ended; who needs them hangs."""


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
    async with asyncio.timeout(BOUND):
        while True:
            try:
                return await enqueue_one(store, "recovery")
            except StoreUnavailable:
                await asyncio.sleep(0)


async def connected(store: Store, number: int) -> None:
    """Return once the store has so many connections; a slow machine may need several goes for all of them."""
    async with asyncio.timeout(BOUND):
        while True:
            answers = await asyncio.gather(*(store.now() for _ in range(number)), return_exceptions=True)
            missing = [answer for answer in answers if isinstance(answer, BaseException)]
            if not missing:
                return
            assert all(isinstance(one, StoreUnavailable) for one in missing), missing


async def until_nobody_waits(backend: PostgresBackend) -> None:
    """Return once no statement waits for a lock: those that were given up have ended on the server too."""
    async with asyncio.timeout(BOUND):
        while await backend.sql("""
            SELECT FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'"""):
            pass
