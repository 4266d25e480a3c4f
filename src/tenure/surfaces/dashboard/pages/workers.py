"""Workers: how busy they are and when they were last heard from, with a button to drain them."""

from collections.abc import Sequence

from tenure.api import views
from tenure.api.views import WorkerItem
from tenure.surfaces.dashboard.looks import WORKERS
from tenure.surfaces.dashboard.renderer import render, see_other
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal

MOST_WORKERS = 500
MOST_SILENT = 5
"""Workers not heard from that a sentence tells of."""

ADDRESS = "/ui/workers"
_ORDER = tuple(WORKERS)


async def workers(context: AppContext, request: Request) -> Response:
    """The page of workers, those that can take jobs first."""
    found = [views.worker_item(known) for known in await context.client.workers()]
    found.sort(key=lambda worker: (_ORDER.index(worker.status), worker.host, worker.worker_id))
    live = [worker for worker in found if worker.status != "silent"]
    silent = [worker for worker in found if worker.status == "silent"]
    return render(
        request,
        "workers.html",
        fragment="_workers.html",
        workers=found[:MOST_WORKERS],
        left_out=max(0, len(found) - MOST_WORKERS),
        running=sum(worker.running for worker in live),
        slots=sum(worker.slots for worker in live),
        silent=silent[:MOST_SILENT],
        more_silent=max(0, len(silent) - MOST_SILENT),
        newest=newest_version(live),
    )


async def drain(context: AppContext, request: Request) -> Response:
    """Drain a worker: it claims no more, finishes what runs, and ends."""
    worker = request.path["workerId"]
    if not (worker.isprintable() and await context.client.drain(worker)):
        raise Refusal("not-found", "there is no such worker, or it has ended")
    return see_other(ADDRESS)


def newest_version(live: Sequence[WorkerItem]) -> str | None:
    """The newest version that runs; None if it cannot be told, or all have the same one."""
    versions = {worker.version for worker in live}
    if len(versions) < 2 or not all(part.isdecimal() for one in versions for part in one.split(".")):
        return None
    return max(versions, key=lambda one: [int(part) for part in one.split(".")])
