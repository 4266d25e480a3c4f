"""The judge: one pure function over the evidence of a run, made of one small function an invariant."""

from collections.abc import Callable, Iterable
from uuid import UUID

from msgspec import Struct

from chaos.evidence import Evidence


class Violation(Struct, frozen=True, order=True):
    """A promise that was broken: which, by what job (None: by the run as a whole), and how that shows."""

    invariant: str
    job: UUID | None
    message: str


Invariant = Callable[[Evidence], Iterable[tuple[UUID | None, str]]]
"""What it finds broken: the job, if it is one, and how that shows."""

INVARIANTS: dict[str, Invariant] = {}


def check(evidence: Evidence) -> list[Violation]:
    """Every violation that the evidence shows, by invariant."""
    return [
        Violation(number, job, message)
        for number, invariant in INVARIANTS.items()
        for job, message in invariant(evidence)
    ]
