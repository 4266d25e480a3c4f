"""Three ways to one job: what each shows of it, and to whom."""

from tenure.storage.contract.store import Store
from tests.storage.verbs import EVERY_JOB, claim
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Api

WISH = {"jobType": "mail", "payload": {"to": "ada"}, "idempotencyKey": "order-7"}


async def test_one_job_is_seen_through_all_three(api: Api, store: Store) -> None:
    """C6: whichever it came in by, each tells where it stands, in its own words."""
    made = [
        (await api.post("/jobs", WISH)).json["jobId"],
        (await api.post("/v1/jobs", {"definitionKey": "mail"})).json["jobId"],
        (await api.post("/tasks", {"type": "mail"})).json["taskId"],
    ]
    assert len(await claim(store)) == len((await store.page(EVERY_JOB)).jobs) == 3
    for job in made:
        assert (await api.get(f"/jobs/{job}")).json["status"] == "RUNNING"
        assert (await api.get(f"/v1/jobs/{job}")).json["status"] == "running"
        assert (await api.get(f"/tasks/{job}")).json["state"] == "Reserved"


async def test_what_operators_see_is_not_for_clients(api: Api, store: Store) -> None:
    """C5: a narrow view and a wide one, and a key for each."""
    client, operator = await make(store, "submit"), await make(store, "operate")
    job = (await api.post("/jobs", WISH, **bearing(client))).json["jobId"]
    await claim(store, worker="w1")
    wide = (await api.get(f"/v1/jobs/{job}", **bearing(operator))).json
    assert (wide["params"], wide["workerId"], wide["attempts"]) == ({"to": "ada"}, "w1", 1)
    narrow = (await api.get(f"/jobs/{job}", **bearing(client))).json
    assert not {"params", "payload", "workerId", "attempts", "leaseExpiresAt"} & narrow.keys()
    refused = await api.get(f"/v1/jobs/{job}", **bearing(client))
    assert (refused.status, refused.kind) == (403, "insufficient-scope")
