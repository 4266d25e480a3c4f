"""A real store, in whose verbs somebody interferes: they are held up, or fail before they are asked."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

from tenure.storage.contract import Store

Interference = Callable[[Callable[..., Awaitable[Any]]], Callable[..., Awaitable[Any]]]


class Meddled:
    """Passes every verb on, those with an interference through that."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.interferences: dict[str, Interference] = {}

    def __getattr__(self, verb: str) -> Any:
        asked = getattr(self._store, verb)
        if verb in self.interferences:
            return self.interferences[verb](asked)
        return asked

    @property
    def seen(self) -> Store:
        """The same, as whoever is given a store sees it."""
        return cast("Store", self)
