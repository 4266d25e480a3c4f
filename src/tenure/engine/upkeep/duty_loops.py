"""The duties as loops: look for due work, tidy, and listen for hints to look sooner."""

from collections.abc import Awaitable, Callable

from tenure.core.signals import Announce
from tenure.engine.config import WorkerConfig
from tenure.engine.upkeep.duties import Duties, OnOutlook, Present, ignore_outlook, is_nobody
from tenure.engine.upkeep.loop import Loop
from tenure.storage.contract.store import Store, Wakeups

LISTEN_FOR = 60.0


class DutyLoops:
    """The loops that keep a store in order: run `loops` until they are cancelled."""

    def __init__(
        self,
        store: Store,
        config: WorkerConfig,
        *,
        on_signal: Announce,
        on_loop_signal: Announce,
        on_arrival: Callable[[], None],
        on_owed_hooks: Callable[[], Awaitable[object]],
        on_outlook: OnOutlook = ignore_outlook,
        present: Present = is_nobody,
        on_seen: OnOutlook = ignore_outlook,
    ) -> None:
        """`on_loop_signal` gets loop failures, `on_signal` what they did; the rest is as in `Duties`."""
        self._store = store
        self._changes: Wakeups | None = None
        self._duties = Duties(
            store,
            config,
            has_hints=self._has_hints,
            on_signal=on_signal,
            on_arrival=on_arrival,
            on_owed_hooks=on_owed_hooks,
            on_outlook=on_outlook,
            present=present,
            on_seen=on_seen,
        )
        self._look = Loop("look", self._duties.look, on_loop_signal)
        self.loops = (
            self._look,
            Loop("tidy", self._duties.tidy, on_loop_signal),
            Loop("changes", self._listen, on_loop_signal),
        )

    async def _listen(self) -> float:
        async with self._store.listen(changes=True) as self._changes:
            self._changes.call(self._on_change)
            while True:
                await self._changes.wait(LISTEN_FOR)

    def _on_change(self) -> None:
        if self._duties.look_sooner():
            self._look.poke()

    def _has_hints(self) -> bool:
        return self._changes is not None and self._changes.is_live
