"""The control API's ways to see and set how long finished jobs are kept, and to purge dead letters."""

from datetime import timedelta
from typing import Any

import pytest

from tenure.core.model.states import State
from tenure.core.reports.retention import Retention
from tenure.engine.client.retention import RetentionSettings
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import claim, settle, unrecoverable
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Api

DAY = 86_400.0
GOES = {"logLines": 0, "dryRun": True, "complete": True}
NOTHING = {"succeededSeconds": None, "othersSeconds": None, "keyedSeconds": None, "logSeconds": None}
USUAL = {
    "succeededSeconds": 7 * DAY,
    "othersSeconds": 30 * DAY,
    "keyedSeconds": 7 * DAY,
    "logSeconds": None,
}


async def test_what_is_set_is_shown(api: Api, store: Store) -> None:
    first = await api.get("/v1/retention")
    assert first.json["definitions"] == []
    everyone = first.json["all"]
    assert (everyone["definitionKey"], everyone["set"], everyone["inForce"]) == (None, USUAL, USUAL)
    put = await api.call("PUT", "/v1/retention/mail", {"succeededSeconds": 1.5, "logSeconds": 0})
    assert (put.status, put.json["definitionKey"], put.json["by"]) == (200, "mail", "anybody on this machine")
    assert put.json["set"] == {**NOTHING, "succeededSeconds": 1.5, "logSeconds": 0}
    assert put.json["inForce"] == {**USUAL, "succeededSeconds": 1.5, "logSeconds": 0}
    assert (await api.get("/v1/retention")).json["definitions"] == [put.json]
    policy = await store.retention()
    assert policy.of("mail").succeeded == timedelta(seconds=1.5)


async def test_a_put_sets_all_parts_and_a_delete_sets_them_back(api: Api, store: Store) -> None:
    """Both may be repeated."""
    whole = {**USUAL, "keyedSeconds": 90 * DAY, "logSeconds": DAY}
    for _ in range(2):
        assert (await api.call("PUT", "/v1/retention", whole)).json["set"] == whole
    await api.call("PUT", "/v1/retention/bill", {"othersSeconds": DAY, "keyedSeconds": 0})
    again = await api.call("PUT", "/v1/retention/bill", {"othersSeconds": 2 * DAY})
    assert again.json["set"] == {**NOTHING, "othersSeconds": 2 * DAY}
    for _ in range(2):
        back = await api.call("DELETE", "/v1/retention/bill")
        assert (back.status, back.json["set"], back.json["inForce"]) == (200, NOTHING, whole)
    assert (await store.retention()).rules == ()


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        ("/v1/retention/mail", {"succeededSeconds": -1}, "/succeededSeconds"),
        ("/v1/retention/mail", {"othersSeconds": 3653 * DAY + 1}, "/othersSeconds"),
        ("/v1/retention/mail", {"keyedSeconds": "7d"}, "/keyedSeconds"),
        ("/v1/retention/mail", {"logs": 1}, "/logs"),
        ("/v1/retention", {"succeededSeconds": 1, "othersSeconds": 1}, "/keyedSeconds"),
        ("/v1/retention", {**USUAL, "succeededSeconds": None}, "/succeededSeconds"),
    ],
)
async def test_what_is_wrong_is_named(api: Api, store: Store, path: str, body: Any, pointer: str) -> None:
    reply = await api.call("PUT", path, body)
    assert reply.status == 422
    assert [fault["pointer"] for fault in reply.json["errors"]] == [pointer]
    assert (await store.retention()).for_all == Retention()
    assert not api.bugs


async def test_a_definition_that_nobody_knows_is_refused(api: Api, store: Store) -> None:
    """A rule under a misspelt name would keep nothing and say nothing."""
    for method, body in (("PUT", {"logSeconds": 1}), ("DELETE", None)):
        for key in ("nail", "a%20b", "%00"):
            reply = await api.call(method, f"/v1/retention/{key}", body)
            assert (reply.status, reply.json["type"]) == (404, "/docs#not-found")
    assert (await store.retention()).rules == ()


async def test_readers_see_it_operators_set_it_and_it_is_on_record(api: Api, store: Store) -> None:
    reader, operator = await make(store, "read"), await make(store, "operate")
    bound = await make(store, "operate", namespace="acme")
    assert (await api.get("/v1/retention", **bearing(reader))).status == 200
    assert (await api.get("/v1/retention", **bearing(bound))).status == 403
    for key, status in ((reader, 403), (bound, 403), (operator, 200)):
        reply = await api.call("PUT", "/v1/retention/mail", {"othersSeconds": DAY}, **bearing(key))
        assert reply.status == status
    [entry, *_] = await store.audit_entries()
    assert (entry.entry.action, entry.outcome) == ("PUT /v1/retention/{key}", "200")
    assert entry.entry.target == "mail succeeded=- others=86400s keyed=- logs=-"
    assert (await store.retention()).rules[0].by == "test"


async def _dead(api: Api, store: Store, number: int, **more: object) -> list[str]:
    jobs = [
        (await api.post("/v1/jobs", {"definitionKey": "mail", **more})).json["jobId"] for _ in range(number)
    ]
    await settle(store, [unrecoverable(owned) for owned in await claim(store, limit=number)])
    return jobs


async def test_a_dry_run_counts_as_the_command_does(api: Api, store: Store, clock: Clock) -> None:
    """What is left out stays as it is set, and nothing goes: `retention set --dry-run` says the same."""
    jobs = await _dead(api, store, 3)
    await clock.advance(timedelta(days=2))
    path = "/v1/retention-dry-run"
    assert (await api.post(path, {})).json == {**GOES, "jobs": 0, "counts": []}
    counts = [{"definitionKey": "mail", "status": "failed", "jobs": 3}]
    for body in ({"othersSeconds": DAY}, {"definitionKey": "mail", "othersSeconds": DAY}):
        assert (await api.post(path, body)).json == {**GOES, "jobs": 3, "counts": counts}
    policy = await RetentionSettings(store).proposed("mail", {"others": timedelta(days=1)})
    walked = await RetentionSettings(store).walk("mail", dry=True, policy=policy)
    assert walked.counts == {("mail", State.FAILED): 3}
    await api.call("PUT", "/v1/retention/mail", {"othersSeconds": DAY})
    as_set = {"definitionKey": "mail", "othersSeconds": None}
    assert (await api.post(path, as_set)).json["jobs"] == 3
    assert [(await api.get(f"/v1/jobs/{job}")).status for job in jobs] == [200] * 3
    [entry, *_] = await store.audit_entries()
    assert entry.entry.target == "dry run: mail succeeded=- others=- keyed=- logs=-"


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        ({"succeededSeconds": -1}, 422, "/succeededSeconds"),
        ({"logs": 1}, 422, "/logs"),
        ({"definitionKey": "nail"}, 404, None),
    ],
)
async def test_a_dry_run_that_makes_no_sense_is_refused(
    api: Api, body: Any, status: int, pointer: str | None
) -> None:
    reply = await api.post("/v1/retention-dry-run", body)
    assert reply.status == status
    assert [fault["pointer"] for fault in reply.json.get("errors", [])] == ([pointer] if pointer else [])
    assert not api.bugs


async def test_a_table_that_lost_its_row_says_so_and_how_to_mend_it(
    api: Api, store: Store, backend: Backend
) -> None:
    """Not that the database does not answer; and nothing of its SQL or its place."""
    await backend.sql("DELETE FROM tenure.retention")
    purge = ("POST", "/v1/jobs/purge", {"endedBefore": "2031-01-31T08:30:00Z"})
    for method, path, body in (("GET", "/v1/retention", None), purge):
        reply = await api.call(method, path, body)
        assert (reply.status, reply.json["type"]) == (503, "/docs#retention-broken")
        assert "PUT /v1/retention" in reply.json["detail"]
        assert "row" not in reply.json["detail"]
    assert (await api.call("PUT", "/v1/retention", USUAL)).status == 200
    assert (await api.get("/v1/retention")).status == 200


async def test_dead_letters_are_purged_in_portions(api: Api, store: Store, clock: Clock) -> None:
    """S3.63: they stay for inspection until an operator deletes them, or their time is over."""
    old = await _dead(api, store, 3, tags=["red"])
    await clock.advance(timedelta(seconds=1))
    cut = (await store.now()).isoformat()
    await clock.advance(timedelta(seconds=1))
    [new] = await _dead(api, store, 1)
    body = {"endedBefore": cut, "filter": {"tag": "red"}}
    dry = await api.post("/v1/jobs/purge", {**body, "dryRun": True})
    assert (dry.json["matched"], dry.json["changed"]) == (3, 0)
    first = await api.post("/v1/jobs/purge", {**body, "limit": 2})
    assert (first.json["changed"], first.json["remaining"]) == (2, True)
    rest = await api.post("/v1/jobs/purge", {**body, "limit": 2, "cursor": first.json["nextCursor"]})
    assert (rest.json["changed"], rest.json["remaining"]) == (1, False)
    assert [(await api.get(f"/v1/jobs/{job}")).status for job in (*old, new)] == [404] * 3 + [200]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/endedBefore"),
        ({"endedBefore": "yesterday"}, "/endedBefore"),
        ({"endedBefore": "2030-01-31T08:30:00Z", "filter": {"status": ["cancelled"]}}, "/filter/status/0"),
        ({"endedBefore": "2030-01-31T08:30:00Z", "limit": 0}, "/limit"),
    ],
)
async def test_a_purge_that_is_not_clear_deletes_nothing(
    api: Api, store: Store, body: Any, pointer: str
) -> None:
    await _dead(api, store, 1)
    reply = await api.post("/v1/jobs/purge", body)
    assert reply.status == 422
    assert [fault.get("pointer") for fault in reply.json["errors"]] == [pointer]
    assert (await store.lines())[0].counts == {State.FAILED: 1}


async def test_a_key_of_a_namespace_purges_there_alone(api: Api, store: Store, clock: Clock) -> None:
    operator, reader = await make(store, "operate"), await make(store, "read")
    bound = await make(store, "operate", namespace="acme")
    theirs, own = [
        (await api.post("/v1/jobs", {"definitionKey": "mail"}, **bearing(key))).json["jobId"]
        for key in (operator, bound)
    ]
    await settle(store, [unrecoverable(owned) for owned in await claim(store, limit=2)])
    await clock.advance(timedelta(seconds=1))
    body = {"endedBefore": (await store.now()).isoformat()}
    assert (await api.post("/v1/jobs/purge", body, **bearing(bound))).json["changed"] == 1
    for job, status in ((theirs, 200), (own, 404)):
        assert (await api.get(f"/v1/jobs/{job}", **bearing(reader))).status == status
    assert (await api.post("/v1/jobs/purge", body, **bearing(reader))).status == 403
