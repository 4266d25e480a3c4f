"""The library's runtime on the temporary file of a harness."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

from tenure.assemble.client import OpenClient
from tenure.core.errors import StoreForbidden, TenureError
from tenure.engine.client.client import JobClient
from tenure.engine.client.registry import Registry
from tenure.storage.sqlite.hand_clock import HandClockStore, open_hand_clock
from tenure.surfaces.library.runtime import Runtime, Work
from tenure.testing.harness_client import HarnessClient
from tenure.testing.stages import is_on_stage

T = TypeVar("T")


class HarnessStore(NamedTuple):
    """The store of a harness, and the client on it that the app uses."""

    store: HandClockStore
    client: JobClient


class BoundRuntime(Runtime):
    """Serves every call of an app for the time of a test; `on_call` runs after each, on the store's loop."""

    def __init__(self, path: Path, registry: Registry, at: datetime) -> None:
        self.address = f"sqlite:///{path}"
        super().__init__(self.address, registry)
        self._path = path
        self._at = at
        self._store: HandClockStore | None = None
        self._has_ended = False
        self.on_call: Callable[[], Awaitable[None]] | None = None

    async def call(self, work: Work[T], *, aside: bool = False) -> T:
        """Do work on the store, from any loop."""

        async def and_tell(client: JobClient) -> T:
            answer = await work(client)
            if self.on_call is not None:
                await self.on_call()
            return answer

        return await super().call(and_tell, aside=aside)

    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop of the store, for the harness itself: a handler may not use it."""
        self.refuse_after_end()
        return super()._running()

    def refuse_after_end(self) -> None:
        """Raise TenureError once the harness has ended: the app has its own database again."""
        if self._has_ended:
            raise TenureError("the harness has ended: use it inside its block")

    def end(self) -> None:
        """Close the store for good: its file is about to be deleted."""
        self._has_ended = True
        self.close()

    async def ready(self) -> HarnessStore:
        """The store and its client; to be called on their loop."""
        client = await self._ready()
        if self._store is None:
            raise TenureError("the store of the harness is closed")
        return HarnessStore(self._store, client)

    def _running(self) -> asyncio.AbstractEventLoop:
        if is_on_stage.get():
            raise StoreForbidden
        return super()._running()

    async def _open(self) -> OpenClient:
        self._store = await open_hand_clock(self._path, self._at)
        return OpenClient(HarnessClient(self._store, self._registry), self._store)
