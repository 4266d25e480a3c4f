"""Every address that only reads: of each page, and of each route of the API that reads jobs."""

from collections.abc import Iterator, Mapping

from tenure.core.states import State
from tenure.surfaces.dashboard.rendering import HTML
from tenure.surfaces.dashboard.table import PAGES
from tenure.surfaces.http.routes import JSON, Route
from tenure.surfaces.http.table import ROUTES

QUERIES = {
    "/": ("period=hour", "period=day"),
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
    "/ui/jobs/{jobId}": ("", "events=0&attempts=0&log=0.0"),
    "/v1/jobs": ("", "status=failed", "tag={tag}", "queue={queue}", "fingerprint={fingerprint}"),
}
"""What is asked behind the question mark, by path; of any other path nothing."""


def reads() -> Iterator[Route]:
    """The routes by which somebody looks at what is in a store; hints and feeds are not among them."""
    for route in (*PAGES, *ROUTES):
        if route.method == "GET" and route.produces in {HTML, JSON} and route.scope is not None:
            yield route


def addresses(names: Mapping[str, str]) -> dict[str, list[str]]:
    """Where to look, by route; `names` has what fills the places in paths and queries."""
    return {
        route.path: [
            f"{route.path}?{query}".removesuffix("?").format_map(names)
            for query in QUERIES.get(route.path, ("",))
        ]
        for route in reads()
    }
