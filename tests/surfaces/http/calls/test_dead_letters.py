"""Dead letters in groups over HTTP, and what is done to a group."""

import pytest

from tenure.core.values.failure import Failure
from tenure.storage.contract.store import Store
from tests.storage.verbs import BOOM, claim, listed, settle, unrecoverable
from tests.surfaces.http.http_server import Api

SECRET = Failure("AuthError", "refused", 'Traceback (most recent call last):\n  password="hunter2"\n')


async def _die(api: Api, store: Store, count: int, error: Failure = BOOM) -> None:
    await api.post("/v1/jobs/batch", {"jobs": [{"definitionKey": "mail", "params": {"to": "a"}}] * count})
    await settle(store, [unrecoverable(owned, error) for owned in await claim(store, limit=count)])


async def test_a_group_is_seen_listed_and_replayed_and_no_other(api: Api, store: Store) -> None:
    await _die(api, store, 2)
    await _die(api, store, 3, SECRET)
    answer = await api.get("/v1/dead-letters")
    assert answer.status == 200
    groups = {item["error"]["kind"]: item for item in answer.json["items"]}
    assert {kind: (item["count"], item["isMore"]) for kind, item in groups.items()} == {
        "ValueError": (2, False),
        "AuthError": (3, False),
    }
    assert not answer.json["isMore"]
    assert b"hunter2" not in answer.body
    boom = groups["ValueError"]
    assert boom["definitionKey"] == "mail"
    assert boom["fingerprint"].startswith("mail:")

    page = await api.get(f"/v1/jobs?fingerprint={boom['fingerprint']}&limit=1")
    assert page.json["items"][0]["jobId"] == boom["jobId"]
    assert page.json["nextCursor"]

    body = {"filter": {"fingerprint": boom["fingerprint"]}, "replayKey": "after the fix"}
    replayed = await api.post("/v1/jobs/replay", body)
    assert (replayed.json["matched"], replayed.json["changed"]) == (2, 2)
    assert (await api.post("/v1/jobs/replay", body)).json["changed"] == 0
    assert len([job for job in await listed(store) if job.replay_of]) == 2


async def test_only_as_many_groups_as_were_asked_for(api: Api, store: Store) -> None:
    await _die(api, store, 1)
    await _die(api, store, 1, SECRET)
    answer = (await api.get("/v1/dead-letters?limit=1")).json
    assert (len(answer["items"]), answer["isMore"]) == (1, True)


@pytest.mark.parametrize("text", ["mail", "mail:xyz", "mail:0000000000001", "%20mail:000000000000"])
async def test_what_is_no_fingerprint_is_refused(api: Api, text: str) -> None:
    reply = await api.get(f"/v1/jobs?fingerprint={text}")
    assert (reply.status, reply.json["errors"][0]["parameter"]) == (422, "fingerprint")
    body = {"filter": {"fingerprint": text}}
    reply = await api.post("/v1/jobs/replay", body)
    assert (reply.status, reply.json["errors"][0]["pointer"]) == (422, "/filter/fingerprint")
