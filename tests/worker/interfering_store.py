"""A real store whose verbs can be held up, or made to fail before they are called."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

from tenure.storage.contract.store import Store

Interference = Callable[[Callable[..., Awaitable[Any]]], Callable[..., Awaitable[Any]]]


class InterferingStore:
    """Passes every call on, through the interference for its verb if there is one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.interferences: dict[str, Interference] = {}

    def __getattr__(self, verb: str) -> Any:
        call = getattr(self._store, verb)
        if verb in self.interferences:
            return self.interferences[verb](call)
        return call

    @property
    def store(self) -> Store:
        """Itself, typed as a store."""
        return cast("Store", self)
