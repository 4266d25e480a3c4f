"""A dialect: the words of another description for the states of a job, and the moves it allows.

Not every step of the core is a move of another description. A step that is several moves there is a detour,
and one that is no move is foreign; each is declared with its reason. A step that is neither a move nor
declared is a mistake, and a test over all steps finds it.
"""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from tenure.core.model.job import Event, Job
from tenure.core.model.states import STEPS, State
from tenure.core.reports.reading import Listed

CLAIMED = next(step.event for step in STEPS if step.target is State.RUNNING)
"""The type of the event that a claim records."""


class Move(NamedTuple):
    """A change of words that a description allows; the source of the first is None."""

    source: str | None
    target: str


class CoreStep(NamedTuple):
    """A step of the core, as its event records it."""

    source: State | None
    event: str
    target: State


class Detour(Struct, frozen=True, kw_only=True):
    """Steps that are shown as several moves: the words in between, and why."""

    steps: tuple[CoreStep, ...]
    through: tuple[str, ...]
    why: str


class Foreign(Struct, frozen=True, kw_only=True):
    """Steps that the description has no moves for, and why they are shown nevertheless."""

    steps: tuple[CoreStep, ...]
    why: str


class DialectStep(NamedTuple):
    """An event in a dialect: its first word, the words between, and its last."""

    source: str | None
    through: tuple[str, ...]
    target: str | None


class Dialect(Struct, frozen=True, kw_only=True):
    """A vocabulary: its words, its moves, and its names for the fields of a job.

    `words` has None for a state without a word. `claimed_words` are those that differ for a job that was
    claimed before. `set_by_api` are the words that the API may lead to, if the description says so.
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
        """The word for the state of a job."""
        return self.word_at(job.state, was_claimed=job.started_at is not None)

    def matching(self, word: str) -> frozenset[State]:
        """The states in which a job may be shown by a word."""
        return frozenset(
            state for state in State if word in {self.words[state], self.claimed_words.get(state)}
        )

    def tell(self, event: Event) -> DialectStep:
        """The words for an event; an event that a handler recorded does not change the state.

        The event of a claim does not say whether the job was claimed before. The number of the attempt does,
        unless every earlier one was refunded.
        """
        is_claimed = event.fence > 0
        was_claimed = event.attempt > 1 if event.type == CLAIMED else is_claimed
        source = None if event.source is None else self.word_at(event.source, was_claimed=was_claimed)
        detour = self.detour_of(CoreStep(event.source, event.type, event.target))
        target = self.word_at(event.target, was_claimed=is_claimed)
        return DialectStep(source, () if detour is None else detour.through, target)

    def detour_of(self, step: CoreStep) -> Detour | None:
        """The detour of a step that is several moves."""
        return next((detour for detour in self.detours if step in detour.steps), None)

    def foreign_of(self, step: CoreStep) -> Foreign | None:
        """The declaration of a step that is no move."""
        return next((foreign for foreign in self.foreign if step in foreign.steps), None)


def moves(*pairs: tuple[str | None, str]) -> tuple[Move, ...]:
    """Moves from pairs of words."""
    return tuple(Move(*pair) for pair in pairs)


def stopped(*sources: State) -> tuple[CoreStep, ...]:
    """The steps that cancel jobs in these states."""
    return tuple(CoreStep(source, "cancelled", State.CANCELLED) for source in sources)


def recorded(*targets: State) -> tuple[CoreStep, ...]:
    """The steps by which jobs are recorded and accepted at once."""
    return tuple(CoreStep(None, target.value, target) for target in targets)
