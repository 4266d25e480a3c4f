"""The control API's ways to act on all jobs of a filter."""

from uuid import UUID

import pytest

from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.verbs import EVERY_JOB, claim, found, settle, unrecoverable
from tests.surfaces.http.http_server import Api

MAIL = {"definitionKey": "mail"}


async def _create(api: Api, count: int, **more: object) -> list[str]:
    reply = await api.post("/v1/jobs/batch", {"jobs": [{**MAIL, **more}] * count})
    return [item["jobId"] for item in reply.json["items"]]


async def _fail(store: Store, count: int) -> None:
    await settle(store, [unrecoverable(claimed) for claimed in await claim(store, limit=count)])


async def _counts(store: Store) -> dict[State, int]:
    counts: dict[State, int] = {}
    for status in await store.lines():
        for state, n in status.counts.items():
            counts[state] = counts.get(state, 0) + n
    return counts


async def test_the_jobs_of_a_filter_are_cancelled_and_no_others(api: Api, store: Store) -> None:
    """S1.50: waiting ones at once, running ones by asking."""
    await _create(api, 3, tags=["red"])
    [running] = await claim(store, limit=1)
    await _create(api, 2)
    reply = await api.post("/v1/jobs/cancel", {"filter": {"tag": "red"}, "reason": "spring"})
    assert reply.status == 200
    assert reply.json == {"matched": 3, "changed": 3, "remaining": False, "nextCursor": None}
    assert await _counts(store) == {State.CANCELLED: 2, State.CANCELLING: 1, State.QUEUED: 2}
    assert (await store.events(running.lease.job))[-1].reason == "spring"
    again = await api.post("/v1/jobs/cancel", {"filter": {"tag": "red"}})
    assert (again.json["matched"], again.json["changed"]) == (1, 0)


async def test_each_part_of_a_filter_narrows(api: Api, store: Store) -> None:
    await _create(api, 1, queue="slow")
    await _create(api, 2, definitionKey="bill")
    await _create(api, 3, hold=True)
    for count, which in {
        1: {"queue": "slow"},
        2: {"definitionKey": "bill", "createdAfter": "2000-01-01T00:00:00Z"},
        3: {"status": ["created", "scheduled"]},
        4: {"definitionKey": "mail"},
        0: {"createdBefore": "2000-01-01T00:00:00Z"},
    }.items():
        reply = await api.post("/v1/jobs/cancel", {"filter": which, "dryRun": True})
        assert (reply.json["matched"], reply.json["changed"]) == (count, 0), which
    assert await _counts(store) == {State.QUEUED: 3, State.CREATED: 3}


@pytest.mark.parametrize("verb", ["cancel", "replay"])
async def test_a_filter_that_says_nothing_is_refused_unless_all_are_meant(api: Api, verb: str) -> None:
    empty: dict[str, list[dict[str, object]]] = {
        "/filter": [{}, {"filter": {}}, {"filter": {}, "dryRun": True}],
        "/filter/status": [{"filter": {"status": []}, "all": True}],
    }
    for pointer, bodies in empty.items():
        for body in bodies:
            reply = await api.post(f"/v1/jobs/{verb}", body)
            assert (reply.status, reply.json["errors"][0]["pointer"]) == (422, pointer)
    assert (await api.post(f"/v1/jobs/{verb}", {"all": True})).status == 200


async def test_dead_letters_are_replayed_and_nothing_else(api: Api, store: Store) -> None:
    """What succeeded or was cancelled only where it is named."""
    failed = await _create(api, 3)
    await _fail(store, 3)
    await _create(api, 1)
    await api.post("/v1/jobs/cancel", {"all": True})
    reply = await api.post("/v1/jobs/replay", {"all": True})
    assert reply.json == {"matched": 3, "changed": 3, "remaining": False, "nextCursor": None}
    made = [job for job in (await store.page(EVERY_JOB)).jobs if job.replay_of]
    assert {str(job.replay_of) for job in made} == set(failed)
    reply = await api.post("/v1/jobs/replay", {"filter": {"status": ["cancelled"]}})
    assert reply.json["changed"] == 1


async def test_a_replay_with_a_key_runs_no_job_twice(api: Api, store: Store) -> None:
    """A request that is sent again after its replays have ended makes nothing new."""
    await _create(api, 4)
    await _fail(store, 4)
    body = {"all": True, "replayKey": "tuesday", "limit": 3}
    first = (await api.post("/v1/jobs/replay", body)).json
    assert (first["matched"], first["changed"], first["remaining"]) == (3, 3, True)
    assert (await api.post("/v1/jobs/replay", body)).json == {**first, "changed": 0}
    rest = (await api.post("/v1/jobs/replay", {**body, "cursor": first["nextCursor"]})).json
    assert (rest["matched"], rest["changed"], rest["remaining"]) == (1, 1, False)
    await _fail(store, 4)
    again = (await api.post("/v1/jobs/replay", {**body, "limit": 1000})).json
    assert (again["matched"], again["changed"]) == (8, 4)  # the four new dead letters, and not the old ones


async def test_a_sweep_goes_on_where_it_stopped_and_ends(api: Api, store: Store) -> None:
    """Though what it makes matches as well before it is over."""
    await _create(api, 25)
    await _fail(store, 25)
    cursor: dict[str, str] = {}
    changed, requests = 0, 0
    while True:
        reply = (await api.post("/v1/jobs/replay", {"all": True, "limit": 10, **cursor})).json
        changed, requests = changed + reply["changed"], requests + 1
        await _fail(store, 100)
        if not reply["remaining"]:
            break
        cursor = {"cursor": reply["nextCursor"]}
    assert (changed, requests) == (25, 3)


async def test_what_is_counted_is_bounded(api: Api) -> None:
    """At least so many, when there are more than a request may touch."""
    await _create(api, 1_001)
    reply = (await api.post("/v1/jobs/cancel", {"all": True, "dryRun": True})).json
    assert (reply["matched"], reply["remaining"]) == (1_000, True)
    rest = {"all": True, "dryRun": True, "cursor": reply["nextCursor"]}
    assert (await api.post("/v1/jobs/cancel", rest)).json["matched"] == 1


BAD: dict[str, tuple[str, dict[str, object], str]] = {
    "a status of another kind": ("cancel", {"filter": {"status": ["queued", "failed"]}}, "/filter/status/1"),
    "replaying what runs": ("replay", {"filter": {"status": ["running"]}}, "/filter/status/0"),
    "an unknown status": ("cancel", {"filter": {"status": ["nope"]}}, "/filter/status/0"),
    "an unknown field": ("cancel", {"filter": {"definition": "mail"}}, "/filter/definition"),
    "a name that is none": ("cancel", {"filter": {"queue": "%_\\"}}, "/filter/queue"),
    "a time that is none": ("cancel", {"filter": {"createdAfter": "yesterday"}}, "/filter/createdAfter"),
    "no jobs at all": ("cancel", {"all": True, "limit": 0}, "/limit"),
    "too many": ("replay", {"all": True, "limit": 1_001}, "/limit"),
    "an empty key": ("replay", {"all": True, "replayKey": ""}, "/replayKey"),
    "a key that cannot be kept": ("replay", {"all": True, "replayKey": "a\nb"}, "/replayKey"),
    "a reason that cannot be kept": ("cancel", {"all": True, "reason": "a\nb"}, "/reason"),
}


async def test_a_sweep_that_cannot_be_is_refused(api: Api, store: Store) -> None:
    await _create(api, 1)
    replies = {name: await api.post(f"/v1/jobs/{verb}", body) for name, (verb, body, _) in BAD.items()}
    found = {name: (reply.status, reply.json["errors"][0]["pointer"]) for name, reply in replies.items()}
    assert found == {name: (422, pointer) for name, (_, _, pointer) in BAD.items()}
    assert await _counts(store) == {State.QUEUED: 1}


async def test_a_cursor_belongs_to_its_sweep(api: Api) -> None:
    """Row 41: another filter, another verb, or none."""
    await _create(api, 2)
    cursor = (await api.post("/v1/jobs/cancel", {"all": True, "limit": 1})).json["nextCursor"]
    for verb, body in (
        ("cancel", {"filter": {"queue": "default"}, "cursor": cursor}),
        ("replay", {"all": True, "cursor": cursor}),
        ("cancel", {"all": True, "cursor": "garbage"}),
    ):
        reply = await api.post(f"/v1/jobs/{verb}", body)
        assert (reply.status, reply.kind) == (400, "invalid-cursor")
    assert (await api.post("/v1/jobs/cancel", {"all": True, "cursor": cursor})).json["changed"] == 1


async def test_one_replay_may_have_a_key_too(api: Api, store: Store) -> None:
    [job] = await _create(api, 1)
    await _fail(store, 1)
    first = await api.post(f"/v1/jobs/{job}/replay", {"replayKey": "k"})
    await _fail(store, 1)
    again = await api.post(f"/v1/jobs/{job}/replay", {"replayKey": "k"})
    assert again.json == {"jobId": first.json["jobId"], "status": "failed"}
    assert (await found(store, UUID(first.json["jobId"]))).replay_of == UUID(job)
