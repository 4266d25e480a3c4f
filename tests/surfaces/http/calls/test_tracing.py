"""What a request says it follows from is kept with its jobs; what says nothing hinders nobody."""

from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tenure.core.values.traceparent import parse
from tenure.storage.contract.store import Store
from tenure.telemetry.traces.request_spans import RequestSpans
from tests.surfaces.http.http_server import Api, register, request, serving
from tests.surfaces.store_behind import MAIL
from tests.telemetry.collectors import LocalCollector, values_of

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
FOLLOWED = f"00-{TRACE}-{SPAN}-03"
INTENT = {"jobType": "mail", "idempotencyKey": "k"}
ONE = {"definitionKey": "mail"}


@pytest.fixture
async def api(store: Store) -> AsyncIterator[Api]:
    await register(store, MAIL)
    async with serving(store) as running:
        yield running


async def kept_with(store: Store, job: str) -> str | None:
    found = await store.get(UUID(job))
    assert found is not None
    return found.traceparent


async def test_a_request_s_traceparent_is_kept_with_its_jobs(api: Api, store: Store) -> None:
    """S1.76."""
    headers = {"traceparent": FOLLOWED, "tracestate": "a=1"}
    intent = await api.post("/jobs", INTENT, headers=headers)
    one = await api.post("/v1/jobs", ONE, headers=headers)
    batch = await api.post("/v1/jobs/batch", {"jobs": [ONE, ONE]}, headers=headers)
    assert [reply.status for reply in (intent, one, batch)] == [202] * 3
    made = [intent.json["jobId"], one.json["jobId"], *(item["jobId"] for item in batch.json["items"])]
    assert [await kept_with(store, job) for job in made] == [FOLLOWED] * 4


async def test_what_is_no_traceparent_is_ignored(api: Api, store: Store) -> None:
    """Be it malformed, or one of several."""
    json = {"Content-Type": "application/json"}
    for lines in ({}, {"traceparent": "nonsense"}, {"traceparent": FOLLOWED, "Traceparent": FOLLOWED}):
        reply = await api.send(request(headers={**json, **lines}, body=b'{"definitionKey":"mail"}'))
        assert reply.status == 202
        assert await kept_with(store, reply.json["jobId"]) is None, lines


async def test_where_spans_are_exported_a_job_follows_from_its_request(store: Store) -> None:
    """S1.76: which is a span of its own, and says what was asked and how it was answered."""
    await register(store, MAIL)
    exported = LocalCollector()
    async with serving(store, spans=RequestSpans(exported.spans)) as api:
        answer = await api.post("/v1/jobs", ONE, headers={"traceparent": FOLLOWED})
        alone = await api.post("/v1/jobs", ONE)
        await api.get("/v1/jobs/01890000-0000-7000-8000-000000000001")
        await api.get("/nope")
        for quiet in ("/healthz", "/metrics"):
            await api.get(quiet)
    posted, root, missed, lost = exported.taken
    assert [span.name for span in (posted, root, missed, lost)] == [
        *["POST /v1/jobs"] * 2,
        "GET /v1/jobs/{jobId}",
        "HTTP",
    ]
    assert (posted.kind, posted.parent_span_id.hex()) == (Span.SPAN_KIND_SERVER, SPAN)
    assert values_of(posted.attributes) == {
        "http.request.method": "POST",
        "http.response.status_code": 202,
        "http.route": "/v1/jobs",
        "tenure.request_id": answer.headers["x-request-id"],
    }
    follows = parse(await kept_with(store, answer.json["jobId"]))
    assert follows == (TRACE, posted.span_id.hex(), 3)
    own = parse(await kept_with(store, alone.json["jobId"]))
    assert own is not None
    assert not root.parent_span_id
    assert (own.trace_id, own.span_id) == (root.trace_id.hex(), root.span_id.hex())
