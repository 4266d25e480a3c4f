"""The bodies that act on all jobs of a filter."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from tenure.api.shapes import Cursor, Key, Moment, Name, Reason
from tenure.core.model.states import State
from tenure.core.values.bounds import LARGEST_SWEEP
from tenure.core.values.fingerprint import PATTERN

_MOST_STATES = len(State)
Fingerprint = Annotated[str, Meta(pattern=PATTERN)]


class FilterBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Which jobs, as in the list: every field must match, and of several states any."""

    status: Annotated[tuple[State, ...], Meta(min_length=1, max_length=_MOST_STATES)] = ()
    definition_key: Name | UnsetType = UNSET
    queue: Name | UnsetType = UNSET
    tag: Name | UnsetType = UNSET
    fingerprint: Fingerprint | UnsetType = UNSET
    created_after: Moment | UnsetType = UNSET
    created_before: Moment | UnsetType = UNSET


class CancelAllBody(Reason, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Which jobs to stop. An empty filter means every job, and needs `all` to confirm it."""

    filter: FilterBody = FilterBody()
    all: bool = False
    dry_run: bool = False
    limit: Annotated[int, Meta(ge=1, le=LARGEST_SWEEP)] = LARGEST_SWEEP
    cursor: Cursor | UnsetType = UNSET


class ReplayAllBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Which jobs to run again. With a `replayKey`, a repeated request replays no job twice."""

    filter: FilterBody = FilterBody()
    all: bool = False
    dry_run: bool = False
    limit: Annotated[int, Meta(ge=1, le=LARGEST_SWEEP)] = LARGEST_SWEEP
    cursor: Cursor | UnsetType = UNSET
    replay_key: Key | UnsetType = UNSET


class PurgeBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Which dead letters to delete: those that ended before `endedBefore`, and that match the filter.

    Jobs whose idempotency key still counts stay, unless `keyed`: their keys are free then.
    """

    ended_before: Moment
    filter: FilterBody = FilterBody()
    keyed: bool = False
    dry_run: bool = False
    limit: Annotated[int, Meta(ge=1, le=LARGEST_SWEEP)] = LARGEST_SWEEP
    cursor: Cursor | UnsetType = UNSET


class SweepItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """How many jobs matched and changed. While `remaining`, repeat the request with the cursor."""

    matched: int
    changed: int
    remaining: bool
    next_cursor: str | None
