"""Why a job does not run, over HTTP."""

from tenure.core.model.lease import Line, Pulse
from tenure.core.model.limit import Limit
from tenure.core.reports.operations import WorkerInfo
from tenure.core.values.failure import Failure
from tenure.storage.contract.store import Store
from tests.storage.verbs import claim, enqueue_one, recoverable, settle
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Api
from tests.surfaces.store_behind import NOBODY

NARROW = Limit("api", "", 1)


async def test_the_sentence_comes_with_its_code_and_the_facts_behind_it(api: Api, store: Store) -> None:
    info = WorkerInfo(id="w", host="h", pid=1, version="1", slots=4, lines=(Line("default", "mail"),))
    await store.enlist(info)
    await store.heartbeat(Pulse(worker="w", leases=[], ready=True))
    holder = await enqueue_one(store, limits=(NARROW,))
    job = await enqueue_one(store, limits=(NARROW,))
    await claim(store, "w", limit=1)
    reply = await api.get(f"/v1/jobs/{job}/why")
    assert reply.status == 200
    answer = reply.json
    assert (answer["code"], answer["since"], answer["until"]) == ("limit-full", "2030-01-01T12:00:00Z", None)
    assert answer["sentence"].startswith(f"The limit api is full: 1 of 1 held by job {holder} (mail@1).")
    assert [one["code"] for one in answer["data"]["also"]] == ["in-line"]
    assert (answer["data"]["ahead"], answer["data"]["aheadIsMore"]) == (0, False)
    assert answer["data"]["limits"] == [
        {
            "name": "api",
            "key": "",
            "size": 1,
            "held": 1,
            "holders": [
                {
                    "jobId": str(holder),
                    "definitionKey": "mail",
                    "definitionVersion": 1,
                    "workerId": "w",
                    "since": "2030-01-01T12:00:00Z",
                }
            ],
        }
    ]
    assert answer["data"]["workers"] == {
        "serving": 1,
        "draining": 0,
        "ready": 1,
        "slots": 4,
        "free": 3,
        "otherQueues": [],
        "otherVersions": [],
    }


async def test_a_key_of_a_namespace_learns_no_names_of_another(api: Api, store: Store) -> None:
    """A limit without a key holds for all namespaces; who holds it is told only to those who may know."""
    holder = await enqueue_one(store, limits=(NARROW,), namespace="globex")
    job = await enqueue_one(store, limits=(NARROW,), namespace="acme")
    await claim(store, "their-worker", limit=1)
    tenant = bearing(await make(store, "read", namespace="acme"))
    whole = bearing(await make(store, "read"))
    theirs = await api.get(f"/v1/jobs/{job}/why", **tenant)
    assert "1 of 1 held by 1 job." in theirs.json["sentence"]
    for name in (str(holder), "their-worker", "globex"):
        assert name.encode() not in theirs.body
    assert str(holder) in (await api.get(f"/v1/jobs/{job}/why", **whole)).json["sentence"]
    assert (await api.get(f"/v1/jobs/{holder}/why", **tenant)).status == 404


async def test_it_needs_the_scope_to_read(api: Api, store: Store) -> None:
    job = await enqueue_one(store)
    submitter = bearing(await make(store, "submit"))
    assert (await api.get(f"/v1/jobs/{job}/why", **submitter)).status == 403
    assert (await api.get(f"/v1/jobs/{job}/why")).status == 401


async def test_an_unknown_job_is_not_found(api: Api) -> None:
    for job in (NOBODY, "f971eaba", "no-id"):
        reply = await api.get(f"/v1/jobs/{job}/why")
        assert (reply.status, reply.kind) == (404, "not-found")


async def test_secrets_in_an_error_are_hidden(api: Api, store: Store) -> None:
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [recoverable(owned, error=Failure("OSError", "password=hunter2 was refused"))])
    answer = await api.get(f"/v1/jobs/{job}/why")
    assert "failed with OSError: password=[redacted] was refused" in answer.json["sentence"]
    assert b"hunter2" not in answer.body
