"""Webhooks over HTTP: made, read, changed, rotated, paused, tried and deleted; what is no good is refused."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tenure.core.webhooks.delivery import DeliveryState
from tenure.core.webhooks.signature import derived_secret
from tenure.engine.webhooks.webhooks import WebhookTerms
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import seconds
from tests.storage.webhook_verbs import try_due
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Api, Reply, serving
from tests.surfaces.store_behind import NOBODY

URL = "https://hooks.example/in?token=t0p"
HOOK = {"url": URL, "events": ["onEnd"]}
KEY = "a key of at least thirty-two characters"


async def put(api: Api, **terms: Any) -> Reply:
    return await api.call("POST", "/v1/webhooks", {**HOOK, **terms})


async def made(api: Api, **terms: Any) -> str:
    """The path of a new webhook."""
    reply = await put(api, **terms)
    assert reply.status == 201, reply
    return f"/v1/webhooks/{reply.json['id']}"


async def test_a_webhook_is_created_and_its_secret_is_told_once(api: Api, store: Store) -> None:
    """S1.73, S1.79: neither what is read later, nor the audit log, nor any list has the secret."""
    reply = await put(api, definitions=["mail"], tags=["a"], withParams=True, tries=3, timeoutSeconds=2.5)
    item = reply.json
    secret, note = item.pop("secret"), item.pop("note")
    assert (reply.status, reply.headers["location"]) == (201, f"/v1/webhooks/{item['id']}")
    assert reply.headers["cache-control"] == "no-store"
    assert secret.startswith("whsec_")
    assert "stored in clear" in note
    assert (item["events"], item["definitions"], item["queues"], item["tags"]) == (
        ["onEnd"],
        ["mail"],
        [],
        ["a"],
    )
    assert (item["withParams"], item["withResult"], item["tries"], item["timeoutSeconds"]) == (
        True,
        False,
        3,
        2.5,
    )
    assert (item["state"], item["waiting"], item["namespace"]) == ("delivering", 0, None)
    assert item["url"] == "https://hooks.example/in?token=[redacted]"
    path = f"/v1/webhooks/{item['id']}"
    read = await api.get(path)
    assert (read.json, read.headers["etag"]) == (item, f'"{item["revision"]}"')
    listed = await api.get("/v1/webhooks")
    assert listed.json == {"items": [item], "nextCursor": None}
    [stored] = await store.webhook_secrets(UUID(item["id"]))
    assert stored.text == secret
    audit = await api.get("/v1/audit")
    assert audit.json["items"][0]["target"] == "hooks.example"
    for answer in (read, listed, audit):
        assert secret.encode() not in answer.body
        assert b"t0p" not in answer.body


async def test_with_a_key_nothing_is_stored_and_the_secret_follows_from_it(store: Store) -> None:
    """S1.79: who reads the database cannot sign."""
    async with serving(store, webhook_terms=WebhookTerms(key=KEY)) as api:
        first = (await put(api)).json
        webhook = UUID(first["id"])
        second = (await api.post(f"/v1/webhooks/{webhook}/rotate")).json
        kept = await store.webhook_secrets(webhook)
        assert [one.text for one in kept] == [None, None]
        assert [second["secret"], first["secret"]] == [
            derived_secret(KEY, webhook, one.rotation) for one in kept
        ]
        assert (first["note"], second["note"]) == (None, None)


async def test_a_new_secret_signs_beside_the_old_one_for_a_day(api: Api, store: Store, clock: Clock) -> None:
    """S1.79: the receiver has time to change it."""
    first = (await put(api)).json
    path, webhook = f"/v1/webhooks/{first['id']}", UUID(first["id"])
    rotated = await api.post(f"{path}/rotate")
    assert (rotated.status, rotated.headers["cache-control"]) == (200, "no-store")
    texts = [rotated.json["secret"], first["secret"]]
    assert len(set(texts)) == 2
    assert [one.text for one in await store.webhook_secrets(webhook)] == texts
    await clock.advance(timedelta(hours=24, seconds=1))
    assert [one.text for one in await store.webhook_secrets(webhook)] == texts[:1]
    assert texts[0].encode() not in (await api.get("/v1/audit")).body


async def test_only_what_was_read_can_be_changed(api: Api) -> None:
    """Of two who edit at once, the second is told."""
    path = await made(api, definitions=["mail"], tries=3)

    async def change(body: Any, **headers: str) -> Reply:
        return await api.call(
            "PATCH", path, body, headers={k.replace("_", "-"): v for k, v in headers.items()}
        )

    read = (await api.get(path)).headers["etag"]
    assert (await change({"tries": 1})).kind == "revision-required"
    assert (await change({"tries": 1}, if_match="latest")).kind == "validation"
    changed = await change({"events": ["failed", "custom:paid"], "definitions": []}, if_match=read)
    assert changed.status == 200, changed
    assert changed.headers["etag"] != read
    assert (changed.json["events"], changed.json["definitions"]) == (["failed", "custom:paid"], [])
    assert (changed.json["tries"], "secret" in changed.json) == (3, False)
    late = await change({"tries": 1}, if_match=read)
    assert (late.status, late.kind) == (412, "revision-mismatch")
    wrong = await change({"url": "https://10.0.0.7/"}, if_match=changed.headers["etag"])
    assert (wrong.status, wrong.kind) == (422, "webhook-url")
    assert (await api.get(path)).json == changed.json


async def test_a_test_is_sent_paused_resumed_and_sent_again(api: Api, store: Store, clock: Clock) -> None:
    """S1.73: what became of each delivery can be read, and it can be sent again."""
    path = await made(api)
    sent = await api.post(f"{path}/test")
    item = sent.json
    assert (sent.status, sent.headers["location"]) == (202, f"{path}/deliveries/{item['message']}")
    assert (item["type"], item["state"], item["jobId"], item["tries"]) == ("test", "waiting", None, 0)
    paused = (await api.post(f"{path}/pause", {"reason": "moving"})).json
    assert (paused["state"], paused["reason"], paused["waiting"]) == ("paused", "moving", 1)
    assert await store.due_deliveries("w", limit=10, hold_for=seconds(30)) == []
    resumed = (await api.post(f"{path}/resume", {"catchUp": True})).json
    assert (resumed["state"], resumed["reason"]) == ("delivering", None)
    await try_due(store, DeliveryState.DEAD, status=410, problem="password=hunter2")
    dead = (await api.get(sent.headers["location"])).json
    assert (dead["state"], dead["status"], dead["tookSeconds"], dead["tries"]) == ("dead", 410, 0.25, 1)
    assert dead["problem"] == "password=[redacted]"
    assert (await api.get(f"{path}/deliveries?state=dead")).json["items"] == [dead]
    assert (await api.get(f"{path}/deliveries?state=delivered")).json["items"] == []
    again = await api.post(f"{path}/deliveries/{item['message']}/redeliver")
    assert (again.status, again.json["state"], again.json["message"]) == (202, "waiting", item["message"])
    await clock.advance(seconds(1))  # one that was just resumed gets ten a second
    await try_due(store, status=200)
    known = (await api.get(path)).json
    assert (known["waiting"], known["delivered"], known["dead"]) == (0, 1, 0)
    since = await api.post(f"{path}/redeliver", {"since": "2020-01-01T00:00:00Z"})
    assert (since.status, since.json["id"]) == (202, known["id"])


async def test_pages_of_webhooks_and_of_deliveries_go_on_where_the_last_one_ended(api: Api) -> None:
    paths = sorted([await made(api) for _ in range(3)])
    first = (await api.get("/v1/webhooks?limit=2")).json
    second = (await api.get(f"/v1/webhooks?limit=2&cursor={first['nextCursor']}")).json
    found = [f"/v1/webhooks/{one['id']}" for one in (*first["items"], *second["items"])]
    assert (found, second["nextCursor"]) == (paths, None)
    sent = {(await api.post(f"{paths[0]}/test")).json["message"] for _ in range(3)}
    first = (await api.get(f"{paths[0]}/deliveries?limit=2")).json
    second = (await api.get(f"{paths[0]}/deliveries?limit=2&cursor={first['nextCursor']}")).json
    assert {one["message"] for one in (*first["items"], *second["items"])} == sent
    for path in (f"{paths[1]}/deliveries", f"{paths[0]}/deliveries?state=dead", "/v1/webhooks"):
        mark = "&" if "?" in path else "?"
        elsewhere = await api.get(f"{path}{mark}cursor={first['nextCursor']}")
        assert (elsewhere.status, elsewhere.kind) == (400, "invalid-cursor"), path


async def test_what_is_deleted_or_was_never_there_is_not_found(api: Api) -> None:
    path = await made(api)
    gone = await api.call("DELETE", path)
    assert (gone.status, gone.json) == (200, {"id": path.rpartition("/")[2]})
    for place in (path, f"/v1/webhooks/{NOBODY}", "/v1/webhooks/nonsense", "/v1/webhooks/" + "x" * 5_000):
        for method, rest in (
            *(("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume"), ("POST", "/rotate")),
            *(("POST", "/test"), ("GET", "/deliveries"), ("GET", "/deliveries/m")),
            ("POST", "/deliveries/m/redeliver"),
        ):
            refused = await api.call(method, f"{place}{rest}")
            assert (refused.status, refused.kind) == (404, "not-found"), (method, rest)
            assert len(refused.body) < 1_000
    other = await made(api)
    for rest in ("", "/redeliver"):
        method = "POST" if rest else "GET"
        for message in ("msg_unknown", "x" * 5_000, "%00", "%F0%9F%98%80"):
            refused = await api.call(method, f"{other}/deliveries/{message}{rest}")
            assert refused.status == 404, message


@pytest.mark.parametrize(
    ("terms", "kind", "words"),
    [
        ({"url": "https://"}, "webhook-url", ""),
        ({"url": "hooks.example/in"}, "webhook-url", ""),
        ({"url": "ftp://hooks.example/in"}, "webhook-url", "https"),
        ({"url": "file:///etc/passwd"}, "webhook-url", "https"),
        ({"url": "gopher://hooks.example/"}, "webhook-url", "https"),
        ({"url": "javascript:alert(1)"}, "webhook-url", "https"),
        ({"url": "http://hooks.example/in"}, "webhook-url", "https"),
        ({"url": "https://ann:pw@hooks.example/in"}, "webhook-url", "user"),
        ({"url": "https://hooks.example:0/"}, "webhook-url", "port"),
        ({"url": "https://hooks.example:65536/"}, "webhook-url", ""),
        ({"url": "https://127.0.0.1/"}, "webhook-url", ""),
        ({"url": "https://2130706433/"}, "webhook-url", ""),
        ({"url": "https://[::1]/"}, "webhook-url", ""),
        ({"url": "https://169.254.169.254/latest/meta-data"}, "webhook-url", ""),
        ({"url": "https://hooks.example/" + "x" * 10_000}, "webhook-url", ""),
        ({"url": None}, "webhook-url", ""),
        ({"events": []}, "validation", "/events"),
        ({"events": ["onend"]}, "validation", "did you mean onEnd?"),
        ({"events": ["suceeded"]}, "validation", "did you mean succeeded?"),
        ({"events": ["custom:"]}, "validation", "/events"),
        ({"events": ["x" * 10_000]}, "validation", "/events"),
        ({"events": ["failed", "failed"]}, "validation", "twice"),
        ({"events": "failed"}, "validation", "/events"),
        ({"definitions": ["x" * 10_000]}, "validation", "/definitions"),
        ({"queues": ["../x"]}, "validation", "/queues"),
        ({"tags": [f"t{n}" for n in range(101)]}, "validation", "/tags"),
        ({"namespace": "a b"}, "validation", "/namespace"),
        ({"tries": 16}, "validation", "/tries"),
        ({"tries": 0}, "validation", "/tries"),
        ({"timeoutSeconds": 31}, "validation", "/timeoutSeconds"),
        ({"timeoutSeconds": 0.5}, "validation", "/timeoutSeconds"),
        ({"since": "2999-01-01T00:00:00Z"}, "validation", "future"),
        ({"since": "yesterday"}, "validation", "/since"),
        ({"withParams": "yes"}, "validation", "/withParams"),
        ({"secret": "whsec_x"}, "unknown-field", "/secret"),
    ],
)
async def test_what_is_no_good_is_refused_and_nothing_is_kept(
    api: Api, terms: dict[str, Any], kind: str, words: str
) -> None:
    """Rows 79 to 81 of the bad inputs: the answer names the field and the way out."""
    refused = await put(api, **terms)
    assert (refused.status, refused.kind) == (422, kind), refused.body
    assert words in refused.body.decode()
    assert len(refused.body) < 2_000
    assert (await api.get("/v1/webhooks")).json["items"] == []


async def test_sending_again_needs_a_time_that_has_passed(api: Api) -> None:
    path = await made(api)
    for body in ({}, {"since": "2999-01-01T00:00:00Z"}, {"since": 3}, {"since": "1969-01-01T00:00:00Z"}):
        refused = await api.post(f"{path}/redeliver", body)
        assert (refused.status, refused.kind) == (422, "validation"), body


async def test_a_key_sees_webhooks_of_its_namespace_alone(api: Api, store: Store) -> None:
    """S1.73: what one namespace is told, no other can read or change."""
    everyone, acme, beta = (
        bearing(await make(store, "operate")),
        bearing(await make(store, "operate", namespace="acme")),
        bearing(await make(store, "operate", namespace="beta")),
    )
    both = [
        await api.call("POST", "/v1/webhooks", {**HOOK, **asked}, **acme)
        for asked in ({}, {"namespace": "acme"})
    ]
    assert [(one.status, one.json["namespace"]) for one in both] == [(201, "acme"), (201, "acme")]
    own = f"/v1/webhooks/{both[0].json['id']}"
    refused = await api.call("POST", "/v1/webhooks", {**HOOK, "namespace": "beta"}, **acme)
    assert (refused.status, refused.kind) == (403, "insufficient-scope")
    of_all = await api.call("POST", "/v1/webhooks", HOOK, **everyone)
    assert of_all.json["namespace"] is None
    for path, who in ((own, beta), (f"/v1/webhooks/{of_all.json['id']}", acme)):
        message = (await api.call("POST", f"{path}/test", **everyone)).json["message"]
        for method, rest in (
            *(("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume"), ("POST", "/rotate")),
            *(("POST", "/test"), ("GET", "/deliveries"), ("GET", f"/deliveries/{message}")),
            ("POST", f"/deliveries/{message}/redeliver"),
        ):
            assert (await api.call(method, f"{path}{rest}", **who)).kind == "not-found", (method, rest)
        for method, rest, body in (
            ("PATCH", "", {"tries": 1}),
            ("POST", "/redeliver", {"since": "2020-01-01T00:00:00Z"}),
        ):
            headers = {**who["headers"], "if-match": '"1"'}
            assert (await api.call(method, f"{path}{rest}", body, headers=headers)).kind == "not-found"
    listed = (await api.call("GET", "/v1/webhooks", **acme)).json["items"]
    assert {one["namespace"] for one in listed} == {"acme"}
    assert len(listed) == 2
    assert len((await api.call("GET", "/v1/webhooks", **everyone)).json["items"]) == 3
    assert len((await api.call("GET", "/v1/webhooks?namespace=acme", **everyone)).json["items"]) == 2
    assert (await api.call("GET", "/v1/webhooks?namespace=acme", **beta)).kind == "not-found"


async def test_a_key_that_only_reads_or_is_bound_to_definitions_makes_none(api: Api, store: Store) -> None:
    whole = bearing(await make(store, "operate"))
    path = f"/v1/webhooks/{(await api.call('POST', '/v1/webhooks', HOOK, **whole)).json['id']}"
    reader = bearing(await make(store, "read"))
    bound = bearing(await make(store, "submit", "work", definitions=("mail",)))
    assert (await api.call("GET", path, **reader)).status == 200
    for method, place, body in (
        ("POST", "/v1/webhooks", HOOK),
        ("POST", f"{path}/rotate", None),
        ("DELETE", path, None),
    ):
        for who in (reader, bound):
            refused = await api.call(method, place, body, **who)
            assert (refused.status, refused.kind) == (403, "insufficient-scope"), (method, place)
    assert (await api.call("GET", path, **bound)).status == 403


async def test_whoever_changes_a_webhook_answers_for_what_it_sends(api: Api, store: Store) -> None:
    """S1.79: params go out only as long as the key that asked last may read them."""
    first, second = await make(store, "operate"), await make(store, "operate")
    made_by = (await api.call("POST", "/v1/webhooks", {**HOOK, "withParams": True}, **bearing(first))).json
    path = f"/v1/webhooks/{made_by['id']}"
    headers = {**bearing(second)["headers"], "if-match": f'"{made_by["revision"]}"'}
    changed = (await api.call("PATCH", path, {"withResult": True}, headers=headers)).json
    assert (made_by["createdBy"], changed["createdBy"]) == (first.split("_")[1], second.split("_")[1])
