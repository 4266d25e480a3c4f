"""Webhooks over HTTP that rest from the beginning, or that this version cannot read."""

from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.contract.test_webhooks_unreadable import NEWER
from tests.surfaces.http.calls.test_webhooks import URL, made, put
from tests.surfaces.http.http_server import Api


async def test_one_is_created_paused_by_who_asks(api: Api, store: Store) -> None:
    """S1.73"""
    paused = (await put(api, paused=True)).json
    assert (paused["state"], bool(paused["pausedBy"]), paused["reason"]) == ("paused", True, None)
    resumed = await api.post(f"/v1/webhooks/{paused['id']}/resume", {"catchUp": True})
    assert resumed.json["state"] == "delivering"
    refused = await put(api, paused="yes")
    assert (refused.status, refused.kind) == (422, "validation")


async def test_what_this_version_cannot_read_is_shown_paused_and_deleted(api: Api, backend: Backend) -> None:
    """S1.73: the others are listed as ever."""
    newer, other = await made(api), await made(api)
    await backend.sql(f"UPDATE tenure.webhook SET spec = {NEWER} WHERE id = '{newer[13:]}'")
    listed = {one["id"]: one for one in (await api.get("/v1/webhooks")).json["items"]}
    shown = listed[newer[13:]]
    assert (shown["state"], shown["url"], shown["events"]) == ("unreadable", None, [])
    assert "newer version" in shown["problem"]
    readable = listed[other[13:]]
    assert (readable["url"], readable["problem"]) == (URL.replace("t0p", "[redacted]"), None)
    read = await api.get(newer)
    assert read.json == shown
    assert (await api.get(f"{newer}/deliveries")).json["items"] == []
    match = {"if-match": read.headers["etag"]}
    for refused in (
        await api.call("PATCH", newer, {"tries": 3}, headers=match),
        await api.post(f"{newer}/rotate"),
        await api.post(f"{newer}/test"),
        await api.post(f"{newer}/resume"),
        await api.post(f"{newer}/redeliver", {"since": "2020-01-01T00:00:00Z"}),
    ):
        assert (refused.status, refused.kind) == (409, "webhook-unreadable")
    assert (await api.post(f"{newer}/pause")).json["state"] == "paused"
    assert (await api.call("DELETE", newer)).status == 200
