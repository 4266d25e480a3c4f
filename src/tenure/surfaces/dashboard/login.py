"""Login with a key, and logout.

The browser sends a key once, in a form, and gets a session; the session it had before ends then.
"""

import re

from tenure.core.errors import InvalidInput
from tenure.core.reports.access import AuditEntry, NewSession
from tenure.core.values import session_text
from tenure.surfaces.dashboard.renderer import render, see_other
from tenure.surfaces.http.app.caller import Caller
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.forms import Form
from tenure.surfaces.http.app.problems import Refusal
from tenure.surfaces.http.app.routes import Parameter

HOME = "/"
_LOCAL = re.compile(r"/(?![/\\])[!-\[\]-~]*")
"""A path of this server that no browser reads as the address of another."""


class Login(Form, frozen=True, kw_only=True):
    """A key, and the page to go to after the login."""

    key: str = ""
    next: str = HOME


def goal(text: str) -> str:
    """The page to go to. Raises InvalidInput for the address of another server."""
    if not _LOCAL.fullmatch(text):
        raise InvalidInput("next", "is not a path of this server", "leave it out")
    return text


NEXT = Parameter(name="next", read=goal, schema={"type": "string"}, text="the page to go to after the login")


async def form(_context: AppContext, request: Request) -> Response:
    """The login form; a caller that is logged in goes on at once."""
    target = request.query.get("next", HOME)
    try:
        await request.page.admit(None)
    except Refusal as refusal:
        if refusal.kind != "unauthenticated":
            raise
        return render(request, "login.html", goal=target, problem="")
    return see_other(target)


async def log_in(context: AppContext, request: Request) -> Response:
    """Begin a session."""
    target = goal(request.body.next)
    try:
        caller = await _caller(request)
        session = await _new_session(context, request, caller)
    except Refusal as refusal:
        status, detail, headers = refusal.status, refusal.detail, dict(refusal.headers)
        headers.pop("www-authenticate", None)
        return render(request, "login.html", status=status, headers=headers, goal=target, problem=detail)
    return see_other(target, {"set-cookie": request.page.cookie(session)} if session else {})


async def log_out(context: AppContext, request: Request) -> Response:
    """End the session."""
    if request.page.session:
        await context.access.end_session(session_text.digest(request.page.session))
    return see_other("/login", {"set-cookie": request.page.cookie(None)})


async def _caller(request: Request) -> Caller:
    if request.page.would_lose_cookies:
        raise Refusal("insufficient-scope", "over plain HTTP your browser keeps no session: use https")
    try:
        caller = await request.page.admit(request.body.key.strip())
    except Refusal as refusal:
        if refusal.kind != "unauthenticated":
            raise
        raise _invalid_key() from None
    if "read" not in caller.scopes:
        raise Refusal("insufficient-scope", "this key cannot open the dashboard: it needs the scope read")
    return caller


async def _new_session(context: AppContext, request: Request, caller: Caller) -> str | None:
    """The text of a new session; None if no session is needed, because there are no keys."""
    if request.page.session:
        await context.access.end_session(session_text.digest(request.page.session))
    if caller.key is None:
        return None
    text = session_text.mint()
    session = NewSession(digest=session_text.digest(text), key=caller.key)
    entry = AuditEntry(
        who=caller.name, key=caller.key, action="POST /login", target="", request=request.page.request
    )
    if not await context.access.begin_session(session, entry):
        raise _invalid_key()
    return text


def _invalid_key() -> Refusal:
    detail = "this key is not valid: check that it is complete, and neither revoked nor expired"
    return Refusal("unauthenticated", detail)
