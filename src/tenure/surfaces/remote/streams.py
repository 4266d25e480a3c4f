"""Following events through whatever becomes of connection and server: nothing missed, nothing twice."""

from collections.abc import AsyncGenerator, Collection
from typing import Final

import msgspec
from msgspec import structs

from tenure.core.errors import InvalidInput
from tenure.core.reading import Interest
from tenure.surfaces.remote.asking import Patience, judged, unexpected, whole
from tenure.surfaces.remote.errors import UnexpectedAnswer
from tenure.surfaces.remote.messages import Messages, TooLong
from tenure.surfaces.remote.values import JobId, RemoteEvent, id_of
from tenure.surfaces.remote.wire import USUAL_SECONDS, Again, Answer, Request, Wire

SILENCE: Final = 45.0
"""Seconds after which a stream that is silent is taken to be dead: the server speaks every fifteen."""

_STREAM = "text/event-stream"


def events(
    wire: Wire,
    job: JobId | None = None,
    *,
    after: str | None = None,
    definition: str | None = None,
    queue: str | None = None,
    types: Collection[str] = (),
) -> AsyncGenerator[RemoteEvent, None]:
    """What happens to a job until it has ended, or to all jobs for ever, each once and in order.

    Of a job from its beginning, of all from when the first is asked for; or from behind `after`, the
    `position` of an event ("0" is before all). `definition`, `queue` and `types` narrow what is told of all.
    A connection that breaks is made anew, behind what has come.
    """
    return _follow(wire, _request(job, definition, queue, types), _place(after))


async def _follow(wire: Wire, request: Request, after: str | None) -> AsyncGenerator[RemoteEvent, None]:
    patience = Patience(wire)
    while True:
        is_heard = False
        again = Again("the stream ended", has_arrived=False)
        try:
            begins = min(request.seconds, patience.left)
            async with wire.ask(_behind(request, after), begins, SILENCE) as answer:
                if answer.status == 204:
                    return
                await _require_stream(wire, answer)
                read = Messages().read
                async for piece in answer.pieces:
                    is_heard = True
                    for message in read(piece):
                        after = message.id or after
                        if message.data is not None:
                            patience.restart()
                            yield _event(wire, message.data, after or "")
        except Again as cut:
            again = cut
        except TooLong:
            raise UnexpectedAnswer(wire.url, "an event without an end") from None
        if is_heard:
            patience.renew()
        await wire.pause(patience.pause(again))


def _request(job: JobId | None, definition: str | None, queue: str | None, types: Collection[str]) -> Request:
    if isinstance(types, str):
        raise InvalidInput("types", "are one text", "give a list of them")
    Interest(definition=definition, queue=queue, types=frozenset(types))
    query = [("definitionKey", definition), ("queue", queue), *(("type", kind) for kind in types)]
    narrowed = tuple((name, value) for name, value in query if value is not None)
    if job is None:
        return Request(method="GET", path="/v1/events", query=narrowed, headers={"accept": _STREAM})
    if narrowed:
        raise InvalidInput("job", "has events of its own", "narrow the events of all jobs, or name a job")
    return Request(method="GET", path=f"/v1/jobs/{id_of(job)}/events", headers={"accept": _STREAM})


def _place(after: str | None) -> str | None:
    """A place in a stream, which travels in a header."""
    if after is not None and not (after and str(after).isascii() and str(after).isprintable()):
        raise InvalidInput("after", f"is {after!r:.64}", "give the position of an event, or 0")
    return after


def _behind(request: Request, after: str | None) -> Request:
    if after is None:
        return request
    return structs.replace(request, headers={**request.headers, "last-event-id": after})


async def _require_stream(wire: Wire, answer: Answer) -> None:
    """Raises what any other answer means."""
    if answer.status == 200 and answer.headers.get("content-type", "").startswith(_STREAM):
        return
    reply = await whole(wire, answer, wire.terms.clock() + USUAL_SECONDS)
    raise unexpected(wire, judged(wire, reply))


def _event(wire: Wire, data: str, position: str) -> RemoteEvent:
    try:
        return structs.replace(msgspec.json.decode(data, type=RemoteEvent), position=position)
    except (msgspec.MsgspecError, RecursionError):
        raise UnexpectedAnswer(wire.url, "an event that is none") from None
