"""The streams of events: of one job until it ends, and of all jobs without end.

Every event carries its place, and a client that sends it back continues after it: nothing is missed and
nothing comes twice, whatever happens to the connection or the server. A stream of all events begins with its
starting place, so that this holds from the first moment.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from tenure.api import views
from tenure.api.feed_views import feed_item
from tenure.core.errors import InvalidInput
from tenure.core.model.job import Event
from tenure.core.reports.reading import BEGINNING, START, FeedEntry, Interest, Position
from tenure.core.values.bounds import whole
from tenure.surfaces.http.app import cursors
from tenure.surfaces.http.app.context import AppContext, Request, Response, StreamedResponse
from tenure.surfaces.http.app.problems import Refusal, invalid
from tenure.surfaces.http.app.sse import message, sse
from tenure.surfaces.http.calls.read import reworded

T = TypeVar("T")

SILENCE = 10.0
"""Seconds without a matching event after which the client gets the place reached so far."""

_PAGE = 50
_PIECE = 65_536
"""Bytes after which a piece is sent."""


async def job(context: AppContext, request: Request) -> Response | StreamedResponse:
    """The history of a job as it happens, from its beginning or after `Last-Event-ID`; ends with the job."""
    for name in ("limit", "cursor"):
        if name in request.query:
            raise invalid(
                "validation", "is not for streams; send the header Last-Event-ID instead", parameter=name
            )
    after = _number(request)
    # Before the history is read: events that it lacks come after this place.
    start = await context.client.feed.end()
    found = await context.client.get(request.job)
    if found.state.is_final and not await context.client.events(request.job, after=after, limit=1):
        return Response(204, b"")  # tells a browser not to reconnect
    return sse(request, _history(context, request, after, start))


async def everything(context: AppContext, request: Request) -> StreamedResponse:
    """Events of all jobs, or of a filter, as they happen, from now on or after `Last-Event-ID`."""
    query = request.query
    interest = Interest(
        definition=query.get("definitionKey"),
        queue=query.get("queue"),
        types=frozenset(query.get("type", ())),
        namespace=request.caller.namespace,
    )
    after = _position(request)
    if after is None:
        after = await context.client.feed.end()
    else:
        # Before the stream begins: a client must see the status.
        await context.client.feed.check(after)
    return sse(request, _feed(context, request, interest, after))


async def _history(
    context: AppContext, request: Request, after: int, start: Position
) -> AsyncGenerator[bytes, None]:
    is_over = False
    while events := await context.client.events(request.job, after=after, limit=_PAGE):
        for piece in _in_pieces(_of_job(context, request, event) for event in events):
            yield piece
        after = events[-1].n
        is_over = is_over or _has_end(events)
    if is_over:
        return
    with await context.client.feed.subscribe(Interest(job=request.job), after=start) as reader:
        while not is_over:
            events = [entry.event for entry in await reader.read() if entry.event.n > after]
            for piece in _in_pieces(_of_job(context, request, event) for event in events):
                yield piece
            is_over = _has_end(events)


async def _feed(
    context: AppContext, request: Request, interest: Interest, after: Position
) -> AsyncGenerator[bytes, None]:
    yield message(id=_feed_id(request, after))
    with await context.client.feed.subscribe(interest, after=after) as reader:
        while True:
            entries = await reader.read(SILENCE)
            for piece in _in_pieces(_of_feed(context, request, entry) for entry in entries):
                yield piece
            if entries:
                after = entries[-1].position
                continue
            # Events that do not match are not shown, but the place moves past them.
            seen = Position.behind(reader.position.mark - 1)
            if seen > after:
                after = seen
                yield message(id=_feed_id(request, after))


def _of_job(context: AppContext, request: Request, event: Event) -> bytes:
    item = reworded(views.event_item(event, context.redaction), event, request.query.get("vocabulary"))
    return _written(item, _job_id(request, event.n))


def _of_feed(context: AppContext, request: Request, entry: FeedEntry) -> bytes:
    item = reworded(feed_item(entry, context.redaction), entry.event, request.query.get("vocabulary"))
    return _written(item, _feed_id(request, entry.position))


def _written(item: views.EventItem, id: str) -> bytes:  # noqa: A002
    return message(msgspec.json.encode(item).decode(), event=item.type, id=id)


def _in_pieces(messages: Iterable[bytes]) -> Iterator[bytes]:
    """Messages joined into pieces, so that few writes send many of them."""
    piece = b""
    for one in messages:
        piece += one
        if len(piece) >= _PIECE:
            yield piece
            piece = b""
    if piece:
        yield piece


def _has_end(events: Sequence[Event]) -> bool:
    return any(event.target.is_final for event in events)


def _number(request: Request) -> int:
    """The event after which the stream of a job continues."""
    text = request.headers.get("last-event-id", BEGINNING)
    return 0 if text == BEGINNING else _read(text, _job_stream(request), _whole)


def _position(request: Request) -> Position | None:
    """Where the stream of all events continues; None for from now on."""
    text = request.headers.get("last-event-id")
    if text is None:
        return None
    return START if text == BEGINNING else _read(text, _feed_stream(request), Position.read)


def _read(text: str, stream: bytes, read: Callable[[str], T]) -> T:
    """The place that an event id stands for. Raises Refusal for an id of another stream."""
    try:
        return read(cursors.read(text, stream).decode("ascii"))
    except (Refusal, InvalidInput, ValueError):
        detail = "send an event id of this stream, 0 for the beginning, or leave Last-Event-ID out"
        raise Refusal("invalid-event-id", detail) from None


def _whole(text: str) -> int:
    number = int(text)
    whole("n", number, 1, 2**31 - 1)
    return number


def _job_id(request: Request, n: int) -> str:
    return cursors.write(str(n).encode(), _job_stream(request))


def _feed_id(request: Request, position: Position) -> str:
    return cursors.write(str(position).encode(), _feed_stream(request))


def _job_stream(request: Request) -> bytes:
    return b"stream" + request.job.bytes


def _feed_stream(request: Request) -> bytes:
    return b"feed" + (request.caller.namespace or "").encode()
