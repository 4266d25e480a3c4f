"""The ASGI application: every request passes the same checks, in one order, before its handler.

Route, host, origin, key or session, scope, media type of the answer, parameters, media type and size of the
body, the body, and for a page's form the CSRF token. Checks that do not need the body come before it is read.
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

from tenure.core.errors import JobNotFound, TenureError
from tenure.core.values import traceparent
from tenure.surfaces.http.app.caller import NOBODY, Caller
from tenure.surfaces.http.app.concurrency_limit import ConcurrencyLimit
from tenure.surfaces.http.app.context import AppContext, Reference, Request, Response, StreamedResponse
from tenure.surfaces.http.app.decoding import read_body, read_form, read_query
from tenure.surfaces.http.app.first_of import until_first
from tenure.surfaces.http.app.forms import read_fields
from tenure.surfaces.http.app.page_request import TOKEN, PageRequest
from tenure.surfaces.http.app.problems import MEDIA_TYPE, TRY_AGAIN, Refusal, refusal_of
from tenure.surfaces.http.app.request_body import BodyBudget, ClientGone, RequestReader, preferred_type
from tenure.surfaces.http.app.routes import Route, Router
from tenure.surfaces.http.auth import authorization
from tenure.surfaces.http.auth.audit import audit_entry_of, audited
from tenure.surfaces.http.auth.authentication import Authenticator
from tenure.surfaces.http.auth.browser_sessions import BrowserSessions
from tenure.telemetry.logs.logs import QUIET
from tenure.telemetry.metrics.api_metrics import NOWHERE

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
"""Bytes above which a body is decoded in a thread, so that other requests need not wait for it."""

_END_SECONDS = 1.0
"""How long sending the end of a stream may take."""


class Application:
    """Answers requests from the table of routes."""

    def __init__(
        self,
        context: AppContext,
        *,
        hosts: frozenset[str],
        on_bug: OnBug,
        body_budget: BodyBudget,
        streams: ConcurrencyLimit,
        routes: Iterable[Route],
        reference: Reference,
        authenticator: Authenticator,
    ) -> None:
        """`hosts` are the server's names; `on_bug` is called with errors that callers must not see.

        `streams` limits how many streams are open at once.
        """
        self._context = context
        self._authenticator = authenticator
        self._hosts = hosts
        self._on_bug = on_bug
        routes = list(routes)
        self._router = Router(routes)
        self._reference = reference
        self._body_budget = body_budget
        self._streams = streams
        self._sessions = BrowserSessions(authenticator, context.deployment)
        # Shows browsers a page for an unknown path, where the server has pages at all.
        self._refuse = next((route.refuse for route in routes if route.refuse), None)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request_id = uuid4()
        began = perf_counter()
        reader = RequestReader(scope, receive, self._body_budget)
        traced = self._context.spans.begin(reader.traceparent) if self._context.spans else None
        traceparent_out = traceparent.kept(reader.traceparent) if traced is None else traced.own.text
        try:
            answer, media_type, path = await self._answer(request_id, reader, traceparent_out)
        except ClientGone:
            return
        finally:
            reader.release()
        took = perf_counter() - began
        self._context.metrics.answered(reader.method, path, answer.status, took)
        if self._context.spans and traced is not None and path not in QUIET:
            self._context.spans.answered(traced, request_id, reader.method, path, answer.status)
        if self._context.logs is not None:
            self._context.logs.answered(request_id, reader.method, path, answer.status, took, reader.key)
        head = _head(request_id, answer, media_type, is_last=not reader.is_complete)
        if isinstance(answer, StreamedResponse):
            try:
                await send(head)
                await self._send_stream(request_id, reader, answer, send)
            finally:
                self._streams.leave(answer.caller)
        else:
            await send(head)
            await send({"type": "http.response.body", "body": answer.value})

    async def _send_stream(
        self, request_id: UUID, reader: RequestReader, stream: StreamedResponse, send: Send
    ) -> None:
        """Send a stream until it ends, the client is gone, or the server stops."""
        if reader.method != "HEAD":
            sending, *_ = await until_first(
                _send_all(stream, send), self._context.stopping.wait(), reader.until_gone()
            )
            error = None if sending.cancelled() else sending.exception()
            if isinstance(error, Exception) and not isinstance(error, TenureError):
                self._on_bug(request_id, error)
        with suppress(TimeoutError):
            # Do not wait for a client that does not read: everything else has been sent.
            async with asyncio.timeout(_END_SECONDS):
                await send({"type": "http.response.body", "body": b""})

    async def _answer(
        self, request_id: UUID, reader: RequestReader, traceparent_out: str | None
    ) -> tuple[Response | StreamedResponse, str, str]:
        """The answer with its body encoded, whatever happens; its media type, and its route's path."""
        route: Route | None = None
        try:
            route, path = self._router.find(reader.method, reader.path)
            answer, media_type = await self._handle(request_id, route, path, reader, traceparent_out)
            if isinstance(answer, Response):
                media_type = answer.media_type or media_type
                if not isinstance(answer.value, bytes):
                    answer = Response(answer.status, msgspec.json.encode(answer.value), answer.headers)
            return answer, media_type, route.path
        except ClientGone:
            raise
        except asyncio.CancelledError:
            # The time to finish is over: answer, and swallow the cancellation, for nothing is left to cancel.
            refusal = Refusal("busy", f"the server stopped before it could answer; {TRY_AGAIN}")
        except Exception as error:
            refusal = refusal_of(error, route.fields if route else {})
            if refusal.kind == "internal":
                self._on_bug(request_id, error)
        where = route.path if route else NOWHERE
        if (page := self._refusal_page(request_id, route, reader, refusal)) is not None:
            return page, _HTML, where
        return Response(refusal.status, refusal.body(request_id), refusal.headers), MEDIA_TYPE.decode(), where

    def _refusal_page(
        self, request_id: UUID, route: Route | None, reader: RequestReader, refusal: Refusal
    ) -> Response | None:
        """A refusal as a page for browsers; None where the answer is a problem in JSON."""
        refuse = route.refuse if route else self._refuse
        if refuse is None:
            return None
        try:
            headers = reader.headers()
        except Refusal:
            headers = {}
        if route is None and "text/html" not in headers.get("accept", ""):
            return None
        try:
            return refuse(refusal, self._page_request(request_id, reader, headers))
        except Exception as error:
            self._on_bug(request_id, error)
            return None

    def _page_request(self, request_id: UUID, reader: RequestReader, headers: dict[str, str]) -> PageRequest:
        return self._sessions.of(request_id, reader.method, reader.url, headers, reader.peer)

    async def _handle(
        self,
        request_id: UUID,
        route: Route,
        path: dict[str, str],
        reader: RequestReader,
        traceparent_out: str | None,
    ) -> tuple[Response | StreamedResponse, str]:
        request, media_type = await self._checked(request_id, route, path, reader, traceparent_out)
        handler = route.handler if route.stream is None or media_type == route.produces else route.stream
        async with asyncio.timeout(route.seconds + request.query.get("waitSeconds", 0)):
            if not route.by_lease and not route.is_namespaced:
                await self._check_visible(request)
            if route.is_audited:
                entry = audit_entry_of(route, request, request_id)
                answer = await audited(self._context.access, entry, lambda: handler(self._context, request))
            else:
                answer = await handler(self._context, request)
        if isinstance(answer, StreamedResponse):
            self._streams.take(request.caller)
        return answer, media_type

    async def _checked(
        self,
        request_id: UUID,
        route: Route,
        path: dict[str, str],
        reader: RequestReader,
        traceparent_out: str | None,
    ) -> tuple[Request, str]:
        """The request, once it has passed every check, and the media type of its answer."""
        headers = reader.headers()
        if not route.any_host:
            authorization.check_host(headers, self._hosts)
        page = self._page_request(request_id, reader, headers) if route.is_page else None
        authorization.check_origin(reader.method, headers, needs_proof=page is not None and page.is_ambient)
        caller = await self._caller(route, headers, reader, page)
        reader.set_key(caller.key)
        authorization.check_access(route, caller)
        media_type = preferred_type(headers, route.media_types)
        query = read_query(route.parameters, reader.query)
        raw = await reader.body(headers, route)
        request = Request(
            path=path,
            query=query,
            body=await self._body(route, raw, page),
            gone=reader.until_gone,
            caller=caller,
            is_admitted=partial(self._authenticator.is_admitted, caller, page.known_by if page else None),
            headers=headers,
            traceparent=traceparent_out,
            page_request=page,
            reference=self._reference,
        )
        return request, media_type

    async def _body(self, route: Route, raw: bytes, page: PageRequest | None) -> Any:
        if raw and route.takes:
            self._context.metrics.external.uploaded(route.takes, len(raw))
        if route.form is not None and page is not None:
            fields = read_fields(raw)
            token = fields.pop(TOKEN, [""])[0]
            if route.scope is not None:
                page.check_token(token)
            return read_form(route.form, fields)
        if not raw:
            return None
        return await asyncio.to_thread(read_body, route, raw) if len(raw) > _LARGE else read_body(route, raw)

    async def _caller(
        self, route: Route, headers: dict[str, str], reader: RequestReader, page: PageRequest | None
    ) -> Caller:
        if route.scope is None:
            return NOBODY
        async with asyncio.timeout(route.seconds):
            if page is not None:
                return await page.admit(None)
            return await self._authenticator.admit(headers.get("authorization"), reader.query, reader.peer)

    async def _check_visible(self, request: Request) -> None:
        """Refuse a job that the caller may not see with exactly the answer for one that does not exist.

        A job never changes its namespace or creator, so this still holds when the handler runs.
        """
        if request.caller.is_namespaced and "jobId" in request.path:
            job = await self._context.client.get(request.job)
            if not request.caller.sees(job):
                raise JobNotFound(job.id)


def _head(
    request_id: UUID, answer: Response | StreamedResponse, media_type: str, *, is_last: bool
) -> Message:
    raw = [(b"x-request-id", str(request_id).encode())]
    if answer.status != HTTPStatus.NO_CONTENT:
        raw.append((b"content-type", media_type.encode()))
        if isinstance(answer, Response):
            raw.append((b"content-length", b"%d" % len(answer.value)))
    if answer.headers:
        headers = {**_ALWAYS, **answer.headers}
        raw += [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    else:
        raw += _ALWAYS_RAW
    if is_last:
        # The rest of the body would be read as the next request, or never end.
        raw.append((b"connection", b"close"))
    return {"type": "http.response.start", "status": answer.status, "headers": raw}


async def _send_all(stream: StreamedResponse, send: Send) -> None:
    async with aclosing(stream.chunks) as chunks:
        async for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
