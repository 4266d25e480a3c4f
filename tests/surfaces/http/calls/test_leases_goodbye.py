"""A worker in another language that has ended says so, and is shown no more; nothing else rests on it."""

from tenure.core.model.lease import Line
from tenure.core.reports.operations import WorkerInfo
from tenure.storage.contract.store import Store
from tests.storage.verbs import enqueue_one
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Api
from tests.surfaces.http.http_worker import lease, one


async def shown(store: Store) -> list[str]:
    """The workers that there are, by the name on record."""
    return [known.worker.id for known in await store.workers()]


async def test_a_worker_that_said_goodbye_is_shown_no_more(api: Api, store: Store) -> None:
    """S1.15: once or twice; and at once again when it comes back under the same name."""
    await lease(api)
    assert await shown(store) == ["node-1@http"]
    for _ in range(2):
        reply = await api.call("DELETE", "/v1/workers/node-1")
        assert (reply.status, reply.json) == (200, {"workerId": "node-1"})
        assert await shown(store) == []
    await lease(api)
    assert await shown(store) == ["node-1@http"]


async def test_what_a_worker_still_has_is_its_own_after_its_goodbye(api: Api, store: Store) -> None:
    held = await one(api, store)
    assert (await api.call("DELETE", "/v1/workers/node-1")).status == 200
    assert (await held.call("heartbeat")).json["drain"] is False
    assert await shown(store) == []
    assert (await held.call("complete")).json["status"] == "succeeded"


async def test_nobody_says_goodbye_for_another(api: Api, store: Store) -> None:
    """Neither by another key under the same name, nor for a worker of Tenure's own."""
    own, other = bearing(await make(store, "work")), bearing(await make(store, "admin"))
    await enqueue_one(store)
    await store.enlist(
        WorkerInfo(id="own", host="h", pid=7, version="1", slots=1, lines=(Line("default", "mail"),))
    )
    await lease(api, extra=own)
    before = await shown(store)
    assert len(before) == 2
    for name in ("node-1", "own"):
        assert (await api.call("DELETE", f"/v1/workers/{name}", **other)).status == 200
    for name in before:
        expected = 200 if name == "own" else 404  # with an @ it is the name of nobody who claims
        assert (await api.call("DELETE", f"/v1/workers/{name}", **own)).status == expected
    assert await shown(store) == before
    reading = bearing(await make(store, "operate"))
    assert (await api.call("DELETE", "/v1/workers/node-1", **reading)).kind == "insufficient-scope"
    assert (await api.call("DELETE", "/v1/workers/node-1", **own)).status == 200
    assert await shown(store) == ["own"]
