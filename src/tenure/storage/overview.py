"""What a store tells of jobs taken together, and how its rows become values; part of the storage contract.

None of these verbs counts history: they read running totals, or look at a bounded number of rows.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Protocol
from uuid import UUID

import msgspec

from tenure.core.bounds import LARGEST_FEED
from tenure.core.failures import MOST_COUNTED, Count, DeadGroup, DeadGroups, Struggling, Trouble
from tenure.core.flow import Flow, Flows
from tenure.core.lease import Line
from tenure.core.pace import Lengths, Pace, Paces
from tenure.core.reading import Filter
from tenure.core.states import DEAD_LETTERS, State
from tenure.storage.values import Row, failure_of

LARGEST_GROUPS = 200
"""How many groups of dead letters one reading may bring."""

MOST_GROUPS = 10_000
"""Among so many groups the latest are looked for."""

OFTEN = 3
"""Who has failed so often struggles."""

FEW = 10
"""How many of those are named."""

BEHIND = 10_000
"""How many jobs of a namespace are looked at beyond those that may be unfinished."""

_DIGITS = len(":000000000000")
_ended = msgspec.json.Decoder(dict[State, int]).decode
_lengths = msgspec.json.Decoder(dict[int, int]).decode


class OverviewStore(Protocol):
    """The verbs for operators who look at the whole."""

    async def counts(self, which: Filter) -> dict[State, Count]:
        """How many jobs are in each state, whatever states the filter names.

        Exact where it names no more than a definition, a version and a queue. Else so many as there are among
        the newest thousand that come into question; `is_more` when these are not all.
        """

    async def dead_letters(self, *, limit: int = 50) -> DeadGroups:
        """Dead letters by what they died of, the groups with the latest first; at most 200.

        A group is counted up to a thousand. With more than ten thousand groups not all are looked at.
        """

    async def note_pace(self, *, waits: Lengths, runs: Lengths) -> bool:
        """Put on record how many jobs have ever ended; `waits` and `runs` are of those of the last minute.

        Once a minute: answers whether nobody had done it yet. Minutes of over 25 hours ago are forgotten.
        """

    async def paces(self, since: timedelta) -> Paces:
        """The minutes on record, as far back as asked; jobs that were removed still count as ended."""

    async def unfinished(self, namespace: str, *, most: int) -> int:
        """How many jobs of a namespace have not ended, counted up to `most`; none of the usual namespace.

        Only among its newest: jobs behind `most` and ten thousand others are not looked at.
        """

    async def flows(self, *, limit: int = LARGEST_FEED) -> Flows:
        """What passed through each queue in the last minute, by the last so many jobs and events."""

    async def trouble(self, lately: timedelta) -> Trouble:
        """What goes wrong: jobs that fail again and again, leases that ran out, and who has died `lately`."""


def is_of_lines(which: Filter) -> bool:
    """Whether a filter means lines as a whole, but for the states."""
    rest = (which.tag, which.fingerprint, which.namespace, which.created_after, which.created_before)
    return all(part is None for part in rest)


def named_by(which: Filter) -> dict[str, str | int | bool | None]:
    """What the statement `counts` is given."""
    named = {"queue": which.queue, "definition": which.definition, "version": which.version}
    return {**named, "all": all(part is None for part in named.values())}


def totals_from(rows: Iterable[Row]) -> dict[State, Count]:
    """The rows of `counts`."""
    found = {State(row["state"]): Count(row["n"]) for row in rows}
    return {state: found.get(state, Count(0)) for state in State}


def counted(
    which: Filter, looked_at: Sequence[tuple[UUID, bool, str | None]], budget: int
) -> dict[State, Count]:
    """Of the jobs looked at those that match, by state; there are more where the budget was used up."""
    found = Counter(state for _, matches, state in looked_at if matches and state)
    possible = State if which.fingerprint is None else DEAD_LETTERS
    is_more = len(looked_at) >= budget
    return {state: Count(found[state], is_more and state in possible) for state in State}


def written(lengths: Lengths) -> str:
    """Lengths by class as JSON."""
    return msgspec.json.encode(lengths).decode()


def paces_from(rows: Iterable[Row]) -> Paces:
    """The rows of `paces`."""
    now, *minutes = rows
    return Paces(now["at"], _ended(now["ended"]), [_pace_from(row) for row in minutes])


def _pace_from(row: Row) -> Pace:
    return Pace(row["minute_at"], _ended(row["ended"]), _lengths(row["waits"]), _lengths(row["runs"]))


def flows_from(rows: Iterable[Row]) -> Flows:
    """The rows of `flows`."""
    known, *queues = sorted(rows, key=lambda row: row["queue"] or "")
    by_queue = {row["queue"]: Flow(row["enqueued"], row["started"], row["finished"]) for row in queues}
    return Flows(known["at"], known["born_at"], known["stepped_at"], by_queue)


def groups_from(rows: Sequence[Row], limit: int) -> DeadGroups:
    """The rows of `dead_letters`, which was asked for one group more."""
    return DeadGroups([_group_from(row) for row in rows[:limit]], len(rows) > limit)


def trouble_from(rows: Iterable[Row]) -> Trouble:
    """The rows of `trouble`."""
    whole, *rest = rows
    return Trouble(
        at=whole["at"],
        struggling=[
            Struggling(
                job=row["job"],
                line=Line(row["queue"], row["definition"], row["version"]),
                failures=row["failures"],
                max_attempts=row["max_attempts"],
                due_at=row["due_at"],
            )
            for row in rest
        ],
        overdue=whole["overdue"],
        dead=_bounded(whole["dead"]),
    )


def asked_groups() -> Mapping[str, int]:
    """How far groups of dead letters are looked at."""
    return {"most_groups": MOST_GROUPS, "most": MOST_COUNTED + 1}


def _group_from(row: Row) -> DeadGroup:
    fingerprint, error = row["fingerprint"], row["error"]
    return DeadGroup(
        fingerprint=fingerprint,
        definition=fingerprint[:-_DIGITS],
        count=_bounded(row["n"]),
        newest=row["newest_at"],
        oldest=row["oldest_at"],
        job=row["job"],
        error=failure_of(error) if error else None,
    )


def _bounded(n: int) -> Count:
    return Count(min(n, MOST_COUNTED), n > MOST_COUNTED)
