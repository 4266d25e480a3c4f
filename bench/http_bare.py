"""The product's server with the storage taken out: what `POST /jobs` costs before anything is kept."""

import sys
from collections.abc import Collection, Sequence
from typing import Any
from uuid import uuid4

from tenure.core.model.job import Enqueued, NewJob
from tenure.core.model.spec import Spec
from tenure.core.model.states import State
from tenure.core.reports.access import Keyring
from tenure.core.reports.operations import Definition
from tenure.core.values.documents import write
from tenure.engine.client.client import JobClient
from tenure.engine.client.registry import Registry
from tenure.surfaces.cli.process.event_loop import run
from tenure.surfaces.http.app.context import AppContext
from tenure.surfaces.http.calls.table import ROUTES
from tenure.surfaces.http.server.server import Server, listen

DEFINITION = "bench.welcome"
SPEC = Spec(
    key=DEFINITION,
    params_schema=write({"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}),
)


class Nothing:
    """A store as far as the route needs one: no keys, one definition, and the word that a job is kept."""

    async def find_keys(self, _ids: Collection[str]) -> Keyring:
        return Keyring((), is_locked=False)

    async def depth(self, _queue: str) -> int:
        return 0

    async def definitions(self) -> list[Definition]:
        return [registered()]

    async def enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        return [Enqueued(uuid4(), State.QUEUED, fresh=True, matches=True) for _ in jobs]


def registered() -> Definition:
    """The one definition, as a worker would register it."""
    return Definition(key=SPEC.key, version=SPEC.version, spec=SPEC.document())


async def _serve() -> int:
    store: Any = Nothing()
    server = Server(
        AppContext(store, JobClient(store, Registry())),
        listen("127.0.0.1", 0),
        routes=ROUTES,
        on_bug=lambda request, error: print(f"request {request} failed: {error!r}", file=sys.stderr),
    )
    print(f"{server.url} on nothing", file=sys.stderr, flush=True)
    await server.run()
    return 0


if __name__ == "__main__":
    sys.exit(run(_serve()))
