"""The runtime of each process. It is imported with the first one: a handler's process has none."""

import os
from typing import TYPE_CHECKING

from tenure.engine.client.registry import Registry
from tenure.settings.settings import Settings

if TYPE_CHECKING:
    from tenure.surfaces.library.app_metrics import AppMeter
    from tenure.surfaces.library.runtime import Runtime


class Runtimes:
    """The runtimes of one app, by process."""

    def __init__(self, database: str, registry: Registry, settings: Settings) -> None:
        """The settings say whether messages are sent; the database may be another one than theirs."""
        self._settings = settings
        self._database = database
        self.registry = registry
        self._by_process: dict[int, Runtime] = {}
        self._meter: AppMeter | None = None

    def here(self) -> "Runtime":
        """This process's runtime. A parent's stays referenced, so that nothing closes it here."""
        process = os.getpid()
        found = self._by_process.get(process)
        return found or self._by_process.setdefault(process, self._new_runtime())

    def metered(self) -> "AppMeter":
        """What counts the calls of the stores that are opened from now on."""
        if self._meter is None:
            from tenure.surfaces.library.app_metrics import AppMeter

            self._meter = AppMeter()
        return self._meter

    def exchange(self, database: str, by_process: "dict[int, Runtime]") -> "tuple[str, dict[int, Runtime]]":
        """Use another database, with runtimes on it, from now on; returns what was used before."""
        before = self._database, self._by_process
        self._database, self._by_process = database, by_process
        return before

    def _new_runtime(self) -> "Runtime":
        from tenure.surfaces.library.runtime import Runtime

        return Runtime(self._database, self.registry, self._settings, lambda: self._meter)
