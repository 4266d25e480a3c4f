"""Which runtime a process has. What one needs is loaded with the first: a handler's process has none."""

import os
from typing import TYPE_CHECKING

from tenure.engine.registry import Registry

if TYPE_CHECKING:
    from tenure.surfaces.library.runtime import Runtime


class Runtimes:
    """The runtime of whatever process asks."""

    def __init__(self, database: str, registry: Registry) -> None:
        self._database = database
        self._registry = registry
        self._by_process: dict[int, Runtime] = {}

    def here(self) -> "Runtime":
        """This process's own. Those of a parent stay untouched, and are kept so that nothing closes them."""
        process = os.getpid()
        made = self._by_process.get(process)
        return made or self._by_process.setdefault(process, self._made())

    def _made(self) -> "Runtime":
        from tenure.surfaces.library.runtime import Runtime

        return Runtime(self._database, self._registry)
