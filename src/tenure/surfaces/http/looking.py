"""The control API's ways to look at jobs: lists, one job, its attempts, logs, events and result."""

from collections.abc import Callable, Sequence
from struct import pack
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, structs

from tenure.core.documents import NULL
from tenure.core.job import Event, Job
from tenure.core.reading import Filter, Listed
from tenure.core.states import State
from tenure.surfaces import views
from tenure.surfaces.dialects.dialect import Dialect
from tenure.surfaces.http import cursors
from tenure.surfaces.http.creating import accepted
from tenure.surfaces.http.desk import Answer, Asked, Desk
from tenure.surfaces.http.door import no_key
from tenure.surfaces.http.problems import Refusal
from tenure.surfaces.http.shapes import Attempts, Events, Logs, Result
from tenure.surfaces.http.until import until_first

USUAL_PAGE = 50
T = TypeVar("T")
E = TypeVar("E", bound=views.EventItem)


async def jobs(desk: Desk, asked: Asked) -> Answer:
    """Jobs by what they are and where they stand, a page at a time."""
    query = asked.query
    which = Filter(
        states=frozenset(query.get("status", ())),
        definition=query.get("definitionKey"),
        queue=query.get("queue"),
        tag=query.get("tag"),
        fingerprint=query.get("fingerprint"),
        namespace=asked.caller.namespace,
        created_after=query.get("createdAfter"),
        created_before=query.get("createdBefore"),
    )
    newest_first = query.get("sort", "-createdAt") == "-createdAt"
    list_asked = _written(which, newest_first)
    after = cursors.read_job(query["cursor"], list_asked) if "cursor" in query else None
    page = await desk.client.page(
        which, after=after, newest_first=newest_first, limit=query.get("limit", USUAL_PAGE)
    )
    dialect = query.get("vocabulary")
    return Answer(
        200,
        views.JobPage(
            items=[_worded(views.job_item(listed), listed, dialect) for listed in page.jobs],
            next_cursor=None if page.next is None else cursors.write(page.next.bytes, list_asked),
        ),
    )


async def job(desk: Desk, asked: Asked) -> Answer:
    """Everything that operators see of one job."""
    found = await desk.client.get(asked.job)
    return Answer(200, _worded(views.job_detail(found, desk.redaction), found, asked.query.get("vocabulary")))


async def attempts(desk: Desk, asked: Asked) -> Answer:
    """Every start of a job, a page at a time."""
    part = _Part(asked, "attempts", ">q")
    [after] = part.after or (0,)
    found = await desk.client.attempts(asked.job, after=after, limit=part.limit + 1)
    items = [views.attempt_item(attempt, desk.redaction) for attempt in found[: part.limit]]
    return Answer(200, Attempts(items=items, next_cursor=part.following(found, lambda last: (last.fence,))))


async def events(desk: Desk, asked: Asked) -> Answer:
    """The history of a job, a page at a time."""
    part = _Part(asked, "events", ">q")
    [after] = part.after or (0,)
    found = await desk.client.events(asked.job, after=after, limit=part.limit + 1)
    dialect = asked.query.get("vocabulary")
    items = [reworded(views.event_item(event, desk.redaction), event, dialect) for event in found]
    del items[part.limit :]
    return Answer(200, Events(items=items, next_cursor=part.following(found, lambda last: (last.n,))))


async def logs(desk: Desk, asked: Asked) -> Answer:
    """What the attempts of a job wrote, a page at a time."""
    part = _Part(asked, "logs", ">qi")
    found = await desk.client.log(asked.job, after=part.after, limit=part.limit + 1)
    items = [views.log_item(*said, desk.redaction) for said in found[: part.limit]]
    place = part.following(found, lambda last: (last.fence, last.line.n))
    return Answer(200, Logs(items=items, next_cursor=place))


async def result(desk: Desk, asked: Asked) -> Answer:
    """What a job came to; with `waitSeconds` after waiting for its end, unless the server is to stop."""
    found = await desk.client.get(asked.job)
    if not found.state.is_final and asked.query.get("waitSeconds"):
        await _wait(desk, asked)
        if not await asked.is_admitted():
            raise no_key()  # it opened this when the wait began, and opens nothing now
        found = await desk.client.get(asked.job)
    if not found.state.is_final:
        return accepted(found.id, found.state)
    if found.state is not State.SUCCEEDED:
        why = views.summary(found.error) if found.error else f"the job is {found.state}"
        raise Refusal("no-result", desk.redaction.text(why)[:1000], job_status=found.state)
    body = Result(
        job_id=found.id, status=found.state, result=Raw(desk.redaction.document(found.result or NULL))
    )
    return Answer(200, body)


class _Part:
    """Part of what belongs to one job; its cursor holds the numbers of the last item that was shown.

    Numbers only grow, so that what is added meanwhile comes behind.
    """

    def __init__(self, asked: Asked, what: str, form: str) -> None:
        self._bind = what.encode() + asked.job.bytes
        self._form = form
        self.limit: int = asked.query.get("limit", USUAL_PAGE)
        self.after: Any = None
        if "cursor" in asked.query:
            self.after = cursors.read_numbers(asked.query["cursor"], self._bind, form)

    def following(self, found: Sequence[T], numbers: Callable[[T], tuple[int, ...]]) -> str | None:
        """Where it goes on, when more was found than is shown."""
        if len(found) <= self.limit:
            return None
        return cursors.write(pack(self._form, *numbers(found[self.limit - 1])), self._bind)


async def _wait(desk: Desk, asked: Asked) -> None:
    """Until the job has ended, the time is over, the server is to stop or nobody waits any more."""
    await until_first(
        desk.client.wait(asked.job, asked.query["waitSeconds"]), desk.stopping.wait(), asked.gone()
    )


def _written(which: Filter, newest_first: bool) -> bytes:
    """A list as it was asked for, the same for the same."""
    return msgspec.json.encode([which, newest_first], order="deterministic")


def reworded(item: E, of: Event, dialect: Dialect | None) -> E:
    """An event, with the words of a vocabulary if one is asked for."""
    if dialect is None:
        return item
    source, through, target = dialect.tell(of)
    return structs.replace(item, source_word=source, through_words=through, target_word=target)


def _worded(item: views.JobItem, of: Listed | Job, dialect: Dialect | None) -> views.JobItem:
    return item if dialect is None else structs.replace(item, status_word=dialect.word(of))
