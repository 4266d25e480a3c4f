"""Routes: each is a row of the table that routing, checks and documentation are made from."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from msgspec import Struct, structs

from tenure.api import inputs
from tenure.settings.http_limits import HttpLimits
from tenure.surfaces.http.app.context import AppContext, Request, Response, StreamedResponse
from tenure.surfaces.http.app.forms import Form
from tenure.surfaces.http.app.page_request import PageRequest
from tenure.surfaces.http.app.problems import Refusal

JSON = "application/json"
EVENT_STREAM = "text/event-stream"
FORM = "application/x-www-form-urlencoded"
ANY = "*/*"
"""What a route produces whose answers have several types."""

PAGES = "dashboard"
"""The audience of pages: people with browsers."""

USUAL_BODY = 2**20
"""Largest body in bytes, unless the route takes more."""

LARGEST_FORM = 2**16
"""Largest form in bytes."""

USUAL_SECONDS = 10.0
"""How long the work on a request may take, unless the route has a longer limit."""

ALWAYS = (
    *("malformed-request", "not-acceptable", "request-timeout", "uri-too-long", "misdirected-request"),
    *("headers-too-large", "internal", "busy"),
)
"""Problems that any request may meet."""

OF_BODIES = (
    *("malformed-json", "duplicate-key", "too-deep", "too-large", "csrf", "unsupported-media-type"),
    *("validation", "unknown-field", "number-range", "invalid-character", "too-many-keys"),
)
"""Problems that any request with a body may meet."""

_PLACE = re.compile(r"\{(\w+)\}")

Handler = Callable[[AppContext, Request], Awaitable[Response | StreamedResponse]]
Refuse = Callable[[Refusal, PageRequest], Response]
Target = Callable[[Request], str]


class Parameter(Struct, frozen=True, kw_only=True):
    """A query parameter; `read` parses its text or raises InvalidInput."""

    name: str
    read: Callable[[str], Any]
    schema: Mapping[str, Any]
    text: str
    many: bool = False
    is_required: bool = False


class Header(Struct, frozen=True, kw_only=True):
    """A header that the handler reads."""

    name: str
    text: str


class Route(Struct, frozen=True, kw_only=True):
    """A method and a path, which callers may use it, what it takes and what it answers.

    `fields` maps the engine's names of fields to those of the body, for messages about bad values.
    `seconds` limits its work, beyond the time that it is asked to wait.
    `form` is what it takes from a browser instead of a JSON body; `refuse` makes a page of a refusal, where
    the answer is not a problem in JSON.
    `each` is the field of the body that holds a list, and the type of its items.
    `is_namespaced` says that the handler keeps to the caller's namespace; without it, a route whose path
    names no job is closed to keys that are bound to a namespace. `is_routine` leaves calls out of the audit:
    the history of what they change names the caller already, or they are too frequent.
    `by_lease` says that a job's lease gives access, whichever jobs the key may see; keys that are bound to a
    namespace have no leases.
    `target` names for the audit log what is changed, where the path does not.
    `or_scope` gives access as well as `scope`, which is the one that most callers have.
    `stream` answers instead of `handler` when the client prefers an event stream.
    `answers` has the type of each status; `problems` has the kinds beyond those that any request may meet.
    """

    method: str
    path: str
    audience: str
    scope: str | None
    handler: Handler
    summary: str
    answers: Mapping[int, Any]
    or_scope: str | None = None
    parameters: tuple[Parameter, ...] = ()
    headers: tuple[Header, ...] = ()
    body: Any = None
    form: type[Form] | None = None
    each: tuple[str, Any] | None = None
    body_limit: int = USUAL_BODY
    needs_body: bool = True
    fields: Mapping[str, str] = {}
    problems: tuple[str, ...] = ()
    seconds: float = USUAL_SECONDS
    reads_store: bool = True
    any_host: bool = False
    produces: str = JSON
    stream: Handler | None = None
    is_namespaced: bool = False
    is_routine: bool = False
    by_lease: bool = False
    target: Target | None = None
    refuse: Refuse | None = None

    @property
    def is_page(self) -> bool:
        """Whether it is a page, which browsers open with a session."""
        return self.audience == PAGES

    @property
    def takes(self) -> str | None:
        """The media type of its body; None when it takes no body."""
        return FORM if self.form is not None else JSON if self.body is not None else None

    @property
    def most_bytes(self) -> int:
        """The largest body that it takes, in bytes."""
        if self.form is not None:
            return LARGEST_FORM
        return 0 if self.body is None else self.body_limit

    @property
    def names(self) -> list[str]:
        """The names of the path's variable parts."""
        return _PLACE.findall(self.path)

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes, any of which gives access; none where it is open to all."""
        return tuple(scope for scope in (self.scope, self.or_scope) if scope is not None)

    @property
    def media_types(self) -> tuple[str, ...]:
        """The media types of its answers, the usual one first."""
        return (self.produces, EVENT_STREAM) if self.stream else (self.produces,)

    def bounded(self, limits: HttpLimits) -> "Route":
        """The same route with a server's limits on its body and on its work."""
        seconds = limits.http_request_seconds
        return structs.replace(
            self,
            body_limit=limits.http_body_bytes if self.body_limit == USUAL_BODY else limits.http_batch_bytes,
            seconds=seconds if self.seconds == USUAL_SECONDS else max(seconds, self.seconds),
        )

    @property
    def is_shared(self) -> bool:
        """Whether it concerns what all namespaces share; jobs in the path are checked one by one instead."""
        if self.by_lease:
            return True
        return self.scope is not None and not self.is_namespaced and "jobId" not in self.names

    @property
    def is_audited(self) -> bool:
        """Whether each call goes into the audit log."""
        return self.method != "GET" and not self.is_routine

    @property
    def kinds(self) -> list[str]:
        """Every kind of problem that it may answer with."""
        kinds = [*ALWAYS, *self.problems]
        if self.takes is not None:
            kinds += OF_BODIES
        elif self.method != "GET":
            kinds += ["csrf", "too-large"]
        if self.parameters:
            kinds += ["validation", "unknown-field"]
        if self.reads_store:
            kinds += ["storage-unavailable", "schema-mismatch"]
        if self.scope is not None:
            kinds += ["unauthenticated", "insufficient-scope", "too-many-requests", "storage-unavailable"]
            kinds.append("schema-mismatch")
        return list(dict.fromkeys(kinds))

    def match(self, segments: list[str]) -> dict[str, str] | None:
        """The variable parts of a path that has as many segments as this one; None when it does not match."""
        found: dict[str, str] = {}
        for own, given in zip(self.path.split("/"), segments, strict=True):
            if place := _PLACE.fullmatch(own):
                try:
                    text = unquote(given, errors="strict")
                except UnicodeDecodeError:
                    return None
                # A text that is no id may belong to another path, which has other methods.
                if place[1] == "jobId" and not inputs.is_job_id(text):
                    return None
                found[place[1]] = text
            elif own != given:
                return None
        return found


class Router:
    """Finds the route of a request."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._by_length: dict[int, list[Route]] = {}
        self._fixed: dict[tuple[str, str], Route] = {}
        # Fixed paths go before variable ones.
        for route in sorted(routes, key=lambda route: len(route.names)):
            self._by_length.setdefault(route.path.count("/"), []).append(route)
            if not route.names:
                self._fixed[route.method, route.path] = route

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        """The route, and the variable parts of the path. Raises Refusal, with `Allow` for a wrong method."""
        if known := self._fixed.get((method, path)):
            return known, {}
        segments = path.split("/")
        matching = [
            (route, found)
            for route in self._by_length.get(len(segments) - 1, ())
            if (found := route.match(segments)) is not None
        ]
        if not matching:
            raise Refusal("not-found", "there is nothing at this path")
        # What a path names is no value of another's variable part: its methods are not those of this path.
        fewest = len(matching[0][1])
        matching = [(route, found) for route, found in matching if len(found) == fewest]
        for route, found in matching:
            if method == route.method or (method, route.method) == ("HEAD", "GET"):
                return route, found
        methods = {route.method for route, _ in matching}
        allow = sorted(methods | ({"HEAD"} if "GET" in methods else set()))
        raise Refusal(
            "method-not-allowed",
            "the header Allow lists the methods of this path",
            headers={"allow": ", ".join(allow)},
        )
