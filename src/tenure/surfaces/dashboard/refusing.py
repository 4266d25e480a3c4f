"""What is refused, as pages: a problem in words, and the way to the login for whoever has no session."""

from urllib.parse import quote

from tenure.surfaces.dashboard.rendering import HEADERS, see_other, written
from tenure.surfaces.http.caller import NOBODY
from tenure.surfaces.http.desk import Answer
from tenure.surfaces.http.problems import KINDS, Refusal
from tenure.surfaces.http.visits import Visit

LOGIN = "/login"


def refuse(refusal: Refusal, visit: Visit) -> Answer:
    """The answer to a browser."""
    headers = {**refusal.headers, **HEADERS}
    if refusal.kind == "unauthenticated":
        headers.pop("www-authenticate", None)  # a browser would ask for a name and a password
        way = f"{LOGIN}?next={quote(_goal(visit), safe='/')}"
        if visit.is_htmx:
            headers["hx-redirect"] = way
        elif visit.method in {"GET", "HEAD"}:
            return _to_login(visit, way)
    problem = {
        "status": refusal.status,
        "title": KINDS[refusal.kind].title,
        "detail": refusal.detail,
        "errors": refusal.errors,
        "request_id": visit.request,
    }
    template = "_problem.html" if visit.is_part else "problem.html"
    return Answer(refusal.status, written(template, NOBODY, visit, {"problem": problem}), headers)


def _to_login(visit: Visit, way: str) -> Answer:
    """Who comes by a link from elsewhere may well have a session, but no browser sends its cookie then.

    It does when a page of ours leads on, and the login does so for whoever is known.
    """
    if visit.headers.get("sec-fetch-site") != "cross-site":
        return see_other(way)
    return Answer(200, written("onward.html", NOBODY, visit, {"way": way}), HEADERS)


def _goal(visit: Visit) -> str:
    """Where somebody wanted to go; of a script's request, the page that it is on would be a guess."""
    return "/" if visit.is_htmx or visit.method not in {"GET", "HEAD"} else visit.url
