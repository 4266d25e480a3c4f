"""Browsers at pages: the cookie that carries a session, and the token that belongs in the session's forms.

A session is a random text that only its browser has; the store has the hash. The token is made of the text:
nothing else is kept, and a page of another origin, which cannot read it, cannot make it either. While there
are no keys there are no sessions; the token is then the process's own.

On loopback the port is part of the cookie's name: cookies know no ports, and each server there has its own.
Anywhere else the cookie is for this very host and for TLS alone.
"""

import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import urlsplit
from uuid import UUID

from msgspec import Struct

from tenure.core import session_text
from tenure.core.access import SESSION_KEPT
from tenure.surfaces.http.caller import Caller
from tenure.surfaces.http.door import Door
from tenure.surfaces.http.hosts import is_local, port_of
from tenure.surfaces.http.problems import Refusal

TOKEN = "csrf"  # noqa: S105
"""The field of a form that holds the token."""

_TOKEN_HEADER = "x-csrf-token"  # noqa: S105


class Visit(Struct, frozen=True, kw_only=True):
    """One request of a browser for a page.

    `url` is the path with its parameters; `csrf` is the token for forms; `admit` answers with the caller by
    a key, or without one by the session, and raises Refusal.
    """

    request: UUID
    method: str
    url: str
    headers: Mapping[str, str]
    session: str | None
    csrf: str
    admit: Callable[[str | None], Awaitable[Caller]]

    @property
    def is_htmx(self) -> bool:
        """Whether a script asks, and not the browser for somebody who wants to go there."""
        return "hx-request" in self.headers

    @property
    def is_part(self) -> bool:
        """Whether only a part of the page is wanted."""
        return self.is_htmx and self.headers.get("hx-request-type", "partial") == "partial"

    @property
    def is_ambient(self) -> bool:
        """Whether the browser might have sent it without anybody's will: it shows no key."""
        return "authorization" not in self.headers

    @property
    def known_by(self) -> str | None:
        """The session by which the caller is known; None when it is a key."""
        return self.session if self.is_ambient else None

    @property
    def would_lose_cookies(self) -> bool:
        """Whether the browser would not keep a session, because it came by plain HTTP from elsewhere."""
        return not is_local(self.headers) and urlsplit(self.headers.get("origin", "")).scheme == "http"

    def check_token(self, told: str | None) -> None:
        """Raise Refusal unless a form, or the header, has the token of this visit's session."""
        shown = told or self.headers.get(_TOKEN_HEADER, "")
        if self.is_ambient and not hmac.compare_digest(shown.encode(), self.csrf.encode()):
            raise Refusal("csrf", "the form belongs to another session: load its page again")

    def cookie(self, session: str | None) -> str:
        """What lets the browser keep a session from now on, or forget the one it has."""
        kept = int(SESSION_KEPT.total_seconds()) if session else 0
        secure = "" if is_local(self.headers) else "; Secure"
        name = _cookie_name(self.headers)
        return f"{name}={session or ''}; Path=/; Max-Age={kept}; HttpOnly; SameSite=Strict{secure}"


class Visits:
    """Makes a visit of a request."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._own = secrets.token_urlsafe(32)

    def of(self, request: UUID, method: str, url: str, headers: Mapping[str, str], peer: str) -> Visit:
        """The visit."""
        session = _session_in(headers)

        async def admit(key: str | None = None) -> Caller:
            if key is not None:
                return await self._door.admit(f"Bearer {key}", b"", peer)
            query = url.partition("?")[2].encode("latin-1")
            return await self._door.admit(headers.get("authorization"), query, peer, session or "")

        return Visit(
            request=request,
            method=method,
            url=url,
            headers=headers,
            session=session,
            csrf=hmac.digest((session or self._own).encode(), b"csrf", "sha256").hex(),
            admit=admit,
        )


def _session_in(headers: Mapping[str, str]) -> str | None:
    """The session that the cookies hold; none where there are two, for one of them is somebody else's."""
    wanted = _cookie_name(headers)
    pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
    found = [value for name, _, value in pairs if name == wanted]
    return found[0] if len(found) == 1 and session_text.is_session(found[0]) else None


def _cookie_name(headers: Mapping[str, str]) -> str:
    if not is_local(headers):
        return "__Host-tenure"
    return f"tenure-{port_of(headers.get('host', '')) or 80}"
