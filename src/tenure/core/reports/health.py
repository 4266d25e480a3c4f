"""What an examination of a store and of its host finds: facts, and symptoms with their cure."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct


class Fact(Struct, frozen=True):
    """Something that was looked at, in words; whether it is good or bad is not said."""

    name: str
    value: str


class Symptom(Struct, frozen=True, kw_only=True, rename="camel"):
    """Something that is wrong: what, since when as far as that is known, and what to do.

    `kind` is a stable short name. `needs_person` is false for what is good to know and may stay as it is.
    `job`, or `definition` and `queue`, say what it is about, if it is about one of these.
    """

    kind: str
    what: str
    cure: str
    since: datetime | None = None
    needs_person: bool = True
    job: UUID | None = None
    definition: str | None = None
    queue: str | None = None


class Checkup(Struct, frozen=True):
    """What one examination has found."""

    facts: Sequence[Fact] = ()
    symptoms: Sequence[Symptom] = ()
