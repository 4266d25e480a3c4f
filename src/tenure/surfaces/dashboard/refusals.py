"""Refusals as pages: the problem in words, or the way to the login for a browser without a session."""

import re
from urllib.parse import quote

from tenure.api.problem import KINDS
from tenure.surfaces.dashboard.pages.addresses import JOBS
from tenure.surfaces.dashboard.renderer import HEADERS, see_other, written
from tenure.surfaces.http.app.caller import NOBODY
from tenure.surfaces.http.app.context import Response
from tenure.surfaces.http.app.page_request import PageRequest
from tenure.surfaces.http.app.problems import Refusal

LOGIN = "/login"

_A_JOB = re.compile(rf"{JOBS}/[0-9a-f-]{{36}}(?=/)")
"""The page of the job to which a form belongs."""


def refuse(refusal: Refusal, page: PageRequest) -> Response:
    """The answer to a browser whose request is refused."""
    headers = {**refusal.headers, **HEADERS}
    if refusal.kind == "unauthenticated":
        headers.pop("www-authenticate", None)  # a browser would ask for a name and a password
        login = f"{LOGIN}?next={quote(_goal(page), safe='/')}"
        if page.is_htmx:
            headers["hx-redirect"] = login
        elif page.method in {"GET", "HEAD"}:
            return _to_login(page, login)
    problem = {
        "status": refusal.status,
        "title": KINDS[refusal.kind].title,
        "detail": refusal.detail,
        "errors": refusal.errors,
        "request_id": page.request,
        "job": found[0] if (found := _A_JOB.match(page.url)) else None,
    }
    template = "_problem.html" if page.is_part else "problem.html"
    return Response(refusal.status, written(template, NOBODY, page, {"problem": problem}), headers)


def _to_login(page: PageRequest, login: str) -> Response:
    """Go to the login, which leads on a browser with a session.

    A browser sends no cookie with a link from another site, but does so from a page of this server: such a
    page leads on to the login.
    """
    if page.headers.get("sec-fetch-site") != "cross-site":
        return see_other(login)
    return Response(200, written("onward.html", NOBODY, page, {"goal": login}), HEADERS)


def _goal(page: PageRequest) -> str:
    """The page to go to after the login; for the request of a script it is not known."""
    return "/" if page.is_htmx or page.method not in {"GET", "HEAD"} else page.url
