"""Who may call what, and from where: names of the server, pages of other origins, scopes."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from tenure.surfaces.http.caller import Caller
from tenure.surfaces.http.hosts import host_name
from tenure.surfaces.http.problems import Refusal
from tenure.surfaces.http.routes import Route

SAFE = frozenset({"GET", "HEAD"})


def allowed(route: Route, caller: Caller) -> bool:
    """Whether a caller may use a route."""
    if route.scope is None:
        return True
    return not caller.scopes.isdisjoint(route.scopes) and not (route.is_shared and caller.namespace)


def check_access(route: Route, caller: Caller) -> None:
    """Raise Refusal, which names the scope, unless the caller may use the route."""
    if allowed(route, caller):
        return
    if not caller.scopes.isdisjoint(route.scopes):
        raise Refusal("insufficient-scope", "this is about all namespaces, and the key is bound to one")
    raise Refusal("insufficient-scope", f"this needs the scope {' or '.join(route.scopes)}")


def check_host(headers: Mapping[str, str], known: frozenset[str]) -> None:
    """Refuse a request for another server: a name that leads here may belong to somebody's page."""
    if "host" not in headers:
        raise Refusal("malformed-request", "the request names no host")
    if host_name(headers["host"]) not in known:
        raise Refusal("misdirected-request", "the host is none of this server's names")


def check_origin(method: str, headers: Mapping[str, str], *, needs_proof: bool = False) -> None:
    """Refuse what a page of another origin would have somebody's browser change here.

    Programs say nothing of their origin. A browser does, and where one is expected it must.
    """
    if method in SAFE:
        return
    if needs_proof and "origin" not in headers and "sec-fetch-site" not in headers:
        raise Refusal("csrf", "neither Origin nor Sec-Fetch-Site says where the request comes from")
    if headers.get("sec-fetch-site", "same-origin") != "same-origin":
        raise Refusal("csrf", "Sec-Fetch-Site is not same-origin")
    origin = headers.get("origin")
    if origin is not None and _authority(origin) != headers.get("host", "").lower():
        raise Refusal("csrf", "Origin is not this server")


def _authority(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None
