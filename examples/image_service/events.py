"""What follows the events of jobs while the API runs: live views, and the removal of what failed."""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID

from examples.image_service.jobs import Image, app, delete
from tenure import StoreError

QUIET = 15.0
"""Seconds without an event after which a comment is sent: proxies close connections that say nothing."""

ENDED = ("completed", "failed")


class Live:
    """One reader of the events of all jobs, and any number of browsers that wait for one of them."""

    def __init__(self) -> None:
        self._waiting: defaultdict[UUID, set[asyncio.Event]] = defaultdict(set)
        self._stages: dict[UUID, str] = {}

    async def follow(self) -> None:
        """Wake those who wait for a job whenever something has happened to it."""
        async for entry in app.events():
            job = entry.event.job
            if job in self._waiting and entry.event.type == "custom:stage":
                self._stages[job] = entry.event.payload["stage"]
            for waiting in self._waiting.get(job, ()):
                waiting.set()

    async def stream(self, job: UUID, view: Callable[[], Awaitable[dict[str, Any]]]) -> AsyncIterator[str]:
        """Server-sent events: the view of a job now and after each event, until it has ended."""
        changed = asyncio.Event()
        self._waiting[job].add(changed)
        try:
            sent = ""
            while True:
                changed.clear()  # before the question: what happens after it is not missed
                shown = {**await view(), "stage": self._stages.get(job)}
                if (text := json.dumps(shown)) != sent:
                    yield f"data: {text}\n\n"
                    sent = text
                if shown["status"] in ENDED:
                    return
                try:
                    async with asyncio.timeout(QUIET):
                        await changed.wait()
                except TimeoutError:
                    yield ":\n\n"
        finally:
            self._waiting[job].discard(changed)
            if not self._waiting[job]:
                del self._waiting[job]
                self._stages.pop(job, None)


async def remove_failed() -> None:
    """Have everything removed that jobs without success left in the bucket, by jobs of their own.

    It reads from the beginning, so nothing is missed while no API runs, and requests once for each image.
    """
    ends = app.events(after="0", definition="image.process", types=["failed", "cancelled", "buried"])
    async for entry in ends:
        image = str(entry.event.job)
        await delete.enqueue(Image(image), idempotency_key=image)


async def kept_running(work: Callable[[], Awaitable[None]]) -> None:
    """Begin again whenever the database was away."""
    while True:
        try:
            await work()
        except StoreError:
            await asyncio.sleep(1)
