"""Schedules over HTTP: made, read, changed, paused, run by hand and deleted; what is no good is refused."""

from typing import Any

import pytest

from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import seconds
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Api, Reply

NIGHTLY = {"id": "nightly", "definitionKey": "mail", "params": {"to": "ada"}, "cron": "0 3 * * *"}


async def put(api: Api, **terms: Any) -> Reply:
    return await api.call("POST", "/v1/schedules", {**NIGHTLY, **terms})


async def change(api: Api, body: Any, revision: int | None = None) -> Reply:
    headers = {} if revision is None else {"if-match": f'"{revision}"'}
    return await api.call("PATCH", "/v1/schedules/nightly", body, headers=headers)


async def test_a_schedule_is_created_and_read(api: Api) -> None:
    """S1.7, S1.45, S1.64: with its zone, its job, and when it fires next."""
    made = await put(api, timezone="Europe/Berlin", priority=7, tags=["a"], missed="skip", overlap="queue")
    assert (made.status, made.headers["location"]) == (201, "/v1/schedules/nightly")
    assert made.headers["etag"] == '"1"'
    item = made.json
    assert (item["cron"], item["timezone"], item["missed"], item["overlap"]) == (
        "0 3 * * *",
        "Europe/Berlin",
        "skip",
        "queue",
    )
    assert (item["params"], item["priority"], item["source"], item["paused"]) == (
        {"to": "ada"},
        7,
        "api",
        False,
    )
    assert item["nextAt"] is not None
    assert (await api.get("/v1/schedules/nightly")).json == item
    assert (await api.get("/v1/schedules")).json == {"items": [item], "nextCursor": None}
    coming = (await api.get("/v1/schedules/nightly/next?count=3")).json["items"]
    assert coming[0] == {"at": item["nextAt"], "startsAt": item["nextAt"], "clockChange": None}
    assert len({one["at"] for one in coming}) == 3


async def test_a_name_is_given_once(api: Api) -> None:
    await put(api)
    again = await put(api, cron="@hourly")
    assert (again.status, again.kind) == (409, "schedule-exists")
    assert (await api.get("/v1/schedules/nightly")).json["cron"] == "0 3 * * *"


async def test_pages_go_on_where_the_last_one_ended(api: Api) -> None:
    for name in "dbac":
        await put(api, id=name, definitionKey="bill", params={})
    first = (await api.get("/v1/schedules?limit=3")).json
    assert [one["id"] for one in first["items"]] == ["a", "b", "c"]
    second = (await api.get(f"/v1/schedules?limit=3&cursor={first['nextCursor']}")).json
    assert [one["id"] for one in second["items"]] == ["d"]
    assert (await api.get("/v1/schedules?definitionKey=mail")).json["items"] == []
    elsewhere = await api.get(f"/v1/schedules?definitionKey=mail&cursor={first['nextCursor']}")
    assert (elsewhere.status, elsewhere.kind) == (400, "invalid-cursor")


async def test_only_what_was_read_can_be_changed(api: Api) -> None:
    """Of two who edit at once, the second is told."""
    await put(api, remaining=5)
    assert (await change(api, {"cron": "@hourly"})).kind == "revision-required"
    changed = await change(api, {"everySeconds": 90, "remaining": None, "queue": "slow"}, 1)
    assert (changed.status, changed.headers["etag"]) == (200, '"2"')
    assert (changed.json["cron"], changed.json["everySeconds"], changed.json["remaining"]) == (None, 90, None)
    assert (changed.json["params"], changed.json["queue"]) == ({"to": "ada"}, "slow")
    late = await change(api, {"cron": "@daily"}, 1)
    assert (late.status, late.kind) == (412, "revision-mismatch")
    assert (await api.get("/v1/schedules/nightly")).json == changed.json


async def test_pause_resume_and_delete(api: Api) -> None:
    await put(api)
    paused = await api.call("POST", "/v1/schedules/nightly/pause", {"reason": "holidays"})
    assert (paused.json["paused"], paused.json["reason"]) == (True, "holidays")
    resumed = await api.call("POST", "/v1/schedules/nightly/resume")
    assert (resumed.json["paused"], resumed.json["reason"]) == (False, None)
    gone = await api.call("DELETE", "/v1/schedules/nightly")
    assert (gone.status, gone.json) == (200, {"id": "nightly"})
    for method, path in (
        ("GET", ""),
        ("DELETE", ""),
        ("POST", "/pause"),
        ("POST", "/trigger"),
        ("GET", "/ticks"),
    ):
        assert (await api.call(method, f"/v1/schedules/nightly{path}")).kind == "not-found"


async def test_ticks_that_pass_during_a_pause_are_missed_unless_asked_for(api: Api, clock: Clock) -> None:
    """S1.66: nobody expects a month of runs when a schedule is resumed."""
    for name, body in (("a", {}), ("b", {"catchUp": True})):
        await put(api, id=name, cron="* * * * *")
        await api.call("POST", f"/v1/schedules/{name}/pause")
        await clock.advance(seconds(180))
        await api.call("POST", f"/v1/schedules/{name}/resume", body)
    [missed] = (await api.get("/v1/schedules/a/ticks")).json["items"]
    assert (missed["outcome"], missed["count"], missed["jobId"]) == ("missed", 3, None)
    assert (await api.get("/v1/schedules/b/ticks")).json["items"] == []


async def test_a_run_by_hand_is_on_record(api: Api) -> None:
    await put(api)
    run = await api.call("POST", "/v1/schedules/nightly/trigger", {"params": {"to": "bob"}})
    assert (run.status, run.json["outcome"]) == (202, "by_hand")
    job = (await api.get(run.headers["location"])).json
    assert (job["params"], job["status"], job["createdBy"]) == ({"to": "bob"}, "queued", "schedule:nightly")
    [tick] = (await api.get("/v1/schedules/nightly/ticks")).json["items"]
    assert (tick["jobId"], tick["jobStatus"]) == (run.json["jobId"], "queued")


@pytest.mark.parametrize(
    ("terms", "kind", "words"),
    [
        ({"cron": "0 0 0 * * *"}, "validation", "has 6 fields; give five"),
        ({"cron": "61 * * * *"}, "validation", "field 1, minute, is '61'"),
        ({"cron": "0 0 30 2 *"}, "validation", "never fires"),
        ({"timezone": "Europe/Berlinn"}, "validation", "did you mean Europe/Berlin"),
        ({"everySeconds": 60}, "validation", "is given beside an interval; give one of the two"),
        ({"cron": None}, "validation", ""),
        ({"everySeconds": 0}, "validation", ""),
        ({"everySeconds": -1}, "validation", ""),
        ({"everySeconds": 0.000001}, "validation", ""),
        ({"remaining": 0}, "validation", ""),
        (
            {"startsAt": "2030-01-01T00:00:00Z", "endsAt": "2029-01-01T00:00:00Z"},
            "validation",
            "before the start at 2",
        ),
        ({"endsAt": "2000-01-01T00:00:00Z"}, "validation", "endsAt"),
        ({"startsAt": "tomorrow"}, "validation", "startsAt"),
        ({"id": "x" * 10_000}, "validation", ""),
        ({"id": "../x"}, "validation", ""),
        ({"definitionKey": "nothing"}, "unknown-definition", ""),
        ({"params": {"to": 3}}, "invalid-params", ""),
        ({"overlap": "wait"}, "validation", ""),
        ({"crom": "@daily"}, "unknown-field", ""),
    ],
)
async def test_what_is_no_good_is_refused_and_nothing_is_kept(
    api: Api, terms: dict[str, Any], kind: str, words: str
) -> None:
    """S1.64: the answer names the field and the way out."""
    refused = await put(api, **terms)
    assert (refused.status, refused.kind) == (422, kind)
    assert words in refused.body.decode()
    assert len(refused.body) < 2_000
    assert (await api.get("/v1/schedules")).json["items"] == []


async def test_a_key_sees_schedules_of_its_namespace_alone(api: Api, store: Store) -> None:
    everyone, acme = (
        bearing(await make(store, "operate")),
        bearing(await make(store, "operate", namespace="acme")),
    )
    assert (await api.call("POST", "/v1/schedules", NIGHTLY, **everyone)).status == 201
    assert (await api.call("GET", "/v1/schedules/nightly", **acme)).kind == "not-found"
    made = await api.call("POST", "/v1/schedules", {**NIGHTLY, "cron": "@hourly"}, **acme)
    assert (made.status, made.json["namespace"]) == (201, "acme")
    assert len((await api.call("GET", "/v1/schedules", **acme)).json["items"]) == 1
    reader = bearing(await make(store, "read"))
    assert (await api.call("GET", "/v1/schedules/nightly", **reader)).status == 200
    assert (await api.call("DELETE", "/v1/schedules/nightly", **reader)).kind == "insufficient-scope"


async def test_what_is_listed_can_be_acted_on_in_its_namespace(api: Api, store: Store) -> None:
    """A key without a namespace sees all of them, and names the one it means."""
    everyone, acme = (
        bearing(await make(store, "operate")),
        bearing(await make(store, "operate", namespace="acme")),
    )
    await api.call("POST", "/v1/schedules", NIGHTLY, **acme)
    made = await api.call("POST", "/v1/schedules?namespace=beta", NIGHTLY, **everyone)
    assert made.json["namespace"] == "beta"
    assert made.headers["location"] == "/v1/schedules/nightly?namespace=beta"
    listed = (await api.call("GET", "/v1/schedules", **everyone)).json["items"]
    assert [one["namespace"] for one in listed] == ["acme", "beta"]
    [one] = (await api.call("GET", "/v1/schedules?namespace=acme", **everyone)).json["items"]
    assert one["namespace"] == "acme"
    unnamed = await api.call("DELETE", "/v1/schedules/nightly", **everyone)
    assert (unnamed.kind, "in the namespace default" in unnamed.json["detail"]) == ("not-found", True)
    at = "/v1/schedules/nightly"
    for method, path in (
        ("GET", at),
        ("GET", f"{at}/next"),
        ("GET", f"{at}/ticks"),
        ("POST", f"{at}/pause"),
        ("POST", f"{at}/resume"),
        ("POST", f"{at}/trigger"),
        ("DELETE", at),
    ):
        assert (await api.call(method, f"{path}?namespace=beta", **acme)).kind == "not-found", path
        assert (await api.call(method, f"{path}?namespace=acme", **everyone)).status in {200, 202}, path
    assert (await api.call("GET", at, **acme)).kind == "not-found"
    assert (await api.call("GET", f"{at}?namespace=beta", **everyone)).status == 200
    assert (await api.call("GET", f"{at}?namespace=a%20b", **everyone)).kind == "validation"


async def test_a_schedule_that_this_version_cannot_read_is_shown_and_hides_no_other(
    api: Api, backend: Backend
) -> None:
    for name in ("newer", "nightly"):
        await put(api, id=name)
    newer_words = """replace(spec, '"format":1', '"format":9')"""
    await backend.sql(f"UPDATE tenure.schedule SET spec = {newer_words} WHERE name = 'newer'")
    newer, nightly = (await api.get("/v1/schedules")).json["items"]
    assert (newer["id"], newer["definitionKey"], newer["params"]) == ("newer", "mail", None)
    assert "newer version" in newer["problem"]
    assert (nightly["id"], nightly["problem"]) == ("nightly", None)
    assert (await api.get("/v1/schedules/newer")).json == newer
    for path in ("trigger", "resume"):
        refused = await api.call("POST", f"/v1/schedules/newer/{path}")
        assert (refused.status, refused.kind) == (409, "schedule-unreadable")
    edit = await api.call("PATCH", "/v1/schedules/newer", {"cron": "@daily"}, headers={"if-match": '"1"'})
    assert (edit.status, edit.kind) == (409, "schedule-unreadable")
    assert (await api.call("POST", "/v1/schedules/newer/pause")).json["paused"] is True
    assert (await api.call("DELETE", "/v1/schedules/newer")).status == 200


async def test_next_marks_what_a_change_of_clocks_moves(api: Api) -> None:
    """S1.64: 2030-03-31 in Berlin."""
    await put(api, cron="30 2 31 3 *", timezone="Europe/Berlin")
    [spring] = (await api.get("/v1/schedules/nightly/next?count=1")).json["items"]
    assert (spring["at"], spring["clockChange"]) == ("2030-03-31T01:00:00Z", "moved")
