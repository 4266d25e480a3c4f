"""What a dialect is: another description's words for where a job stands, and the moves it knows.

Not every step of the core is a move of another description. One that is several moves there is a detour,
and one that is none is foreign; both are declared, step by step and with the reason. A step that is neither
a move nor declared is a mistake, and a test over every step finds it.
"""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from tenure.core.job import Event, Job
from tenure.core.reading import Listed
from tenure.core.states import STEPS, State

CLAIMED = next(step.event for step in STEPS if step.target is State.RUNNING)
"""The type of the event that a claim leaves."""


class Move(NamedTuple):
    """A change of words that a description has; None stands before the first."""

    source: str | None
    target: str


class Taken(NamedTuple):
    """A step of the core, by what stands on record of it."""

    source: State | None
    event: str
    target: State


class Detour(Struct, frozen=True, kw_only=True):
    """Steps that are told as several moves: the words in between, and why."""

    steps: tuple[Taken, ...]
    through: tuple[str, ...]
    why: str


class Foreign(Struct, frozen=True, kw_only=True):
    """Steps that the description has no moves for, and why they are told all the same."""

    steps: tuple[Taken, ...]
    why: str


class Told(NamedTuple):
    """An event in a dialect: from which word, through which, to which."""

    source: str | None
    through: tuple[str, ...]
    target: str | None


class Dialect(Struct, frozen=True, kw_only=True):
    """A vocabulary: its words, its moves, and the names it has for the fields of a job.

    `words` has None where there is no word. `claimed_words` are those that differ for a job that was claimed
    before. `set_by_api` are the words that the API may lead to, where the description says so.
    """

    name: str
    words: Mapping[State, str | None]
    moves: tuple[Move, ...]
    claimed_words: Mapping[State, str] = {}
    set_by_api: frozenset[str] | None = None
    detours: tuple[Detour, ...] = ()
    foreign: tuple[Foreign, ...] = ()
    fields: Mapping[str, str] = {}

    def word_at(self, state: State, *, was_claimed: bool) -> str | None:
        """The word for a job in a state."""
        word = self.claimed_words.get(state) if was_claimed else None
        return word or self.words[state]

    def word(self, job: Job | Listed) -> str | None:
        """The word for where a job stands."""
        return self.word_at(job.state, was_claimed=job.started_at is not None)

    def matching(self, word: str) -> frozenset[State]:
        """The states in which a job may be told by a word."""
        return frozenset(
            state for state in State if word in {self.words[state], self.claimed_words.get(state)}
        )

    def tell(self, event: Event) -> Told:
        """The words for an event; what a handler noted leaves the job where it is.

        An event does not say whether its job was claimed before a claim: the attempt does, unless every
        earlier one was refunded.
        """
        is_claimed = event.fence > 0
        was_claimed = event.attempt > 1 if event.type == CLAIMED else is_claimed
        source = None if event.source is None else self.word_at(event.source, was_claimed=was_claimed)
        detour = self.detour_of(Taken(event.source, event.type, event.target))
        target = self.word_at(event.target, was_claimed=is_claimed)
        return Told(source, () if detour is None else detour.through, target)

    def detour_of(self, step: Taken) -> Detour | None:
        """How a step is told, when it is several moves."""
        return next((detour for detour in self.detours if step in detour.steps), None)

    def foreign_of(self, step: Taken) -> Foreign | None:
        """Why a step is told, when it is no move."""
        return next((foreign for foreign in self.foreign if step in foreign.steps), None)


def moves(*pairs: tuple[str | None, str]) -> tuple[Move, ...]:
    """Moves by their words."""
    return tuple(Move(*pair) for pair in pairs)


def stopped(*sources: State) -> tuple[Taken, ...]:
    """The steps by which jobs in these states are cancelled."""
    return tuple(Taken(source, "cancelled", State.CANCELLED) for source in sources)


def recorded(*targets: State) -> tuple[Taken, ...]:
    """The steps by which jobs are recorded and accepted at once."""
    return tuple(Taken(None, target.value, target) for target in targets)
