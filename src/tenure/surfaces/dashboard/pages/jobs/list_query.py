"""A list of jobs as its address names it: a search, states, an order."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from tenure.core.model.states import State
from tenure.core.reports.reading import Filter
from tenure.surfaces.dashboard.pages.addresses import list_address
from tenure.surfaces.dashboard.pages.jobs.search import Search


class Listing(Struct, frozen=True):
    """A list: its search, its states and its order."""

    search: Search
    states: tuple[State, ...]
    newest_first: bool = True

    def address(self, **more: str | int | None) -> str:
        """The address of this list, with more parameters."""
        sort = None if self.newest_first else "createdAt"
        return list_address(q=self.search.text, status=self.states, sort=sort, **more)

    def with_states(self, states: Sequence[State]) -> str:
        """The address of the list for other states."""
        return msgspec.structs.replace(self, states=tuple(states)).address()

    def with_search(self, text: str) -> str:
        """The address of the list for another search in the same states."""
        sort = None if self.newest_first else "createdAt"
        return list_address(q=text, status=self.states, sort=sort)

    def reversed(self) -> str:
        """The address of the same list in the opposite order."""
        return msgspec.structs.replace(self, newest_first=not self.newest_first).address()

    def filter(self, namespace: str | None) -> Filter:
        """The filter for its jobs."""
        return self.search.filter(frozenset(self.states), namespace)

    def wide_filter(self, namespace: str | None) -> Filter:
        """The filter without the words that no index has."""
        return self.search.wide_filter(frozenset(self.states), namespace)
