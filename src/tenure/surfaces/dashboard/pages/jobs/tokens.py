"""What narrows a list: a token for each word in force, with the list without it; and its states as tabs."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from tenure.core.model.states import DEAD_LETTERS, State
from tenure.core.reports.failures import Count
from tenure.surfaces.dashboard.looks import WORDS
from tenure.surfaces.dashboard.pages.jobs.list_query import Listing
from tenure.surfaces.dashboard.pages.jobs.search import written

ALWAYS_SHOWN = frozenset({State.QUEUED, State.RUNNING, State.RETRYING, State.SUCCEEDED, State.FAILED})
"""States whose tab is there even without jobs: one that came and went would move the others about."""

_LABELS = {
    "": "definition",
    "after": "created after",
    "before": "created before",
    "fingerprint": "cause",
    "signal": "waits for signal",
}


class Token(Struct, frozen=True):
    """A word in force with its value, and the list without it."""

    label: str
    value: str
    href: str


class Tab(Struct, frozen=True):
    """A state to filter the list by; without a state, all of them."""

    state: State | None
    count: Count | None
    href: str
    is_on: bool


def tokens(listing: Listing) -> list[Token]:
    """The words of a list's search."""
    parts = listing.search.parts
    return [
        Token(
            _LABELS.get(word, word.replace("param.", "param ")),
            value,
            listing.with_search(written([*parts[:place], *parts[place + 1 :]])),
        )
        for place, (word, value) in enumerate(parts)
    ]


def tabs(listing: Listing, counts: Mapping[State, Count] | None) -> list[Tab]:
    """The states to filter by; all of them, without numbers, where nothing was counted."""
    shown = [
        state
        for state in State
        if counts is None or counts[state].n or state in ALWAYS_SHOWN or state in listing.states
    ]
    every = Tab(None, _total(counts, State), listing.with_states([]), not listing.states)
    return [every, *(_tab(listing, state, counts) for state in shown)]


def _tab(listing: Listing, state: State, counts: Mapping[State, Count] | None) -> Tab:
    count = None if counts is None else counts[state]
    return Tab(state, count, listing.with_states([state]), state in listing.states)


def total(listing: Listing, counts: Mapping[State, Count] | None) -> Count | None:
    """How many jobs match a list, as far as that was counted."""
    return _total(counts, listing.states or State)


def states_text(states: Sequence[State]) -> str:
    """The states of a list in words: `failed`, `dead`, `queued or running`."""
    if frozenset(states) == DEAD_LETTERS:
        return "dead"
    return " or ".join(WORDS[state] for state in states)


def _total(counts: Mapping[State, Count] | None, states: Sequence[State] | type[State]) -> Count | None:
    if counts is None:
        return None
    found = [counts[state] for state in states]
    return Count(sum(one.n for one in found), any(one.is_more for one in found))
