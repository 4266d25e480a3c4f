"""The control API's bulk calls: cancel or replay all jobs of a filter, a bounded number per request."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import UnsetType

from tenure.api import inputs
from tenure.api.bulk_shapes import CancelAllBody, FilterBody, ReplayAllBody, SweepItem
from tenure.api.shapes import given
from tenure.core.errors import InvalidInput
from tenure.core.model.states import FINAL, UNFINISHED, State
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


def target(request: Request) -> str:
    """The filter of a bulk call in a few words, for the audit log: its path names no job."""
    body: CancelAllBody | ReplayAllBody = request.body
    fields = {name: value for name, value in msgspec.to_builtins(body.filter).items() if value}
    words = [f"{name}={','.join(value) if name == 'status' else value}" for name, value in fields.items()]
    return " ".join([*(["dry run:"] if body.dry_run else []), *(words or ["all"])])


def _filter(
    body: CancelAllBody | ReplayAllBody, caller: Caller, meant: Collection[State], which: str
) -> Filter:
    given_filter = body.filter
    for place, state in enumerate(given_filter.status):
        if state not in meant:
            problem = f"is {state}; name only states of a job {which}"
            raise invalid("validation", problem, pointer=f"/filter/status/{place}")
    if given_filter == FilterBody() and not body.all:
        raise invalid(
            "validation", "is empty, which means every job; confirm that with all: true", pointer="/filter"
        )
    return Filter(
        states=frozenset(given_filter.status),
        definition=given(given_filter.definition_key),
        queue=given(given_filter.queue),
        tag=given(given_filter.tag),
        fingerprint=given(given_filter.fingerprint),
        namespace=caller.namespace,
        created_after=_moment(given_filter.created_after, "createdAfter"),
        created_before=_moment(given_filter.created_before, "createdBefore"),
    )


def _moment(text: str | UnsetType, field: str) -> datetime | None:
    if isinstance(text, UnsetType):
        return None
    try:
        return inputs.bound(text)
    except InvalidInput as error:
        raise invalid("datetime", error.problem, pointer=f"/filter/{field}") from None


def _list_id(verb: str, which: Filter) -> bytes:
    return msgspec.json.encode([verb, which], order="deterministic")


def _after(body: CancelAllBody | ReplayAllBody, list_id: bytes) -> UUID | None:
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
