"""Browser sessions: which session a request carries, and the CSRF token for the session's forms.

A session is a random text that only its browser has; the store has its hash. The token is derived from the
text, so nothing else is stored, and a page of another origin can neither read nor make it. While there are no
keys there are no sessions; the token is then the process's own.
"""

import hmac
import secrets
from collections.abc import Mapping
from uuid import UUID

from tenure.core.values import session_text
from tenure.surfaces.http.app.caller import Caller
from tenure.surfaces.http.app.page_request import PageRequest, cookie_name
from tenure.surfaces.http.auth.authentication import Authenticator


class BrowserSessions:
    """Reads the session of browser requests."""

    def __init__(self, authenticator: Authenticator, deployment: str) -> None:
        """`deployment` is the name that pages show."""
        self._authenticator = authenticator
        self._deployment = deployment
        self._process_secret = secrets.token_urlsafe(32)

    def of(self, request: UUID, method: str, url: str, headers: Mapping[str, str], peer: str) -> PageRequest:
        """The request for a page."""
        session = _session_in(headers)

        async def admit(key: str | None = None) -> Caller:
            if key is not None:
                return await self._authenticator.admit(f"Bearer {key}", b"", peer)
            query = url.partition("?")[2].encode("latin-1")
            return await self._authenticator.admit(headers.get("authorization"), query, peer, session or "")

        return PageRequest(
            request=request,
            method=method,
            url=url,
            headers=headers,
            session=session,
            csrf=hmac.digest((session or self._process_secret).encode(), b"csrf", "sha256").hex(),
            admit=admit,
            deployment=self._deployment,
        )


def _session_in(headers: Mapping[str, str]) -> str | None:
    """The session in the cookies; none where there are two, since one of them is forged."""
    wanted = cookie_name(headers)
    pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
    found = [value for name, _, value in pairs if name == wanted]
    return found[0] if len(found) == 1 and session_text.is_session(found[0]) else None
