"""Logging in with a key, and out again.

A key is sent once, in a form, and becomes a session; the session that a browser had before ends with that.
"""

import re

from tenure.core import session_text
from tenure.core.access import Deed, NewSession
from tenure.core.errors import InvalidInput
from tenure.surfaces.dashboard.rendering import render, see_other
from tenure.surfaces.http.caller import Caller
from tenure.surfaces.http.desk import Answer, Asked, Desk
from tenure.surfaces.http.forms import Form
from tenure.surfaces.http.problems import Refusal
from tenure.surfaces.http.routes import Parameter

HOME = "/"
_LOCAL = re.compile(r"/(?![/\\])[!-\[\]-~]*")
"""A path of this server: no browser takes it for another's."""


class Login(Form, frozen=True, kw_only=True):
    """A key, and where to go on with it."""

    key: str = ""
    next: str = HOME


def goal(text: str) -> str:
    """Where to go on. Raises InvalidInput for another server's address."""
    if not _LOCAL.fullmatch(text):
        raise InvalidInput("next", "is not a path of this server", "leave it out")
    return text


NEXT = Parameter(name="next", read=goal, schema={"type": "string"}, text="where to go on")


async def form(_desk: Desk, asked: Asked) -> Answer:
    """The form; who is known already goes on at once."""
    way = asked.query.get("next", HOME)
    try:
        await asked.page.admit(None)
    except Refusal as refusal:
        if refusal.kind != "unauthenticated":
            raise
        return render(asked, "login.html", way=way, problem="")
    return see_other(way)


async def log_in(desk: Desk, asked: Asked) -> Answer:
    """Begin a session."""
    way = goal(asked.body.next)
    try:
        caller = await _known(asked)
        session = await _begun(desk, asked, caller)
    except Refusal as refusal:
        status, said, headers = refusal.status, refusal.detail, dict(refusal.headers)
        headers.pop("www-authenticate", None)
        return render(asked, "login.html", status=status, headers=headers, way=way, problem=said)
    return see_other(way, {"set-cookie": asked.page.cookie(session)} if session else {})


async def log_out(desk: Desk, asked: Asked) -> Answer:
    """End the session."""
    if asked.page.session:
        await desk.store.end_session(session_text.digest(asked.page.session))
    return see_other("/login", {"set-cookie": asked.page.cookie(None)})


async def _known(asked: Asked) -> Caller:
    if asked.page.would_lose_cookies:
        raise Refusal("insufficient-scope", "over plain HTTP your browser keeps no session: come by https")
    try:
        caller = await asked.page.admit(asked.body.key.strip())
    except Refusal as refusal:
        if refusal.kind != "unauthenticated":
            raise
        raise _opens_nothing() from None
    if "read" not in caller.scopes:
        raise Refusal("insufficient-scope", "this key does not open the dashboard: it needs the scope read")
    return caller


async def _begun(desk: Desk, asked: Asked, caller: Caller) -> str | None:
    """The session's text; None where nobody needs one, because there are no keys."""
    if asked.page.session:
        await desk.store.end_session(session_text.digest(asked.page.session))
    if caller.key is None:
        return None
    text = session_text.mint()
    session = NewSession(digest=session_text.digest(text), key=caller.key)
    deed = Deed(who=caller.name, key=caller.key, action="POST /login", target="", request=asked.page.request)
    if not await desk.store.begin_session(session, deed):
        raise _opens_nothing()
    return text


def _opens_nothing() -> Refusal:
    return Refusal("unauthenticated", "this key opens nothing: is it whole, and has nobody revoked it?")
