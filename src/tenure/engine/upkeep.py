"""The duties as loops: a look at what is due, tidying, and hints that make the next look come sooner."""

from collections.abc import Awaitable, Callable

from tenure.core.signals import Announce
from tenure.engine.duties import Duties
from tenure.engine.manner import Manner
from tenure.engine.service import Service
from tenure.storage.contract import Store, Wakeups

LISTEN_FOR = 60.0


class Upkeep:
    """What whoever keeps a store in order runs: `services`, until they are cancelled."""

    def __init__(
        self,
        store: Store,
        manner: Manner,
        *,
        announce: Announce,
        told: Announce,
        waiting: Callable[[], None],
        owed: Callable[[], Awaitable[object]],
    ) -> None:
        """`told` hears of the loops' troubles, `announce` of what they did; the rest is as for Duties."""
        self._store = store
        self._changes: Wakeups | None = None
        self._duties = Duties(store, manner, announce=announce, waiting=waiting, owed=owed, hears=self._hears)
        self._look = Service("look", self._duties.look, told)
        self.services = (
            self._look,
            Service("tidy", self._duties.tidy, told),
            Service("changes", self._hear_changes, told),
        )

    async def _hear_changes(self) -> float:
        async with self._store.listen(changes=True) as self._changes:
            self._changes.call(self._stir)
            while True:
                await self._changes.wait(LISTEN_FOR)

    def _stir(self) -> None:
        if self._duties.stir():
            self._look.poke()

    def _hears(self) -> bool:
        return self._changes is not None and self._changes.is_live
