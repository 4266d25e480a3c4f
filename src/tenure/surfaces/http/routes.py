"""What a route is: one row of the table from which the whole surface is made."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from msgspec import Struct, structs

from tenure.surfaces import inputs
from tenure.surfaces.http.desk import Answer, Asked, Desk, Stream
from tenure.surfaces.http.forms import Form
from tenure.surfaces.http.problems import Refusal
from tenure.surfaces.http.visits import Visit

JSON = "application/json"
EVENT_STREAM = "text/event-stream"
FORM = "application/x-www-form-urlencoded"
ANY = "*/*"
"""What a route produces whose answers are of several kinds."""

PAGES = "dashboard"
"""The audience of pages: people, by their browsers."""

USUAL_BODY = 2**20
"""Bytes that a body may have, unless its route takes more."""

LARGEST_FORM = 2**16
"""Bytes that a form may have."""

USUAL_SECONDS = 10.0
"""How long the work on a request may take, unless its route has more to do."""

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

Handler = Callable[[Desk, Asked], Awaitable[Answer | Stream]]
Refuse = Callable[[Refusal, Visit], Answer]
Target = Callable[[Asked], str]


class Parameter(Struct, frozen=True, kw_only=True):
    """A parameter behind the question mark; `read` makes its value of the text or raises InvalidInput."""

    name: str
    read: Callable[[str], Any]
    schema: Mapping[str, Any]
    text: str
    many: bool = False


class Header(Struct, frozen=True, kw_only=True):
    """A header that a handler reads by itself."""

    name: str
    text: str


class Route(Struct, frozen=True, kw_only=True):
    """A method and a path, who may use it, what it takes and what it answers.

    `fields` has the names of the body's fields by the engine's words, for what is said of bad values.
    `seconds` is how long it may take, beyond what it is asked to wait.
    `form` is what it takes from a browser in place of a JSON body; `refuse` says how what is refused is told,
    where that is not as a problem in JSON.
    `each` names the field of the body that holds many things, and of which type each of them is.
    `is_fenced` says that the handler keeps to the caller's namespace; where it does not say so, and the path
    names no job, the route is closed to keys that are bound to one. `is_routine` says that what it changes
    tells by itself who changed it, or changes too often to be put on record call by call.
    `by_lease` says that a job's lease opens it, whichever jobs the key lets be seen; keys that are bound to a
    namespace have no leases.
    `target` says for the record what is changed, where the path does not.
    `or_scope` opens it as well as `scope`, which says what it is to most of its callers.
    `stream` answers instead of `handler` whoever would rather have an event stream.
    `answers` has what each status brings; `problems` names the kinds beyond those that any request meets.
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
    is_fenced: bool = False
    is_routine: bool = False
    by_lease: bool = False
    target: Target | None = None
    refuse: Refuse | None = None

    @property
    def is_page(self) -> bool:
        """Whether browsers come here with a session."""
        return self.audience == PAGES

    @property
    def takes(self) -> str | None:
        """The media type of its body; None when it takes none."""
        return FORM if self.form is not None else JSON if self.body is not None else None

    @property
    def most_bytes(self) -> int:
        """How large its body may be."""
        if self.form is not None:
            return LARGEST_FORM
        return 0 if self.body is None else self.body_limit

    @property
    def names(self) -> list[str]:
        """The names of the path's variable parts."""
        return _PLACE.findall(self.path)

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes, any of which opens it; none where it is open to all."""
        return tuple(scope for scope in (self.scope, self.or_scope) if scope is not None)

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms in which it answers, the usual one first."""
        return (self.produces, EVENT_STREAM) if self.stream else (self.produces,)

    def bounded(self, body: int, large_body: int, seconds: float) -> "Route":
        """The same route within bounds: of a body as usual, of one that may be large, of the work."""
        return structs.replace(
            self,
            body_limit=body if self.body_limit == USUAL_BODY else large_body,
            seconds=seconds if self.seconds == USUAL_SECONDS else max(seconds, self.seconds),
        )

    @property
    def is_shared(self) -> bool:
        """Whether it is about what all namespaces share. A job that is named is looked at before all else."""
        if self.by_lease:
            return True
        return self.scope is not None and not self.is_fenced and "jobId" not in self.names

    @property
    def is_audited(self) -> bool:
        """Whether each call is put on record."""
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
            kinds.append("storage-unavailable")
        if self.scope is not None:
            kinds += ["unauthenticated", "insufficient-scope", "too-many-requests", "storage-unavailable"]
        return list(dict.fromkeys(kinds))

    def match(self, segments: list[str]) -> dict[str, str] | None:
        """The variable parts of a path with as many segments as this one; None when it is another."""
        found: dict[str, str] = {}
        for own, given in zip(self.path.split("/"), segments, strict=True):
            if place := _PLACE.fullmatch(own):
                try:
                    text = unquote(given, errors="strict")
                except UnicodeDecodeError:
                    return None
                # What can be no id may be the path of something else, whose methods are others.
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
        self._written_out: dict[tuple[str, str], Route] = {}
        # What is written out goes before what is variable.
        for route in sorted(routes, key=lambda route: len(route.names)):
            self._by_length.setdefault(route.path.count("/"), []).append(route)
            if not route.names:
                self._written_out[route.method, route.path] = route

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        """The route, and the variable parts of the path. Raises Refusal, with `Allow` for a wrong method."""
        if known := self._written_out.get((method, path)):
            return known, {}
        segments = path.split("/")
        matching = [
            (route, found)
            for route in self._by_length.get(len(segments) - 1, ())
            if (found := route.match(segments)) is not None
        ]
        if not matching:
            raise Refusal("not-found", "there is nothing at this path")
        for route, found in matching:
            if method == route.method or (method, route.method) == ("HEAD", "GET"):
                return route, found
        methods = {route.method for route, _ in matching}
        allow = sorted(methods | ({"HEAD"} if "GET" in methods else set()))
        raise Refusal("method-not-allowed", "see Allow", headers={"allow": ", ".join(allow)})
