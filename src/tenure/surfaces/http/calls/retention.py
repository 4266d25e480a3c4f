"""The control API's calls about how long finished jobs are kept."""

from tenure.api.retention_shapes import (
    RetentionBody,
    RetentionForAllBody,
    RetentionTrialBody,
    change_of,
    item_of,
    removed_item,
    view,
)
from tenure.core.errors import UnknownDefinition
from tenure.core.reports.retention import FOR_ALL, PARTS
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal

LONGEST_LOOK = 45.0
"""Seconds after which a dry run answers with what it has counted so far."""


async def retention(context: AppContext, _request: Request) -> Response:
    """All that is set."""
    return Response(200, view(await context.client.retention.get()))


async def put_for_all(context: AppContext, request: Request) -> Response:
    """Set how long jobs are kept, of all definitions without times of their own."""
    body: RetentionForAllBody = request.body
    policy = await context.client.retention.set(FOR_ALL, change_of(body), by=request.caller.name)
    return Response(200, item_of(policy, FOR_ALL))


async def put(context: AppContext, request: Request) -> Response:
    """Set how long jobs of a definition are kept."""
    body: RetentionBody = request.body
    key = request.path["key"]
    try:
        policy = await context.client.retention.set(key, change_of(body), by=request.caller.name)
    except UnknownDefinition:
        raise _unknown() from None
    return Response(200, item_of(policy, key))


async def delete(context: AppContext, request: Request) -> Response:
    """Keep jobs of a definition as long as those of all; if they are already, nothing changes."""
    key = request.path["key"]
    try:
        policy = await context.client.retention.reset(key, PARTS, by=request.caller.name)
    except UnknownDefinition:
        raise _unknown() from None
    return Response(200, item_of(policy, key))


async def dry_run(context: AppContext, request: Request) -> Response:
    """Count what would go if these times were set; nothing is set, and nothing goes."""
    body: RetentionTrialBody = request.body
    tried = {part: time for part, time in change_of(body).items() if time is not None}
    try:
        foreseen = await context.client.retention.foresee(
            body.definition_key or FOR_ALL, tried, within=LONGEST_LOOK
        )
    except UnknownDefinition:
        raise _unknown() from None
    removed, is_whole = foreseen
    return Response(200, removed_item(removed.counts, removed.log_lines, dry=True, complete=is_whole))


def trial(request: Request) -> str:
    """What is tried, for the audit log."""
    body: RetentionTrialBody = request.body
    return f"dry run: {_told(body.definition_key or 'all definitions', body)}"


def target(request: Request) -> str:
    """What is set, for the audit log: the path does not tell."""
    return _told(request.path.get("key", "all definitions"), request.body)


def _told(which: str, body: RetentionBody | RetentionForAllBody | RetentionTrialBody) -> str:
    times = [
        f"{part}={'-' if value is None else f'{value.total_seconds():.15g}s'}"
        for part, value in change_of(body).items()
    ]
    return " ".join([which, *times])


def _unknown() -> Refusal:
    return Refusal("not-found", "there is no definition with this key")
