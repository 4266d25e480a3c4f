"""What holds for every route: methods, forms of answers, ids of requests, the document, the page."""

import asyncio
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from tenure.api.problem import KINDS
from tenure.core.webhooks.delivery import NewDelivery
from tenure.settings.http_limits import HttpLimits
from tenure.storage.contract.store import Store
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.routes import Route
from tenure.surfaces.http.calls.table import ROUTES
from tenure.surfaces.http.docs.openapi import document
from tests.storage.clock import Clock
from tests.storage.verbs import EVERY_JOB, one_in_each_state, seconds, state_of
from tests.storage.webhook_verbs import subscribed
from tests.surfaces.http.http_server import Api, request, serving
from tests.surfaces.store_behind import NOBODY
from tools import calls


async def test_what_is_not_there_is_a_problem_like_any_other(api: Api) -> None:
    for path in ("/", "/nope", "/v1", "/v1/", "/v1/jobs/", "/jobs", "//jobs", "/v1/jobs/%2e%2e%2fworkers"):
        reply = await api.get(path)
        wanted = (405, "method-not-allowed") if path == "/jobs" else (404, "not-found")
        assert (reply.status, reply.kind) == wanted, path


async def test_a_wrong_method_is_told_the_right_ones(api: Api) -> None:
    """Row 17."""
    for method in ("DELETE", "PUT", "PATCH", "OPTIONS", "TRACE"):
        reply = await api.call(method, "/v1/jobs")
        assert (reply.status, reply.kind) == (405, "method-not-allowed"), method
        assert reply.headers["allow"] == "GET, HEAD, POST"
    assert (await api.call("POST", "/healthz")).headers["allow"] == "GET, HEAD"
    # No job can have this id, so that nothing is to be got there.
    assert (await api.get("/v1/jobs/batch")).headers["allow"] == "POST"
    # Nor is this a version of a definition, which could be put there.
    assert (await api.call("PUT", "/v1/definitions/mail/pause", {})).headers["allow"] == "POST"


async def test_head_is_get_without_its_body(api: Api) -> None:
    async with api.wire() as wire:
        await wire.send(request("HEAD", "/healthz") + request("GET", "/healthz"))
        reply = (await wire.reply_to_head(), await wire.reply())
        assert [answer.status for answer in reply] == [200, 200]
        assert reply[0].headers["content-length"] == reply[1].headers["content-length"]


async def test_who_takes_no_json_is_told_so(api: Api) -> None:
    """Row 18."""
    for accept in ("text/html", "application/json;q=0", "image/*, text/plain", ""):
        reply = await api.get("/v1/jobs", headers={"accept": accept})
        assert (reply.status, reply.kind) == (406, "not-acceptable"), accept
    for accept in ("*/*", "application/*", "text/html, application/json;q=0.1", "APPLICATION/JSON"):
        assert (await api.get("/v1/jobs", headers={"accept": accept})).status == 200, accept


async def test_every_answer_has_an_id_of_its_own(api: Api) -> None:
    replies = [await api.get(path) for path in ("/healthz", "/healthz", "/nope", "/docs")]
    assert len({reply.headers["x-request-id"] for reply in replies}) == 4
    assert {reply.headers["cache-control"] for reply in replies} == {"no-store"}
    assert "server" not in replies[0].headers


async def test_what_goes_wrong_inside_stays_inside(store: Store) -> None:
    """The caller gets an id, the operator the rest under the same id."""

    async def broken(_context: AppContext, _request: Request) -> Response:
        raise RuntimeError("SELECT secret FROM /etc/tenure")

    route = Route(
        method="GET", path="/x", audience="client", scope=None, handler=broken, summary="", answers={}
    )
    async with serving(store, routes=[route]) as api:
        reply = await api.get("/x")
        assert (reply.status, reply.kind) == (500, "internal")
        assert b"secret" not in reply.body
        [answer] = api.bugs
        assert reply.json["requestId"] in answer
        assert "SELECT secret" in answer


async def test_a_request_takes_no_longer_than_it_may(store: Store) -> None:
    """Row 36: a store that hangs is told of as one that is away."""

    async def hanging(_context: AppContext, _request: Request) -> Response:
        await asyncio.Event().wait()
        return Response(200, None)

    route = Route(
        method="GET",
        path="/x",
        audience="client",
        scope=None,
        handler=hanging,
        summary="",
        answers={},
    )
    async with serving(store, routes=[route], limits=HttpLimits(http_request_seconds=0.1)) as api:
        reply = await api.get("/x")
        assert (reply.status, reply.kind) == (503, "storage-unavailable")
        assert reply.headers["retry-after"].isdecimal()
        assert not api.bugs


async def test_the_document_has_every_route_and_nothing_that_leads_nowhere(api: Api) -> None:
    """S1.53."""
    reply = await api.get("/openapi.json")
    answer = reply.json
    assert answer["openapi"] == "3.1.0"
    found = {(method.upper(), path) for path, item in answer["paths"].items() for method in item}
    assert found == {(route.method, route.path) for route in ROUTES}
    operations = [operation for item in answer["paths"].values() for operation in item.values()]
    assert len({operation["operationId"] for operation in operations}) == len(ROUTES)
    for reference in re.findall(r'"\$ref":"#/components/schemas/([^"]+)"', reply.body.decode()):
        assert reference in answer["components"]["schemas"]


async def test_answers_are_what_the_document_says(api: Api) -> None:
    """S1.53: the status is listed, and the body fits its schema."""
    job = (await api.post("/v1/jobs", {"definitionKey": "mail", "idempotencyKey": "k"})).json["jobId"]
    calls_made: list[tuple[str, str, Any]] = [
        ("GET", "/v1/jobs", None),
        ("GET", "/v1/jobs/{jobId}", None),
        ("GET", "/v1/jobs/{jobId}/attempts", None),
        ("GET", "/v1/jobs/{jobId}/events", None),
        ("GET", "/v1/jobs/{jobId}/logs", None),
        ("GET", "/v1/jobs/{jobId}/result", None),
        ("GET", "/jobs/{jobId}", None),
        ("GET", "/v1/definitions", None),
        ("GET", "/v1/definitions/{key}", None),
        ("GET", "/v1/queues", None),
        ("GET", "/v1/workers", None),
        ("GET", "/v1/stats", None),
        ("GET", "/v1/dead-letters", None),
        ("GET", "/healthz", None),
        ("GET", "/readyz", None),
        ("POST", "/jobs", {"jobType": "mail", "idempotencyKey": "k"}),
        ("POST", "/v1/jobs", {"definitionKey": "mail"}),
        ("POST", "/v1/jobs", {"definitionKey": "nope"}),
        ("POST", "/v1/jobs/batch", {"jobs": [{"definitionKey": "mail"}]}),
        ("POST", "/v1/jobs/batch", {"jobs": [{"definitionKey": "nope"}]}),
        ("POST", "/v1/jobs/cancel", {"all": True, "dryRun": True}),
        ("POST", "/v1/jobs/replay", {"all": True, "replayKey": "k"}),
        ("POST", "/v1/jobs/replay", {}),
        ("PUT", "/v1/definitions/{key}/{version}", {"limits": {"gpu": 1}, "replace": True}),
        ("PUT", "/v1/definitions/{key}/{version}", {"priority": 1}),
        ("PUT", "/v1/definitions/{key}/{version}", {"paramsSchema": {"type": "x"}}),
        ("POST", "/v1/jobs/{jobId}/replay", {}),
        ("POST", "/v1/jobs/{jobId}/give-up", None),
        ("POST", "/v1/jobs/{jobId}/reschedule", {"delaySeconds": 5}),
        ("POST", "/v1/jobs/{jobId}/release", None),
        ("POST", "/v1/jobs/{jobId}/cancel", {"reason": "no need"}),
        ("POST", "/v1/jobs/{jobId}/replay", {}),
        ("POST", "/v1/queues/{queue}/pause", {}),
        ("POST", "/v1/queues/{queue}/resume", None),
        ("POST", "/v1/definitions/{key}/pause", {"version": 1, "queue": "q", "reason": "x"}),
        ("GET", "/v1/pauses", None),
        ("POST", "/v1/definitions/{key}/resume", {"version": 1, "queue": "q"}),
        ("GET", "/v1/limits", None),
        ("PATCH", "/v1/limits/{name}", {"size": 5}),
        ("POST", "/v1/workers/{workerId}/drain", None),
        ("DELETE", "/v1/workers/{workerId}", None),
        ("GET", "/tasks/{jobId}", None),
        ("POST", "/tasks", {"type": "mail", "delaySeconds": 5}),
        ("POST", "/tasks", {"type": "mail", "repeat": {"everySeconds": 5}}),
        ("POST", "/tasks/{jobId}/abort", None),
    ]
    for method, path, body in calls_made:
        filled = path.format(jobId=job, key="mail", version=1, queue="default", workerId="nobody", name="gpu")
        reply = await api.call(method, filled, body)
        _check(method, path, reply.status, reply.headers["content-type"], reply.body)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/v1/definitions/{key}/{version}", {"paramsSchema": None}),
        ("PUT", "/v1/definitions/{key}/{version}", {"paramsSchema": True}),
        ("PUT", "/v1/definitions/{key}/{version}", {"tags": ["a", "a"]}),
        ("POST", "/v1/queues/{queue}/pause", {"until": "6854-01-02T06:59:23Z"}),
        ("POST", "/v1/queues/{queue}/pause", {"until": "1969-12-31T06:59:23Z"}),
        ("POST", "/v1/jobs", {"definitionKey": "mail", "runAt": "6854-01-02T06:59:23Z"}),
        ("POST", "/tasks", {"type": "mail", "runAt": "6854-01-02T06:59:23Z"}),
        ("PUT", "/v1/retention", {"succeededSeconds": 1, "othersSeconds": 1}),
        ("PUT", "/v1/retention", {"succeededSeconds": 1, "othersSeconds": None, "keyedSeconds": 1}),
        ("POST", "/v1/jobs/purge", {"endedBefore": "2030-01-31T08:30:00Z", "filter": {"status": ["queued"]}}),
        ("POST", "/v1/jobs/cancel", {"all": True, "cursor": ""}),
        ("POST", "/v1/jobs/replay", {"all": True, "cursor": "G\u00c0#"}),
    ],
)
async def test_the_document_promises_no_more_than_is_taken(
    api: Api, method: str, path: str, body: dict[str, object]
) -> None:
    """S1.53: what the server refuses, whatever there is in the store, does not fit the schema either."""
    filled = path.format(key="mail", version=2, queue="default")
    assert (await api.call(method, filled, body)).status in {400, 422}
    answer = document(ROUTES)
    schema = answer["paths"][path][method.lower()]["requestBody"]["content"]["application/json"]["schema"]
    whole = jsonschema_rs.validator_for({**schema, "components": answer["components"]})
    assert not whole.is_valid(body)


def _check(method: str, path: str, status: int, media_type: str, body: bytes) -> None:
    answer = document(ROUTES)
    responses = answer["paths"][path][method.lower()]["responses"]
    assert str(status) in responses, (method, path, status)
    schema = responses[str(status)]["content"][media_type]["schema"]
    # The schema stands by itself with the components beside it.
    whole = {**schema, "components": answer["components"]}
    jsonschema_rs.validator_for(whole).validate(msgspec.json.decode(body))


async def test_the_page_has_everything_and_loads_nothing(api: Api) -> None:
    reply = await api.get("/docs", headers={"accept": "text/html"})
    page = reply.body.decode()
    for route in ROUTES:
        assert f">{route.method}</span><code>{route.path}</code>" in page
    for kind in KINDS:
        assert f'id="{kind}"' in page
    assert not re.search(r"<(script|link|img|iframe)|src=|@import|url\(|https?:", page)
    assert reply.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")


def test_the_reference_has_every_route_parameter_and_problem() -> None:
    pages = Path(__file__).parents[4] / "docs/reference"
    text = "".join((pages / name).read_text() for name in ("http.md", "jobs-and-tasks.md"))
    for route in ROUTES:
        assert f"`{route.method} {route.path}`" in text
        for parameter in route.parameters:
            assert f"`{parameter.name}`" in text
    for kind in KINDS:
        assert f"`{kind}`" in text


def test_the_page_of_calls_is_what_the_table_of_routes_says() -> None:
    page = calls.PAGE.read_text()
    assert page == calls.page(), "run `make states`"
    for route in ROUTES:
        assert f"### {route.method} {route.path}\n\n{route.summary}." in page


async def test_the_page_and_the_document_name_no_definition(api: Api) -> None:
    for path in ("/docs", "/openapi.json"):
        assert b"bill" not in (await api.get(path)).body


def path_of(route: Route, **parts: object) -> str:
    """The address of a route that looks; with a token where it needs one, which is of no lease."""
    query = "?token=1.a" if any(parameter.is_required for parameter in route.parameters) else ""
    return route.path.format(**parts, step="plan", signal="approved") + query


LOOKS = [route for route in ROUTES if route.method == "GET" and not route.path.startswith("/metrics")]
"""All but those that tell of requests, and so of having been asked."""


@pytest.mark.both_stores
async def test_what_only_looks_changes_nothing(api: Api, store: Store) -> None:
    """S0.48, S0.53, and row 92: no GET has an effect, and asked again it says the same."""
    job = (await api.post("/v1/jobs", {"definitionKey": "mail"})).json["jobId"]
    await api.post("/v1/schedules", {"id": "nightly", "definitionKey": "mail", "cron": "0 3 * * *"})
    hook = await subscribed(store)
    now = await store.now()
    await store.add_delivery(NewDelivery(webhook=hook, message="m", type="failed", at=now, body="{}"))
    before = await _all_that_can_change(store)
    # A refusal, as of a lease that nobody holds, bears the number of its request.
    own = rb'urn:uuid:[0-9a-f-]{36}","requestId":"[0-9a-f-]{36}'
    for route in LOOKS:
        path = path_of(route, jobId=job, key="mail", name="nightly", webhookId=hook, message="m")
        first, second = [re.sub(own, b"", (await api.get(path)).body) for _ in range(2)]
        assert first == second, path
        assert await _all_that_can_change(store) == before, path


@pytest.mark.parametrize(
    "route", [route for route in LOOKS if "jobId" in route.names], ids=lambda route: route.path
)
async def test_to_look_at_a_job_moves_it_nowhere_whatever_its_state(
    api: Api, store: Store, clock: Clock, route: Route
) -> None:
    """S0.48, S0.53: neither one that is held, nor one whose time has come, nor one whose owner is late."""
    jobs = await one_in_each_state(store)
    await clock.advance(seconds(3600))
    before = await _all_that_can_change(store)
    for state, job in jobs.items():
        replies = [await api.get(path_of(route, jobId=job)) for _ in range(2)]
        # A refusal bears the number of its request.
        bodies = {re.sub(rb"[0-9a-f-]{36}", b"", reply.body) for reply in replies}
        assert (len(bodies), replies[0].status) == (1, replies[1].status), state
        assert await state_of(store, job) is state
    assert await _all_that_can_change(store) == before


async def _all_that_can_change(store: Store) -> tuple[object, ...]:
    """Jobs with their history, lines with their pauses, what is registered, and what was done by whom."""
    jobs = (await store.page(EVERY_JOB)).jobs
    histories = [await store.events(job.id) for job in jobs]
    return jobs, histories, await store.lines(), await store.definitions(), await store.audit_entries()


async def test_an_unknown_job_is_unknown_everywhere(api: Api) -> None:
    """S0.54, and rows 38 and 39: nothing that is not an id in full is looked up, and nothing is made."""
    ids = [NOBODY, "1", "' OR 1=1--", f"{{{NOBODY}}}", f"urn:uuid:{NOBODY}", NOBODY.replace("-", ""), "%00"]
    for route in (route for route in ROUTES if "jobId" in route.names):
        sent: dict[str, object] = {
            "token": "1.a",
            **({"error": {"type": "a"}} if route.path.endswith("/fail") else {}),
        }
        if route.path.endswith("/reschedule"):
            sent = {"delaySeconds": 0}
        if route.path.endswith(("/state", "/suspend")):
            sent |= {"state": 1} if route.path.endswith("/state") else {"forSeconds": 1}
        if "effect" in route.names:
            sent = {"happened": True}
        body = sent if route.body and route.needs_body else None
        query = "?token=1.a" if any(parameter.is_required for parameter in route.parameters) else ""
        bodies = set()
        for job in [*ids, "%ff", "x" * 7000]:
            path = route.path.replace("{jobId}", job.replace("{", "%7B")) + query
            reply = await api.call(route.method, path, body)
            assert (reply.status, reply.kind) == (404, "not-found"), (route.path, job)
            bodies.add(re.sub(rb"[0-9a-f-]{36}", b"", reply.body))
        assert len(bodies - {b for b in bodies if b"nothing at this path" in b}) == 1
    assert (await api.get("/v1/jobs")).json["items"] == []
