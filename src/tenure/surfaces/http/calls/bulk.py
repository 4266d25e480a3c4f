"""The control API's bulk calls: cancel, replay or purge all jobs of a filter, so many per request."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import UnsetType

from tenure.api import inputs
from tenure.api.bulk_shapes import CancelAllBody, FilterBody, PurgeBody, ReplayAllBody, SweepItem
from tenure.api.shapes import given
from tenure.core.errors import InvalidInput
from tenure.core.model.states import DEAD_LETTERS, FINAL, UNFINISHED, State
from tenure.core.reports.reading import Filter
from tenure.engine.client.bulk import BulkResult
from tenure.surfaces.http.app import cursors
from tenure.surfaces.http.app.caller import Caller
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import invalid
from tenure.surfaces.http.calls.operate import reason_of


async def cancel_all(context: AppContext, request: Request) -> Response:
    """Ask the jobs of a filter to stop; without a status, all that have not ended."""
    body: CancelAllBody = request.body
    which = _filter(body, request.caller, UNFINISHED, "that has not ended")
    list_id = _list_id("cancel", which)
    swept = await context.client.bulk.cancel(
        which,
        after=_after(body, list_id),
        limit=body.limit,
        dry=body.dry_run,
        actor=request.caller.actor,
        reason=reason_of(body),
    )
    return _answer(swept, list_id)


async def replay_all(context: AppContext, request: Request) -> Response:
    """Run the finished jobs of a filter again, as new jobs; without a status, the failed and buried ones."""
    body: ReplayAllBody = request.body
    which = _filter(body, request.caller, FINAL, "that has ended")
    list_id = _list_id("replay", which)
    swept = await context.client.bulk.replay(
        which, after=_after(body, list_id), limit=body.limit, dry=body.dry_run, key=given(body.replay_key)
    )
    return _answer(swept, list_id)


async def purge(context: AppContext, request: Request) -> Response:
    """Delete the dead letters of a filter that ended before a time."""
    body: PurgeBody = request.body
    which = _filter_of(body.filter, request.caller, DEAD_LETTERS, "that is a dead letter")
    ended_before = _moment(body.ended_before, "/endedBefore")
    list_id = _list_id("purge", which)
    swept = await context.client.bulk.purge(
        which,
        ended_before=ended_before,
        keyed=body.keyed,
        after=_after(body, list_id),
        limit=body.limit,
        dry=body.dry_run,
    )
    return _answer(swept, list_id)


def target(request: Request) -> str:
    """The filter of a bulk call in a few words, for the audit log: its path names no job."""
    body: CancelAllBody | ReplayAllBody | PurgeBody = request.body
    fields = {name: value for name, value in msgspec.to_builtins(body.filter).items() if value}
    words = [f"{name}={','.join(value) if name == 'status' else value}" for name, value in fields.items()]
    if isinstance(body, PurgeBody):
        words += [f"endedBefore={body.ended_before}", *(["keyed"] if body.keyed else [])]
    return " ".join([*(["dry run:"] if body.dry_run else []), *(words or ["all"])])


def _filter(
    body: CancelAllBody | ReplayAllBody, caller: Caller, meant: Collection[State], which: str
) -> Filter:
    if body.filter == FilterBody() and not body.all:
        raise invalid(
            "validation", "is empty, which means every job; confirm that with all: true", pointer="/filter"
        )
    return _filter_of(body.filter, caller, meant, which)


def _filter_of(given_filter: FilterBody, caller: Caller, meant: Collection[State], which: str) -> Filter:
    for place, state in enumerate(given_filter.status):
        if state not in meant:
            problem = f"is {state}; name only states of a job {which}"
            raise invalid("validation", problem, pointer=f"/filter/status/{place}")
    return Filter(
        states=frozenset(given_filter.status),
        definition=given(given_filter.definition_key),
        queue=given(given_filter.queue),
        tag=given(given_filter.tag),
        fingerprint=given(given_filter.fingerprint),
        namespace=caller.namespace,
        created_after=_bound(given_filter.created_after, "/filter/createdAfter"),
        created_before=_bound(given_filter.created_before, "/filter/createdBefore"),
    )


def _bound(text: str | UnsetType, pointer: str) -> datetime | None:
    return None if isinstance(text, UnsetType) else _moment(text, pointer)


def _moment(text: str, pointer: str) -> datetime:
    try:
        return inputs.bound(text)
    except InvalidInput as error:
        raise invalid("datetime", error.problem, pointer=pointer) from None


def _list_id(verb: str, which: Filter) -> bytes:
    return msgspec.json.encode([verb, which], order="deterministic")


def _after(body: CancelAllBody | ReplayAllBody | PurgeBody, list_id: bytes) -> UUID | None:
    return None if isinstance(body.cursor, UnsetType) else cursors.read_job(body.cursor, list_id)


def _answer(swept: BulkResult, list_id: bytes) -> Response:
    following = None if swept.next is None else cursors.write(swept.next.bytes, list_id)
    return Response(
        200,
        SweepItem(
            matched=swept.matched,
            changed=swept.changed,
            remaining=following is not None,
            next_cursor=following,
        ),
    )
