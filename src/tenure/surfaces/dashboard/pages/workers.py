"""Workers: how busy they are and when they were last heard from, with a button to drain them."""

from tenure.api import views
from tenure.surfaces.dashboard.renderer import render, see_other
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal

MOST_WORKERS = 500
ADDRESS = "/ui/workers"
_ORDER = ("ready", "unready", "draining", "silent")


async def workers(context: AppContext, request: Request) -> Response:
    """The page of workers, those that can take jobs first."""
    found = [views.worker_item(known) for known in await context.client.workers()]
    found.sort(key=lambda worker: (_ORDER.index(worker.status), worker.host, worker.worker_id))
    return render(
        request,
        "workers.html",
        fragment="_workers.html",
        workers=found[:MOST_WORKERS],
        left_out=max(0, len(found) - MOST_WORKERS),
    )


async def drain(context: AppContext, request: Request) -> Response:
    """Drain a worker: it claims no more, finishes what runs, and ends."""
    worker = request.path["workerId"]
    if not (worker.isprintable() and await context.client.drain(worker)):
        raise Refusal("not-found", "there is no such worker, or it has ended")
    return see_other(ADDRESS)
