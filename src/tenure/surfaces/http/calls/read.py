"""The control API's calls to read jobs: lists, one job, its attempts, logs, events and result."""

from collections.abc import Callable, Sequence
from struct import pack
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, structs

from tenure.api import views
from tenure.api.dialects.dialect import Dialect
from tenure.api.shapes import Attempts, Events, Logs, Result
from tenure.api.why_shapes import why_item
from tenure.core.model.job import Event, Job
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter, Listed
from tenure.core.values.documents import NULL
from tenure.surfaces.http.app import cursors
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.first_of import until_first
from tenure.surfaces.http.app.problems import Refusal
from tenure.surfaces.http.auth.authentication import no_key
from tenure.surfaces.http.calls.create import accepted

USUAL_PAGE = 50
T = TypeVar("T")
E = TypeVar("E", bound=views.EventItem)


async def jobs(context: AppContext, request: Request) -> Response:
    """Jobs by filter, a page at a time."""
    query = request.query
    which = Filter(
        states=frozenset(query.get("status", ())),
        definition=query.get("definitionKey"),
        queue=query.get("queue"),
        tag=query.get("tag"),
        fingerprint=query.get("fingerprint"),
        waiting_for=query.get("waitingFor"),
        namespace=request.caller.namespace,
        created_after=query.get("createdAfter"),
        created_before=query.get("createdBefore"),
    )
    newest_first = query.get("sort", "-createdAt") == "-createdAt"
    list_id = _list_id(which, newest_first)
    after = cursors.read_job(query["cursor"], list_id) if "cursor" in query else None
    page = await context.client.page(
        which, after=after, newest_first=newest_first, limit=query.get("limit", USUAL_PAGE)
    )
    dialect = query.get("vocabulary")
    return Response(
        200,
        views.JobPage(
            items=[_worded(views.job_item(listed), listed, dialect) for listed in page.jobs],
            next_cursor=None if page.next is None else cursors.write(page.next.bytes, list_id),
        ),
    )


async def job(context: AppContext, request: Request) -> Response:
    """Everything that operators may see of one job."""
    found = await context.client.get(request.job)
    kept = await context.client.durable.kept(found)
    detail = views.job_detail(found, context.redaction, kept)
    return Response(200, _worded(detail, found, request.query.get("vocabulary")))


async def why(context: AppContext, request: Request) -> Response:
    """Why a job does not run, with the names that the caller may know."""
    found = await context.client.why(request.job, namespace=request.caller.namespace)
    return Response(200, why_item(found, context.redaction))


async def attempts(context: AppContext, request: Request) -> Response:
    """The attempts of a job, a page at a time."""
    page = _Page(request, "attempts", ">q")
    [after] = page.after or (0,)
    found = await context.client.attempts(request.job, after=after, limit=page.limit + 1)
    items = [views.attempt_item(attempt, context.redaction) for attempt in found[: page.limit]]
    return Response(200, Attempts(items=items, next_cursor=page.following(found, lambda last: (last.fence,))))


async def events(context: AppContext, request: Request) -> Response:
    """The history of a job, a page at a time."""
    page = _Page(request, "events", ">q")
    [after] = page.after or (0,)
    found = await context.client.events(request.job, after=after, limit=page.limit + 1)
    dialect = request.query.get("vocabulary")
    items = [reworded(views.event_item(event, context.redaction), event, dialect) for event in found]
    del items[page.limit :]
    return Response(200, Events(items=items, next_cursor=page.following(found, lambda last: (last.n,))))


async def logs(context: AppContext, request: Request) -> Response:
    """The logs of a job's attempts, a page at a time."""
    page = _Page(request, "logs", ">qi")
    found = await context.client.log(request.job, after=page.after, limit=page.limit + 1)
    items = [views.log_item(*entry, context.redaction) for entry in found[: page.limit]]
    place = page.following(found, lambda last: (last.fence, last.line.n))
    return Response(200, Logs(items=items, next_cursor=place))


async def result(context: AppContext, request: Request) -> Response:
    """The result of a job; with `waitSeconds` after waiting for its end, unless the server stops."""
    found = await context.client.get(request.job)
    if not found.state.is_final and request.query.get("waitSeconds"):
        await _wait(context, request)
        if not await request.is_admitted():
            raise no_key()  # valid when the wait began, but not any more
        found = await context.client.get(request.job)
    if not found.state.is_final:
        return accepted(found.id, found.state)
    if found.state is not State.SUCCEEDED:
        why = views.summary(found.error) if found.error else f"the job is {found.state}"
        raise Refusal("no-result", context.redaction.text(why)[:1000], job_status=found.state)
    body = Result(
        job_id=found.id, status=found.state, result=Raw(context.redaction.document(found.result or NULL))
    )
    return Response(200, body)


class _Page:
    """A page of what belongs to one job; its cursor holds the numbers of the last item on it.

    Numbers only grow, so that items added meanwhile come after it.
    """

    def __init__(self, request: Request, name: str, form: str) -> None:
        self._list_id = name.encode() + request.job.bytes
        self._form = form
        self.limit: int = request.query.get("limit", USUAL_PAGE)
        self.after: Any = None
        if "cursor" in request.query:
            self.after = cursors.read_numbers(request.query["cursor"], self._list_id, form)

    def following(self, found: Sequence[T], numbers: Callable[[T], tuple[int, ...]]) -> str | None:
        """The cursor of the next page, when there is one."""
        if len(found) <= self.limit:
            return None
        return cursors.write(pack(self._form, *numbers(found[self.limit - 1])), self._list_id)


async def _wait(context: AppContext, request: Request) -> None:
    """Wait until the job has ended, the time is over, the server stops or the client is gone."""
    await until_first(
        context.client.wait(request.job, request.query["waitSeconds"]),
        context.stopping.wait(),
        request.gone(),
    )


def _list_id(which: Filter, newest_first: bool) -> bytes:
    """What identifies a list in its cursors: its filter and order."""
    return msgspec.json.encode([which, newest_first], order="deterministic")


def reworded(item: E, of: Event, dialect: Dialect | None) -> E:
    """An event, with the words of a vocabulary if one is given."""
    if dialect is None:
        return item
    source, through, target = dialect.tell(of)
    return structs.replace(item, source_word=source, through_words=through, target_word=target)


def _worded(item: views.JobItem, of: Listed | Job, dialect: Dialect | None) -> views.JobItem:
    return item if dialect is None else structs.replace(item, status_word=dialect.word(of))
