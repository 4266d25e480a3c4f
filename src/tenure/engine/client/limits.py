"""Limits as operators see and set them."""

from tenure.core.errors import InvalidInput, TenureError
from tenure.core.model.limit import SCHEDULE_LIMIT, LimitPage
from tenure.core.model.spec import Spec
from tenure.storage.contract.store import Store


class UnknownLimit(TenureError, LookupError):
    """No job and no registered definition has named the limit."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"there is no limit {self.name:.120}: no job and no registered definition has named it"


class OperatorLimits:
    """The limits of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def page(self, *, after: tuple[str, int] | None = None, limit: int = 50) -> LimitPage:
        """Limits and their keys by name, from behind a place on."""
        return await self._store.limit_page(after=after, limit=limit)

    async def resize(self, name: str, size: int) -> None:
        """Set how many may run at once under each key; it stays so until the code's own number changes.

        Raises UnknownLimit, or InvalidInput for what is no size and for the limit of schedules.
        """
        if name == SCHEDULE_LIMIT and size != 1:
            problem = "is for schedules whose jobs run one at a time"
            raise InvalidInput("limit", problem, 'give the schedule another overlap, such as "allow"')
        if await self._store.set_limit(name, size, create=False):
            return
        specs = [Spec.read(known.spec) for known in await self._store.definitions()]
        if not any(limit.name == name for spec in specs for limit in spec.all_limits):
            raise UnknownLimit(name)
        await self._store.set_limit(name, size)
