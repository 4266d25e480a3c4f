"""What is logged of requests: by whom, what for, with which answer; and nothing that they said."""

from tenure.storage.contract.store import Store
from tenure.telemetry.logs.logs import EventLog, LogEntry
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import serving


async def test_a_request_is_told_of_by_its_route_and_the_id_of_its_key(store: Store) -> None:
    """Row 53: a key in the address opens nothing, and stands in no log."""
    key = await make(store, "read")
    name = key.split("_")[1]
    entries: list[LogEntry] = []
    async with serving(store, logs=EventLog(entries.append, "debug")) as api:
        replies = [
            await api.get("/v1/jobs?limit=1", **bearing(key)),
            await api.get(f"/v1/jobs?limit=1&key={key}"),
            await api.post("/v1/jobs", {"definitionKey": "mail"}, **bearing(key)),
            await api.get(f"/nowhere/{key}"),
            await api.get("/healthz"),
        ]
    names = ("method", "route", "status", "key")
    assert [(entry.level, *(entry.fields[part] for part in names)) for entry in entries] == [
        ("debug", "GET", "/v1/jobs", 200, name),
        ("warning", "GET", "/v1/jobs", 401, None),
        ("warning", "POST", "/v1/jobs", 403, name),
        ("info", "GET", "none", 404, None),
        ("debug", "GET", "/healthz", 200, None),
    ]
    for entry, reply in zip(entries, replies, strict=True):
        assert entry.event == "request.answered"
        assert str(entry.fields["requestId"]) == reply.headers["x-request-id"]
        assert entry.fields["durationSeconds"] > 0
        assert key not in str(entry)
