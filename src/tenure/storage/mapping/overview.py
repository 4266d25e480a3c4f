"""From rows of both stores to totals: counts, dead letters, pace, flow, trouble."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from uuid import UUID

import msgspec

from tenure.core.model.lease import Line, Progress
from tenure.core.model.states import DEAD_LETTERS, State
from tenure.core.reports.failures import MOST_COUNTED, Count, DeadGroup, DeadGroups, Struggling, Trouble
from tenure.core.reports.flow import Flow, Flows
from tenure.core.reports.pace import DetailedPace, Lengths, Pace, PaceDetail, Paces
from tenure.core.reports.reading import Filter, RunningJob
from tenure.storage.mapping.job_rows import failure_of
from tenure.storage.mapping.values import Row

LARGEST_GROUPS = 200
"""How many groups of dead letters one read may return."""

MOST_GROUPS = 10_000
"""Among how many groups the latest are looked for."""

OFTEN = 3
"""A job that has failed so often is struggling."""

FEW = 10
"""How many struggling jobs are listed."""

BEHIND = 10_000
"""How many jobs of a namespace are read beyond those that may be unfinished."""

DRAWN = timedelta(hours=24)
"""Over how long `dead_letter_hours` tells when dead letters ended."""

MOST_LEASES = 2_000
"""Among how many leases, the oldest, those are looked for that run longest."""

_DIGITS = len(":000000000000")
_ended = msgspec.json.Decoder(dict[State, int]).decode
_hours = msgspec.json.Decoder(dict[int, int]).decode
_detail = msgspec.json.Decoder(PaceDetail).decode
_progress = msgspec.json.Decoder(Progress).decode
_lengths = msgspec.json.Decoder(dict[int, int]).decode


def is_of_lines(which: Filter) -> bool:
    """Whether a filter selects whole lines, apart from states."""
    words = (which.tag, which.fingerprint, which.waiting_for, which.namespace)
    rest = (*words, which.created_after, which.created_before)
    return all(part is None for part in rest)


def named_by(which: Filter) -> dict[str, str | int | bool | None]:
    """The values of the statement `counts`."""
    named = {"queue": which.queue, "definition": which.definition, "version": which.version}
    return {**named, "all": all(part is None for part in named.values())}


def totals_from(rows: Iterable[Row]) -> dict[State, Count]:
    """The rows of `counts`."""
    found = {State(row["state"]): Count(row["n"]) for row in rows}
    return {state: found.get(state, Count(0)) for state in State}


def counted(
    which: Filter, looked_at: Sequence[tuple[UUID, bool, str | None]], budget: int
) -> dict[State, Count]:
    """Of the jobs read those that match, by state; there may be more if the budget was used up."""
    found = Counter(state for _, matches, state in looked_at if matches and state)
    possible = State if which.fingerprint is None else DEAD_LETTERS
    is_more = len(looked_at) >= budget
    return {state: Count(found[state], is_more and state in possible) for state in State}


def written(lengths: Lengths) -> str:
    """A histogram as JSON."""
    return msgspec.json.encode(lengths).decode()


def paces_from(rows: Iterable[Row]) -> Paces:
    """The rows of `paces`."""
    now, *minutes = rows
    return Paces(now["at"], _ended(now["ended"]), [_pace_from(row) for row in minutes])


def detail_written(detail: PaceDetail | None) -> str | None:
    """A detail as JSON."""
    return None if detail is None else msgspec.json.encode(detail).decode()


def detailed_from(row: Row) -> DetailedPace:
    """A row of `pace_details`."""
    return DetailedPace(row["minute_at"], _ended(row["ended"]), _detail(row["detail"]))


def _pace_from(row: Row) -> Pace:
    return Pace(row["minute_at"], _ended(row["ended"]), _lengths(row["waits"]), _lengths(row["runs"]))


def running_from(row: Row) -> RunningJob:
    """A row of `longest_running`."""
    return RunningJob(
        job=row["job"],
        definition=row["definition"],
        state=State(row["state"]),
        started_at=row["started_at"],
        worker=row["worker"],
        progress=_progress(row["progress"]) if row["progress"] else None,
    )


def flows_from(rows: Iterable[Row]) -> Flows:
    """The rows of `flows`."""
    known, *queues = sorted(rows, key=lambda row: row["queue"] or "")
    by_queue = {row["queue"]: Flow(row["enqueued"], row["started"], row["finished"]) for row in queues}
    return Flows(known["at"], known["born_at"], known["stepped_at"], by_queue)


def groups_from(rows: Sequence[Row], limit: int) -> DeadGroups:
    """The rows of `dead_letters`, which was run with a limit of one more group."""
    return DeadGroups([_group_from(row) for row in rows[:limit]], len(rows) > limit)


def hours_from(rows: Iterable[Row]) -> dict[str, dict[int, int]]:
    """The rows of `dead_letter_hours`."""
    return {row["fingerprint"]: _hours(row["hours"] or "{}") for row in rows}


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


def group_bounds() -> Mapping[str, int]:
    """Up to how many groups of dead letters are read and counted."""
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
