"""Authorization: the server's host names, pages of other origins, scopes."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from tenure.surfaces.http.app.caller import Caller
from tenure.surfaces.http.app.hosts import host_name
from tenure.surfaces.http.app.problems import Refusal
from tenure.surfaces.http.app.routes import Route

SAFE = frozenset({"GET", "HEAD"})


def allowed(route: Route, caller: Caller) -> bool:
    """Whether a caller may use a route."""
    if route.scope is None:
        return True
    return not caller.scopes.isdisjoint(route.scopes) and not (route.is_shared and caller.namespace)


def check_access(route: Route, caller: Caller) -> None:
    """Raise Refusal that names the scope, unless the caller may use the route."""
    if allowed(route, caller):
        return
    if not caller.scopes.isdisjoint(route.scopes):
        raise Refusal("insufficient-scope", "this call is about all namespaces, but the key is bound to one")
    raise Refusal("insufficient-scope", f"this call needs the scope {' or '.join(route.scopes)}")


def check_host(headers: Mapping[str, str], known: frozenset[str]) -> None:
    """Refuse a request for an unknown host: an attacker's name may resolve to this server (DNS rebinding)."""
    if "host" not in headers:
        raise Refusal("malformed-request", "the header Host is missing")
    if host_name(headers["host"]) not in known:
        raise Refusal(
            "misdirected-request",
            "the server does not know this host name; its operator can add it to allowed_hosts",
        )


def check_origin(method: str, headers: Mapping[str, str], *, needs_proof: bool = False) -> None:
    """Refuse a change that a page of another origin makes through a browser.

    Programs send no origin. Browsers do, and where a browser is expected the request must name one.
    """
    if method in SAFE:
        return
    if needs_proof and "origin" not in headers and "sec-fetch-site" not in headers:
        raise Refusal("csrf", "the browser sent neither Origin nor Sec-Fetch-Site; use a current one")
    if headers.get("sec-fetch-site", "same-origin") != "same-origin":
        raise Refusal("csrf", "Sec-Fetch-Site is not same-origin")
    origin = headers.get("origin")
    if origin is not None and _authority(origin) != headers.get("host", "").lower():
        raise Refusal("csrf", "Origin names another server")


def _authority(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None
