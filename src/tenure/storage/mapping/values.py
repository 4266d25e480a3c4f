"""Between core values and the columns that both stores have in common.

A row here is a mapping by column name with `datetime` for times and `UUID` for ids; each store converts its
rows to that form.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

import msgspec

from tenure.core.errors import InvalidInput
from tenure.core.model.job import (
    Enqueued,
    JobStanding,
    KeysTaken,
    LapsedAttempt,
    NewJob,
    StepTaken,
)
from tenure.core.model.lease import Beat, Lease, Line, Pulse
from tenure.core.model.outcome import Settled
from tenure.core.model.states import State
from tenure.core.reports.operations import PauseScope
from tenure.core.values.bounds import CALENDAR, LARGEST_BATCH, printable, within


class Row(Protocol):
    """A row of either store."""

    def keys(self) -> Iterable[str]: ...
    def __getitem__(self, name: str, /) -> Any: ...


_encode = msgspec.json.Encoder().encode


def check_batch(jobs: Sequence[NewJob]) -> None:
    """Refuse a batch that is too large for one transaction."""
    if len(jobs) > LARGEST_BATCH:
        raise InvalidInput("jobs", f"has {len(jobs):,} jobs in one call", f"give at most {LARGEST_BATCH:,}")


def check_key(key: str | None) -> None:
    """Refuse a key that cannot be stored."""
    if key is not None:
        printable("key", key, least=1)


def following(job: UUID | None) -> UUID:
    """The first id behind a job's; without a job, the first id of all."""
    return UUID(int=min(job.int + 1, 2**128 - 1)) if job else UUID(int=0)


class RolledBack(Exception):
    """Raised inside a transaction to roll it back."""

    def __init__(self, taken: KeysTaken) -> None:
        super().__init__("a key or an id belongs to something else")
        self.taken = taken


def taken(answers: Sequence[Enqueued], known: Collection[UUID]) -> KeysTaken | None:
    """The jobs that have the keys of those to be recorded all or none; None if there is no conflict."""
    made = {answer.id for answer in answers if answer.fresh}
    by = {
        place: None if answer.id in made else answer.id
        for place, answer in enumerate(answers)
        if not answer.matches and answer.id not in known
    }
    return KeysTaken(by) if by else None


def pausing(target: PauseScope | Line | str) -> dict[str, Any]:
    """The row of a pause: what it holds."""
    scope = PauseScope.of(target)
    return {"queue": scope.queue, "definition": scope.definition, "version": scope.version}


def aware(field: str, moment: datetime | None) -> datetime | None:
    """Refuse a time without a zone."""
    if moment is not None:
        if moment.utcoffset() is None:
            raise InvalidInput(field, "has no time zone", "give an aware datetime")
        within(field, moment, *CALENDAR)
    return moment


def accepted_from(rows: Iterable[Row]) -> dict[Lease, State]:
    """The reports that counted, and the state that each led to."""
    return {Lease(row["job"], row["fence"]): State(row["state"]) for row in rows}


def settled(given: Iterable[Lease], accepted: Mapping[Lease, State]) -> Settled:
    """The answer to reports; a lease that is not among the accepted is lost."""
    return Settled(accepted, [lease for lease in dict.fromkeys(given) if lease not in accepted])


def standings(ids: Iterable[UUID], rows: Iterable[Row]) -> list[JobStanding]:
    """One answer for each job that exists, in the order given."""
    found = {row["job"]: _standing(row) for row in rows}
    return [found[job] for job in ids if job in found]


def _standing(row: Row) -> JobStanding:
    also = {name: bool(row[name]) for name in {"is_aside", "is_given_up"} & set(row.keys())}
    return JobStanding(row["job"], State(row["state"]), bool(row["moved"]), **also)


def reaped_from(rows: Iterable[Row]) -> list[StepTaken]:
    """The steps that were taken because leases had run out, and the attempts that they ended."""
    return [
        StepTaken(
            row["job"],
            State(row["source"]),
            State(row["target"]),
            LapsedAttempt(
                definition=row["definition"],
                version=row["version"],
                queue=row["queue"],
                worker=row["worker"],
                attempt=row["attempt"],
                max_attempts=row["max_attempts"],
                held_for=row["ended_at"] - row["started_at"],
                traceparent=row["traceparent"],
            ),
        )
        for row in rows
    ]


def moved_from(rows: Iterable[Row]) -> list[StepTaken]:
    """The steps that a duty took."""
    return [StepTaken(row["job"], State(row["source"]), State(row["target"])) for row in rows]


def beat_from(held: Iterable[Lease], rows: Iterable[Row]) -> Beat:
    """The answer to a pulse: a lease without a row is lost; the row without a job is the worker's own."""
    kept: dict[Lease, bool] = {}
    untold: set[Lease] = set()
    drain = False
    for row in rows:
        if row["job"] is None:
            drain = bool(row["cancelling"])
        else:
            lease = Lease(row["job"], row["fence"])
            kept[lease] = bool(row["cancelling"])
            if row["untold"]:
                untold.add(lease)
    stop = frozenset(lease for lease, cancelling in kept.items() if cancelling)
    lost = frozenset(held) - frozenset(kept)
    return Beat(kept=frozenset(kept), lost=lost, cancelling=stop, drain=drain, untold=frozenset(untold))


def progress_under(pulse: Pulse, lease: Lease) -> str | None:
    """The progress of one lease in a pulse, as JSON."""
    return _encode(pulse.progress[lease]).decode() if lease in pulse.progress else None
