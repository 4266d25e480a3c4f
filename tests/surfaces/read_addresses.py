"""Every address that only reads: those of the pages, and of the API's routes that read jobs."""

from collections.abc import Iterator, Mapping

from tenure.core.model.states import State
from tenure.surfaces.dashboard.renderer import HTML
from tenure.surfaces.dashboard.table import PAGES
from tenure.surfaces.http.app.routes import JSON, Route
from tenure.surfaces.http.calls.table import ROUTES

QUERIES = {
    "/": ("period=hour", "period=day&order=slowest", "period=week&order=failing", "first=run"),
    "/ui/jobs": (
        *("", "sort=createdAt", *(f"status={state}" for state in State)),
        *("status=failed&status=buried&status=retrying", "status=queued&status=succeeded"),
        *("q=definition:{definition}", "q=queue:{queue}", "q=queue:{queue}&status=queued", "q=tag:{tag}"),
        *(
            "q=fingerprint:{fingerprint}",
            "q=after:{moment}",
            "q=before:{moment}",
            "q=tag:{tag}&status=buried",
        ),
    ),
    "/ui/jobs/{jobId}": ("", "events=0&attempts=0&log=0.0", "trace=all&level=warnings"),
    "/ui/dead-letters": ("", "order=most&within=day&q=no"),
    "/v1/jobs": ("", "status=failed", "tag={tag}", "queue={queue}", "fingerprint={fingerprint}"),
}
"""Query strings, by path; other paths have none."""


def reads() -> Iterator[Route]:
    """The routes that read what is in a store: no hints, no feeds, nothing for holders of leases alone.

    The page about one key is left out: with a key, the server would ask each reader for one.
    """
    for route in (*PAGES, *ROUTES):
        reads = route.method == "GET" and route.produces in {HTML, JSON} and route.scope is not None
        if reads and "keyId" not in route.names and not route.path.startswith("/v1/leases/"):
            yield route


def addresses(names: Mapping[str, str]) -> dict[str, list[str]]:
    """The addresses, by route; `names` fills the placeholders in paths and queries."""
    return {
        route.path: [
            f"{route.path}?{query}".removesuffix("?").format_map(names)
            for query in QUERIES.get(route.path, ("",))
        ]
        for route in reads()
    }
