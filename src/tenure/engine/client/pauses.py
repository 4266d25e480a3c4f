"""Pauses as operators set them: of queues and of definitions."""

from datetime import datetime, timedelta

from tenure.core.errors import InvalidInput, UnknownDefinition
from tenure.core.reports.operations import Pause, PauseScope
from tenure.core.values.bounds import printable
from tenure.storage.contract.store import Store


class OperatorPauses:
    """The pauses of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def look(self) -> list[Pause]:
        """The pauses in force, by queue, definition and version."""
        return await self._store.pauses()

    async def pause(
        self,
        scope: PauseScope,
        *,
        until: datetime | timedelta | None = None,
        by: str,
        reason: str | None = None,
    ) -> None:
        """Claim nothing in the scope, until it is resumed, until a time, or for so long.

        Raises UnknownDefinition if the scope names a definition that is not registered, and InvalidInput if
        the time has passed, by the store's clock. A queue need not exist yet.
        """
        if reason is not None:
            printable("reason", reason)
        if scope.definition and not await self._is_known(scope):
            raise UnknownDefinition(scope.definition, scope.version or None)
        await self._store.pause(scope, until=await self._end(until), by=by, reason=reason)

    async def resume(self, scope: PauseScope) -> bool:
        """End the pause of exactly this scope; returns whether there was one.

        Raises UnknownDefinition if there was none and the definition is not registered.
        """
        ended = await self._store.resume(scope)
        if not ended and scope.definition and not await self._is_known(scope):
            raise UnknownDefinition(scope.definition, scope.version or None)
        return ended

    async def _end(self, until: datetime | timedelta | None) -> datetime | None:
        if until is None:
            return None
        now = await self._store.now()
        end = now + until if isinstance(until, timedelta) else until
        if end.utcoffset() is not None and end <= now:
            raise InvalidInput("until", "has passed already", "give a time to come, or none")
        return end

    async def _is_known(self, scope: PauseScope) -> bool:
        return any(
            known.key == scope.definition and scope.version in {0, known.version}
            for known in await self._store.definitions()
        )
