"""Follows events across broken connections and restarts of the server: none is missed, none comes twice."""

from collections.abc import AsyncGenerator, Collection
from typing import Final

import msgspec
from msgspec import structs

from tenure.core.errors import InvalidInput
from tenure.core.reports.reading import Interest
from tenure.surfaces.remote.errors import UnexpectedAnswer
from tenure.surfaces.remote.retry import RetryBudget, checked_reply, read_all, unexpected
from tenure.surfaces.remote.sse_reader import SseReader, TooLong
from tenure.surfaces.remote.values import JobId, RemoteEvent, id_of
from tenure.surfaces.remote.wire import USUAL_SECONDS, TryAgain, Wire, WireAnswer, WireRequest

SILENCE: Final = 45.0
"""Seconds after which a silent stream counts as broken: the server sends something every fifteen."""

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
    """Iterate over the events of a job until it has ended, or of all jobs without end; each once, in order.

    The events of a job start with its first, those of all jobs with the next one; `after`, the `position` of
    an event, starts behind that ("0" is before all). `definition`, `queue` and `types` filter the events of
    all jobs. After a broken connection it goes on where it was.
    """
    return _follow(wire, _request(job, definition, queue, types), _position(after))


async def _follow(wire: Wire, request: WireRequest, after: str | None) -> AsyncGenerator[RemoteEvent, None]:
    budget = RetryBudget(wire)
    while True:
        has_data = False
        reason = TryAgain("the stream ended", has_arrived=False)
        try:
            begins = min(request.seconds, budget.left)
            async with wire.ask(_behind(request, after), begins, SILENCE) as answer:
                if answer.status == 204:
                    return
                await _require_stream(wire, answer)
                read = SseReader().read
                async for piece in answer.pieces:
                    has_data = True
                    for message in read(piece):
                        after = message.id or after
                        if message.data is not None:
                            budget.restart()
                            yield _event(wire, message.data, after or "")
        except TryAgain as cut:
            reason = cut
        except TooLong:
            raise UnexpectedAnswer(wire.url, "it sent an event that does not end") from None
        if has_data:
            budget.renew()
        await wire.pause(budget.pause(reason))


def _request(
    job: JobId | None, definition: str | None, queue: str | None, types: Collection[str]
) -> WireRequest:
    if isinstance(types, str):
        raise InvalidInput("types", "is a single text", "give a list of event types")
    Interest(definition=definition, queue=queue, types=frozenset(types))
    query = [("definitionKey", definition), ("queue", queue), *(("type", kind) for kind in types)]
    narrowed = tuple((name, value) for name, value in query if value is not None)
    if job is None:
        return WireRequest(method="GET", path="/v1/events", query=narrowed, headers={"accept": _STREAM})
    if narrowed:
        raise InvalidInput("job", "goes with no filter", "leave out definition, queue and types, or the job")
    return WireRequest(method="GET", path=f"/v1/jobs/{id_of(job)}/events", headers={"accept": _STREAM})


def _position(after: str | None) -> str | None:
    """A position in a stream, fit for a header."""
    if after is not None and not (after and str(after).isascii() and str(after).isprintable()):
        raise InvalidInput("after", f"is {after!r:.64}", "give the position of an event, or 0")
    return after


def _behind(request: WireRequest, after: str | None) -> WireRequest:
    if after is None:
        return request
    return structs.replace(request, headers={**request.headers, "last-event-id": after})


async def _require_stream(wire: Wire, answer: WireAnswer) -> None:
    """Raise the error that any other answer means."""
    if answer.status == 200 and answer.headers.get("content-type", "").startswith(_STREAM):
        return
    reply = await read_all(wire, answer, wire.timeouts.clock() + USUAL_SECONDS)
    raise unexpected(wire, checked_reply(wire, reply))


def _event(wire: Wire, data: str, position: str) -> RemoteEvent:
    try:
        return structs.replace(msgspec.json.decode(data, type=RemoteEvent), position=position)
    except (msgspec.MsgspecError, RecursionError):
        raise UnexpectedAnswer(wire.url, "it sent an event that cannot be read") from None
