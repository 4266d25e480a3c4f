"""The streams of events: of one job until it has ended, and of all jobs for ever.

What is sent bears the place behind it, and whoever comes back with that goes on from there: nothing is missed
and nothing comes twice, whatever happened to the connection or to the server. A stream of all events begins
by telling where it begins, so that this holds from its first moment on.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from tenure.core.bounds import whole
from tenure.core.errors import InvalidInput
from tenure.core.job import Event
from tenure.core.reading import BEGINNING, START, Entry, Interest, Position
from tenure.surfaces import views
from tenure.surfaces.feed_views import feed_item
from tenure.surfaces.http import cursors
from tenure.surfaces.http.desk import Answer, Asked, Desk, Stream
from tenure.surfaces.http.looking import reworded
from tenure.surfaces.http.problems import Refusal, invalid
from tenure.surfaces.http.sse import message, sse

T = TypeVar("T")

SILENCE = 10.0
"""Seconds after which a reader of few events is told how far the others have been looked through."""

_PAGE = 50
_PIECE = 65_536
"""Bytes from which on what there is to send is sent in pieces."""


async def job(desk: Desk, asked: Asked) -> Answer | Stream:
    """The history of a job as it goes on, from its beginning or behind `Last-Event-ID`; ends with the job."""
    for name in ("limit", "cursor"):
        if name in asked.query:
            raise invalid("validation", "is not for a stream: send Last-Event-ID", parameter=name)
    after = _number(asked)
    # Before the history is read: what is not in it comes behind this.
    start = await desk.client.feed.end()
    found = await desk.client.get(asked.job)
    if found.state.is_final and not await desk.client.events(asked.job, after=after, limit=1):
        return Answer(204, b"")  # which tells a browser not to come back
    return sse(asked, _history(desk, asked, after, start))


async def everything(desk: Desk, asked: Asked) -> Stream:
    """Events of all jobs as they happen, from now on or behind `Last-Event-ID`; of a filter if asked."""
    query = asked.query
    interest = Interest(
        definition=query.get("definitionKey"),
        queue=query.get("queue"),
        types=frozenset(query.get("type", ())),
        namespace=asked.caller.namespace,
    )
    after = _position(asked) or await desk.client.feed.end()
    return sse(asked, _feed(desk, asked, interest, after))


async def _history(desk: Desk, asked: Asked, after: int, start: Position) -> AsyncGenerator[bytes, None]:
    is_over = False
    while events := await desk.client.events(asked.job, after=after, limit=_PAGE):
        for piece in _in_pieces(_of_job(desk, asked, event) for event in events):
            yield piece
        after = events[-1].n
        is_over = is_over or _has_end(events)
    if is_over:
        return
    with await desk.client.feed.subscribe(Interest(job=asked.job), after=start) as reader:
        while not is_over:
            events = [entry.event for entry in await reader.read() if entry.event.n > after]
            for piece in _in_pieces(_of_job(desk, asked, event) for event in events):
                yield piece
            is_over = _has_end(events)


async def _feed(desk: Desk, asked: Asked, interest: Interest, after: Position) -> AsyncGenerator[bytes, None]:
    yield message(id=_feed_id(asked, after))
    with await desk.client.feed.subscribe(interest, after=after) as reader:
        while True:
            entries = await reader.read(SILENCE)
            for piece in _in_pieces(_of_feed(desk, asked, entry) for entry in entries):
                yield piece
            if entries:
                after = entries[-1].position
                continue
            # Whose events those are is nobody's business here; that they are behind is.
            seen = Position.behind(reader.position.mark - 1)
            if seen > after:
                after = seen
                yield message(id=_feed_id(asked, after))


def _of_job(desk: Desk, asked: Asked, event: Event) -> bytes:
    item = reworded(views.event_item(event, desk.redaction), event, asked.query.get("vocabulary"))
    return _written(item, _job_id(asked, event.n))


def _of_feed(desk: Desk, asked: Asked, entry: Entry) -> bytes:
    item = reworded(feed_item(entry, desk.redaction), entry.event, asked.query.get("vocabulary"))
    return _written(item, _feed_id(asked, entry.position))


def _written(item: views.EventItem, id: str) -> bytes:  # noqa: A002
    return message(msgspec.json.encode(item).decode(), event=item.type, id=id)


def _in_pieces(messages: Iterable[bytes]) -> Iterator[bytes]:
    """Messages, many of them together but no more than a connection takes at once."""
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


def _number(asked: Asked) -> int:
    """Behind which of its events the stream of a job is to go on."""
    text = asked.headers.get("last-event-id", BEGINNING)
    return 0 if text == BEGINNING else _read(text, _job_stream(asked), _whole)


def _position(asked: Asked) -> Position | None:
    """Where the stream of all events is to go on; None from now on."""
    text = asked.headers.get("last-event-id")
    if text is None:
        return None
    return START if text == BEGINNING else _read(text, _feed_stream(asked), Position.read)


def _read(text: str, stream: bytes, read: Callable[[str], T]) -> T:
    """The place that an id of a stream stands for. Raises Refusal for the id of another."""
    try:
        return read(cursors.read(text, stream).decode("ascii"))
    except (Refusal, InvalidInput, ValueError):
        said = "send the id of the last event as it came on this stream, 0 for the beginning, or nothing"
        raise Refusal("invalid-event-id", said) from None


def _whole(text: str) -> int:
    number = int(text)
    whole("n", number, 1, 2**31 - 1)
    return number


def _job_id(asked: Asked, n: int) -> str:
    return cursors.write(str(n).encode(), _job_stream(asked))


def _feed_id(asked: Asked, position: Position) -> str:
    return cursors.write(str(position).encode(), _feed_stream(asked))


def _job_stream(asked: Asked) -> bytes:
    return b"stream" + asked.job.bytes


def _feed_stream(asked: Asked) -> bytes:
    return b"feed" + (asked.caller.namespace or "").encode()
