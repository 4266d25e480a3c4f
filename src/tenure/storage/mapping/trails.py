"""Between trails of attempts and the columns of both stores."""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from tenure.core.errors import InvalidInput
from tenure.core.model.lease import Lease
from tenure.core.model.trail import Logged, LogLine, Note, Recorded, Trail
from tenure.core.values.bounds import LARGEST_BATCH, LARGEST_LOG, LARGEST_NUMBER, LARGEST_TRAIL, whole
from tenure.storage.mapping.values import Row

_encode = msgspec.json.Encoder().encode


class TrailRows(Struct, frozen=True):
    """The lines and notes of one call under one lease; of several lines with one number the first counts."""

    lease: Lease
    lines: dict[int, LogLine]
    notes: list[Note]


def trail_rows(trails: Sequence[Trail]) -> list[TrailRows]:
    """Trails merged by lease, in the order of leases."""
    check(trails)
    by_lease: dict[Lease, TrailRows] = {}
    for trail in trails:
        one = by_lease.setdefault(trail.lease, TrailRows(trail.lease, {}, []))
        one.notes.extend(trail.notes)
        for line in trail.lines:
            one.lines.setdefault(line.n, line)
    return [by_lease[lease] for lease in sorted(by_lease)]


def check(trails: Sequence[Trail]) -> None:
    """Refuse what is too much for one transaction."""
    parts = sum(trail.parts for trail in trails)
    if parts > LARGEST_BATCH or len(trails) > LARGEST_BATCH:
        remedy = f"give at most {LARGEST_BATCH:,}"
        raise InvalidInput(
            "trails", f"has {len(trails):,} entries with {parts:,} lines and notes in one call", remedy
        )
    size = sum(trail.size for trail in trails)
    if size > LARGEST_TRAIL:
        raise InvalidInput(
            "trails", f"has {size:,} characters in one call", f"give at most {LARGEST_TRAIL:,}"
        )


def written_notes(notes: Sequence[Note]) -> str | None:
    """Notes as JSON, [type, payload] each; None without notes."""
    return _encode([(note.type, note.payload) for note in notes]).decode() if notes else None


def recorded_from(given: Iterable[TrailRows], rows: Iterable[Row]) -> Recorded:
    """The answer to trails; a lease that is not among the rows is lost."""
    held = {Lease(row["job"], row["fence"]): row for row in rows}
    return Recorded(
        lost=frozenset(one.lease for one in given if one.lease not in held),
        full=frozenset(lease for lease, row in held.items() if row["is_full"]),
        locked=frozenset(lease for lease, row in held.items() if row["is_locked"]),
    )


def check_limit(limit: int) -> None:
    """Refuse to read no log line, or more than one read may return."""
    whole("limit", limit, 1, LARGEST_LOG)


def span(fence: int | None, after: tuple[int, int] | None, limit: int) -> dict[str, int]:
    """Behind which line a read of the log begins, and its last fence."""
    check_limit(limit)
    first, last = after or (0, 0), LARGEST_NUMBER
    whole("after", first[0], 0, LARGEST_NUMBER)
    whole("after", first[1], 0, 2**31 - 1)
    if fence is not None:
        whole("fence", fence, 0, LARGEST_NUMBER)
        first, last = max(first, (fence, 0)), fence
    return {"after_fence": first[0], "after_n": first[1], "last_fence": last, "limit": limit}


def logged_from(row: Row) -> Logged:
    """A row of `logs`."""
    return Logged(row["fence"], LogLine(row["n"], row["at"], row["level"], row["text"], row["fields"]))
