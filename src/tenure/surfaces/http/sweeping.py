"""The control API's ways to act on all jobs that a filter means, a bounded number with each request."""

from collections.abc import Collection
from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from tenure.core.errors import InvalidInput
from tenure.core.fingerprint import PATTERN
from tenure.core.reading import Filter
from tenure.core.states import FINAL, UNFINISHED, State
from tenure.engine.sweeping import LARGEST_SWEEP, Swept
from tenure.surfaces import inputs
from tenure.surfaces.http import cursors
from tenure.surfaces.http.caller import Caller
from tenure.surfaces.http.desk import Answer, Asked, Desk
from tenure.surfaces.http.operating import said_reason
from tenure.surfaces.http.problems import invalid
from tenure.surfaces.http.shapes import Cursor, Key, Moment, Name, Reason, given

_MOST_STATES = len(State)
Fingerprint = Annotated[str, Meta(pattern=PATTERN)]


class FilterBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Which jobs, as in the list: all that is said must be so, and of several states any will do."""

    status: Annotated[tuple[State, ...], Meta(min_length=1, max_length=_MOST_STATES)] = ()
    definition_key: Name | UnsetType = UNSET
    queue: Name | UnsetType = UNSET
    tag: Name | UnsetType = UNSET
    fingerprint: Fingerprint | UnsetType = UNSET
    created_after: Moment | UnsetType = UNSET
    created_before: Moment | UnsetType = UNSET


class CancelAllBody(Reason, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Which jobs to stop. A filter that says nothing means every job, and is taken only with `all`."""

    filter: FilterBody = FilterBody()
    all: bool = False
    dry_run: bool = False
    limit: Annotated[int, Meta(ge=1, le=LARGEST_SWEEP)] = LARGEST_SWEEP
    cursor: Cursor | UnsetType = UNSET


class ReplayAllBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Which jobs to run again. With a `replayKey` the same request, sent again, replays no job twice."""

    filter: FilterBody = FilterBody()
    all: bool = False
    dry_run: bool = False
    limit: Annotated[int, Meta(ge=1, le=LARGEST_SWEEP)] = LARGEST_SWEEP
    cursor: Cursor | UnsetType = UNSET
    replay_key: Key | UnsetType = UNSET


class SweepItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """How many jobs were met and changed. While `remaining`, send the request again with the cursor."""

    matched: int
    changed: int
    remaining: bool
    next_cursor: str | None


async def cancel_all(desk: Desk, asked: Asked) -> Answer:
    """Ask the jobs of a filter to stop. Without a status, all that have not ended."""
    body: CancelAllBody = asked.body
    which = _filter(body, asked.caller, UNFINISHED, "that has not ended")
    bind = _bound("cancel", which)
    swept = await desk.client.sweeps.cancel(
        which,
        after=_after(body, bind),
        limit=body.limit,
        dry=body.dry_run,
        actor=asked.caller.actor,
        reason=said_reason(body),
    )
    return _answer(swept, bind)


async def replay_all(desk: Desk, asked: Asked) -> Answer:
    """Run the finished jobs of a filter again, as new ones. Without a status, the failed and buried ones."""
    body: ReplayAllBody = asked.body
    which = _filter(body, asked.caller, FINAL, "that has ended")
    bind = _bound("replay", which)
    swept = await desk.client.sweeps.replay(
        which, after=_after(body, bind), limit=body.limit, dry=body.dry_run, key=given(body.replay_key)
    )
    return _answer(swept, bind)


def target(asked: Asked) -> str:
    """Which jobs a sweep means, in a few words: none of them is named in its path."""
    body: CancelAllBody | ReplayAllBody = asked.body
    said = {name: value for name, value in msgspec.to_builtins(body.filter).items() if value}
    words = [f"{name}={','.join(value) if name == 'status' else value}" for name, value in said.items()]
    return " ".join([*(["dry run:"] if body.dry_run else []), *(words or ["all"])])


def _filter(
    body: CancelAllBody | ReplayAllBody, caller: Caller, meant: Collection[State], which: str
) -> Filter:
    said = body.filter
    for place, state in enumerate(said.status):
        if state not in meant:
            problem = f"is {state}; name only states of a job {which}"
            raise invalid("validation", problem, pointer=f"/filter/status/{place}")
    if said == FilterBody() and not body.all:
        raise invalid("validation", "names no job in particular; say so with all: true", pointer="/filter")
    return Filter(
        states=frozenset(said.status),
        definition=given(said.definition_key),
        queue=given(said.queue),
        tag=given(said.tag),
        fingerprint=given(said.fingerprint),
        namespace=caller.namespace,
        created_after=_moment(said.created_after, "createdAfter"),
        created_before=_moment(said.created_before, "createdBefore"),
    )


def _moment(text: str | UnsetType, field: str) -> datetime | None:
    if isinstance(text, UnsetType):
        return None
    try:
        return inputs.bound(text)
    except InvalidInput as error:
        raise invalid("datetime", error.problem, pointer=f"/filter/{field}") from None


def _bound(verb: str, which: Filter) -> bytes:
    return msgspec.json.encode([verb, which], order="deterministic")


def _after(body: CancelAllBody | ReplayAllBody, bind: bytes) -> UUID | None:
    return None if isinstance(body.cursor, UnsetType) else cursors.read_job(body.cursor, bind)


def _answer(swept: Swept, bind: bytes) -> Answer:
    following = None if swept.next is None else cursors.write(swept.next.bytes, bind)
    return Answer(
        200,
        SweepItem(
            matched=swept.matched,
            changed=swept.changed,
            remaining=following is not None,
            next_cursor=following,
        ),
    )
