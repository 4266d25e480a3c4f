"""The judge: one pure function over the evidence of a run, made of one small function an invariant."""

from uuid import UUID

from msgspec import Struct

from chaos.casebook import Casebook
from chaos.evidence import Evidence
from chaos.invariants import (
    accepted,
    attempts,
    cancelling,
    hooks,
    keys,
    leases,
    leftovers,
    messages,
    privacy,
    progress,
    record,
    serving,
    ticks,
    timing,
)

_THEMES = (
    accepted,
    keys,
    record,
    leases,
    attempts,
    timing,
    cancelling,
    serving,
    leftovers,
    privacy,
    ticks,
    messages,
    hooks,
    progress,
)

INVARIANTS = {
    invariant.__name__.partition("_")[0].upper(): invariant
    for theme in _THEMES
    for invariant in theme.INVARIANTS
}
"""By number."""


class Violation(Struct, frozen=True):
    """A promise that was broken: which, by what job (None: by the run as a whole), and how that shows."""

    invariant: str
    job: UUID | None
    message: str


def check(evidence: Evidence) -> list[Violation]:
    """Every violation that the evidence shows."""
    book = Casebook(evidence)
    return [
        Violation(number, job, message)
        for number, invariant in INVARIANTS.items()
        for job, message in invariant(book)
    ]
