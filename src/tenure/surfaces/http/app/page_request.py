"""One request of a browser for a page: the session and the CSRF token that it carries, and its cookie.

On loopback the port is part of the cookie's name: cookies ignore ports, and each server there needs its own.
Elsewhere the cookie is for this host and for TLS alone.
"""

import hmac
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import urlsplit
from uuid import UUID

from msgspec import Struct

from tenure.core.reports.access import SESSION_KEPT
from tenure.surfaces.http.app.caller import Caller
from tenure.surfaces.http.app.hosts import is_local, port_of
from tenure.surfaces.http.app.problems import Refusal

TOKEN = "csrf"  # noqa: S105
"""The field of a form that holds the CSRF token."""

_TOKEN_HEADER = "x-csrf-token"  # noqa: S105


class PageCount(Struct, frozen=True):
    """What on a page wants somebody, in a word or two, and how bad that is."""

    text: str
    tone: str


class PageRequest(Struct, frozen=True, kw_only=True):
    """One request of a browser for a page.

    `url` is the path with its query; `csrf` is the token for forms; `admit` resolves the caller by a key, or
    without one by the session, or raises Refusal. `deployment` is the name of this installation, so that
    nobody acts in the wrong window. `wanted` is what other pages want somebody for, by their paths.
    """

    request: UUID
    method: str
    url: str
    headers: Mapping[str, str]
    session: str | None
    csrf: str
    admit: Callable[[str | None], Awaitable[Caller]]
    deployment: str = ""
    wanted: Mapping[str, PageCount] = {}

    @property
    def is_htmx(self) -> bool:
        """Whether htmx sends it, and not the browser itself."""
        return "hx-request" in self.headers

    @property
    def is_part(self) -> bool:
        """Whether it asks for only a part of the page."""
        return self.is_htmx and self.headers.get("hx-request-type", "partial") == "partial"

    @property
    def is_ambient(self) -> bool:
        """Whether the browser may have sent it without its user's intent: it carries no key."""
        return "authorization" not in self.headers

    @property
    def known_by(self) -> str | None:
        """The session that identifies the caller; None when a key does."""
        return self.session if self.is_ambient else None

    @property
    def would_lose_cookies(self) -> bool:
        """Whether the browser would drop the cookie, since it uses plain HTTP from another machine."""
        return not is_local(self.headers) and urlsplit(self.headers.get("origin", "")).scheme == "http"

    def check_token(self, token: str | None) -> None:
        """Raise Refusal unless the form, or the header, has the token of this session."""
        shown = token or self.headers.get(_TOKEN_HEADER, "")
        if self.is_ambient and not hmac.compare_digest(shown.encode(), self.csrf.encode()):
            raise Refusal("csrf", "the form belongs to another session; reload its page and send it again")

    def cookie(self, session: str | None) -> str:
        """The Set-Cookie value that stores a session in the browser, or removes the one it has."""
        kept = int(SESSION_KEPT.total_seconds()) if session else 0
        secure = "" if is_local(self.headers) else "; Secure"
        name = cookie_name(self.headers)
        return f"{name}={session or ''}; Path=/; Max-Age={kept}; HttpOnly; SameSite=Strict{secure}"


def cookie_name(headers: Mapping[str, str]) -> str:
    """The name of the cookie that holds the session, for a server of this name."""
    if not is_local(headers):
        return "__Host-tenure"
    return f"tenure-{port_of(headers.get('host', '')) or 80}"
