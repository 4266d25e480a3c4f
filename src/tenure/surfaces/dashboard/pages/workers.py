"""Workers: who they are, how busy, when they were last heard of, and the way to let one end in peace."""

from tenure.surfaces import views
from tenure.surfaces.dashboard.rendering import render, see_other
from tenure.surfaces.http.desk import Answer, Asked, Desk
from tenure.surfaces.http.problems import Refusal

MOST_WORKERS = 500
ADDRESS = "/ui/workers"
_ORDER = ("ready", "unready", "draining", "silent")


async def workers(desk: Desk, asked: Asked) -> Answer:
    """Every worker, those that can take jobs first."""
    found = [views.worker_item(known) for known in await desk.client.workers()]
    found.sort(key=lambda worker: (_ORDER.index(worker.status), worker.host, worker.worker_id))
    return render(
        asked,
        "workers.html",
        fragment="_workers.html",
        workers=found[:MOST_WORKERS],
        left_out=max(0, len(found) - MOST_WORKERS),
    )


async def drain(desk: Desk, asked: Asked) -> Answer:
    """Ask a worker to claim no more, finish what runs, and end."""
    worker = asked.path["workerId"]
    if not (worker.isprintable() and await desk.client.drain(worker)):
        raise Refusal("not-found", "there is no such worker, or no longer")
    return see_other(ADDRESS)
