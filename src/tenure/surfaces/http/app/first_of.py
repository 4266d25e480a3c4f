"""Waits for the first of several awaitables."""

import asyncio
from collections.abc import Awaitable
from typing import Any


async def until_first(*awaited: Awaitable[Any]) -> "list[asyncio.Future[Any]]":
    """Wait until one is done and cancel the others; returns all of them, in order, done or cancelled."""
    tasks: list[asyncio.Future[Any]] = [asyncio.ensure_future(one) for one in awaited]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return tasks
