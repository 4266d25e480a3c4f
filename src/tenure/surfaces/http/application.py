"""The ASGI application: every request goes through the same checks, in one order, before its handler.

Route, host, origin, key or session, scope, form of the answer, parameters, form and size of the body, the
body, and of a page's form the token. What has no need of the body is refused before the body is read.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import aclosing, suppress
from functools import partial
from http import HTTPStatus
from time import perf_counter
from typing import Any
from uuid import UUID, uuid4

import msgspec

from tenure.core import traceparent
from tenure.core.errors import JobNotFound, TenureError
from tenure.surfaces.http import access
from tenure.surfaces.http.auditing import deed_of, on_record
from tenure.surfaces.http.caller import NOBODY, Caller
from tenure.surfaces.http.decoding import read_body, read_form, read_query
from tenure.surfaces.http.desk import Answer, Asked, Desk, Stream
from tenure.surfaces.http.door import Door
from tenure.surfaces.http.forms import read_fields
from tenure.surfaces.http.intake import Gone, Intake, Room, chosen_form
from tenure.surfaces.http.problems import MEDIA_TYPE, Refusal, refusal_of
from tenure.surfaces.http.routes import Route, Router
from tenure.surfaces.http.seats import Seats
from tenure.surfaces.http.table import ROUTES
from tenure.surfaces.http.until import until_first
from tenure.surfaces.http.visits import TOKEN, Visit, Visits
from tenure.telemetry.api import NOWHERE
from tenure.telemetry.logs import QUIET

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
OnBug = Callable[[UUID, Exception], None]

_ALWAYS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
}
_ALWAYS_RAW = [(name.encode(), value.encode()) for name, value in _ALWAYS.items()]
_HTML = "text/html; charset=utf-8"
_LARGE = 65_536
"""Bytes from which on a body is read beside the event loop: others must not wait for it."""

_LAST_WORD = 1.0
"""Seconds that the end of a stream may take to be said."""


class Application:
    """Answers requests from the table of routes."""

    def __init__(
        self,
        desk: Desk,
        *,
        hosts: frozenset[str],
        on_bug: OnBug,
        room: Room,
        seats: Seats,
        routes: Iterable[Route] = ROUTES,
        door: Door,
    ) -> None:
        """`hosts` are the server's names; `on_bug` is told what must not be told to callers.

        `room` is for large bodies, `seats` for answers that go on.
        """
        self._desk = desk
        self._door = door
        self._hosts = hosts
        self._on_bug = on_bug
        routes = list(routes)
        self._router = Router(routes)
        self._room = room
        self._seats = seats
        self._visits = Visits(door)
        # How browsers are told that there is nothing at a path, where there are pages at all.
        self._refuse = next((route.refuse for route in routes if route.refuse), None)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = uuid4()
        began = perf_counter()
        intake = Intake(scope, receive, self._room)
        traced = self._desk.spans.begin(intake.traceparent) if self._desk.spans else None
        follows = traceparent.kept(intake.traceparent) if traced is None else traced.own.text
        try:
            answer, form, path = await self._answered(request, intake, follows)
        except Gone:
            return
        finally:
            intake.release()
        took = perf_counter() - began
        self._desk.metrics.answered(intake.method, path, answer.status, took)
        if self._desk.spans and traced is not None and path not in QUIET:
            self._desk.spans.answered(traced, request, intake.method, path, answer.status)
        if self._desk.logs is not None:
            self._desk.logs.answered(request, intake.method, path, answer.status, took, intake.key)
        head = _head(request, answer, form, is_last=not intake.is_complete)
        if isinstance(answer, Stream):
            try:
                await send(head)
                await self._pour(request, intake, answer, send)
            finally:
                self._seats.leave(answer.caller)
        else:
            await send(head)
            await send({"type": "http.response.body", "body": answer.value})

    async def _pour(self, request: UUID, intake: Intake, stream: Stream, send: Send) -> None:
        """Send what goes on, until it ends, nobody listens any more, or the server is to stop."""
        if intake.method != "HEAD":
            pouring, *_ = await until_first(
                _send_all(stream, send), self._desk.stopping.wait(), intake.until_gone()
            )
            error = None if pouring.cancelled() else pouring.exception()
            if isinstance(error, Exception) and not isinstance(error, TenureError):
                self._on_bug(request, error)
        with suppress(TimeoutError):
            # Who does not read is not waited for: the server has said all that it will.
            async with asyncio.timeout(_LAST_WORD):
                await send({"type": "http.response.body", "body": b""})

    async def _answered(
        self, request: UUID, intake: Intake, follows: str | None
    ) -> tuple[Answer | Stream, str, str]:
        """The answer with its body encoded, whatever happens; in what form that is, and its route's path."""
        route: Route | None = None
        try:
            route, path = self._router.find(intake.method, intake.path)
            answer, form = await self._handled(request, route, path, intake, follows)
            if isinstance(answer, Answer):
                form = answer.media_type or form
                if not isinstance(answer.value, bytes):
                    answer = Answer(answer.status, msgspec.json.encode(answer.value), answer.headers)
            return answer, form, route.path
        except Gone:
            raise
        except asyncio.CancelledError:
            # The time to finish is over; the caller is told that, and nothing is left to be cancelled.
            refusal = Refusal("busy", "the server has stopped; with its key it is safe to try again")
        except Exception as error:
            refusal = refusal_of(error, route.fields if route else {})
            if refusal.kind == "internal":
                self._on_bug(request, error)
        where = route.path if route else NOWHERE
        if (page := self._page_of(request, route, intake, refusal)) is not None:
            return page, _HTML, where
        return Answer(refusal.status, refusal.body(request), refusal.headers), MEDIA_TYPE.decode(), where

    def _page_of(self, request: UUID, route: Route | None, intake: Intake, refusal: Refusal) -> Answer | None:
        """A refusal as browsers are told it; None where it is told as a problem."""
        refuse = route.refuse if route else self._refuse
        if refuse is None:
            return None
        try:
            headers = intake.headers()
        except Refusal:
            headers = {}
        if route is None and "text/html" not in headers.get("accept", ""):
            return None
        try:
            return refuse(refusal, self._visit(request, intake, headers))
        except Exception as error:
            self._on_bug(request, error)
            return None

    def _visit(self, request: UUID, intake: Intake, headers: dict[str, str]) -> Visit:
        return self._visits.of(request, intake.method, intake.url, headers, intake.peer)

    async def _handled(
        self, request: UUID, route: Route, path: dict[str, str], intake: Intake, follows: str | None
    ) -> tuple[Answer | Stream, str]:
        headers = intake.headers()
        if not route.any_host:
            access.check_host(headers, self._hosts)
        visit = self._visit(request, intake, headers) if route.is_page else None
        access.check_origin(intake.method, headers, needs_proof=visit is not None and visit.is_ambient)
        caller = await self._caller(route, headers, intake, visit)
        intake.know(caller.key)
        access.check_access(route, caller)
        form = chosen_form(headers, route.forms)
        query = read_query(route.parameters, intake.query)
        raw = await intake.body(headers, route)
        body = await self._body(route, raw, visit)
        asked = Asked(
            path=path,
            query=query,
            body=body,
            gone=intake.until_gone,
            caller=caller,
            is_admitted=partial(self._door.is_admitted, caller, visit.known_by if visit else None),
            headers=headers,
            traceparent=follows,
            visit=visit,
        )
        handler = route.handler if route.stream is None or form == route.produces else route.stream
        async with asyncio.timeout(route.seconds + query.get("waitSeconds", 0)):
            if not route.by_lease:
                await self._check_sight(asked)
            if route.is_audited:
                deed = deed_of(route, asked, request)
                answer = await on_record(self._desk.store, deed, lambda: handler(self._desk, asked))
            else:
                answer = await handler(self._desk, asked)
        if isinstance(answer, Stream):
            self._seats.take(caller)
        return answer, form

    async def _body(self, route: Route, raw: bytes, visit: Visit | None) -> Any:
        if raw and route.takes:
            self._desk.metrics.external.uploaded(route.takes, len(raw))
        if route.form is not None and visit is not None:
            fields = read_fields(raw)
            token = fields.pop(TOKEN, [""])[0]
            if route.scope is not None:
                visit.check_token(token)
            return read_form(route.form, fields)
        if not raw:
            return None
        return await asyncio.to_thread(read_body, route, raw) if len(raw) > _LARGE else read_body(route, raw)

    async def _caller(
        self, route: Route, headers: dict[str, str], intake: Intake, visit: Visit | None
    ) -> Caller:
        if route.scope is None:
            return NOBODY
        async with asyncio.timeout(route.seconds):
            if visit is not None:
                return await visit.admit(None)
            return await self._door.admit(headers.get("authorization"), intake.query, intake.peer)

    async def _check_sight(self, asked: Asked) -> None:
        """Refuse a job that is not for the caller's eyes in the very words for one that is not there.

        Whose a job is never changes, so that it cannot become another's between this look and the handler.
        """
        if asked.caller.is_fenced and "jobId" in asked.path:
            job = await self._desk.client.get(asked.job)
            if not asked.caller.sees(job):
                raise JobNotFound(job.id)


def _head(request: UUID, answer: Answer | Stream, form: str, *, is_last: bool) -> Message:
    raw = [(b"x-request-id", str(request).encode())]
    if answer.status != HTTPStatus.NO_CONTENT:
        raw.append((b"content-type", form.encode()))
        if isinstance(answer, Answer):
            raw.append((b"content-length", b"%d" % len(answer.value)))
    if answer.headers:
        headers = {**_ALWAYS, **answer.headers}
        raw += [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    else:
        raw += _ALWAYS_RAW
    if is_last:
        # The rest of the body would be taken for the next request, or come for ever.
        raw.append((b"connection", b"close"))
    return {"type": "http.response.start", "status": answer.status, "headers": raw}


async def _send_all(stream: Stream, send: Send) -> None:
    async with aclosing(stream.chunks) as chunks:
        async for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
