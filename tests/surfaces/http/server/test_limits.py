"""Limits that are set are kept, with the same answers as the usual ones."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from tenure.settings.http_limits import HttpLimits
from tenure.settings.settings import BOUNDS, Settings
from tenure.storage.contract.store import Store
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.routes import Route
from tenure.surfaces.http.calls.table import ROUTES
from tests.surfaces.command import fails, tenure
from tests.surfaces.http.http_server import register, request, serving
from tests.surfaces.store_behind import MAIL

WISH = {"jobType": "mail", "idempotencyKey": "k"}
SMALL = Settings(
    http_body_bytes=1024, http_batch_bytes=2048, http_head_bytes=1024, http_headers=8, http_url_bytes=256
)


def test_every_limit_is_a_setting_within_bounds() -> None:
    settable = {name for name in Settings.__struct_fields__ if name.startswith("http_")}
    assert settable == set(HttpLimits.__struct_fields__)
    assert settable <= BOUNDS.keys()


async def test_sizes_are_as_they_are_set(store: Store) -> None:
    """S1.77: bodies by their route, heads by bytes and number."""
    await register(store, MAIL)
    async with serving(store, limits=SMALL) as api:
        assert (await api.post("/jobs", WISH)).status == 202
        assert (await api.post("/jobs", {**WISH, "payload": {"to": "x" * 1024}})).kind == "too-large"
        jobs = [{"definitionKey": "mail", "params": {"to": "x" * 300}}]
        assert (await api.post("/v1/jobs/batch", {"jobs": 4 * jobs})).status == 202
        assert (await api.post("/v1/jobs/batch", {"jobs": 7 * jobs})).kind == "too-large"
        assert (await api.get(f"/healthz?{'x' * 300}")).kind == "uri-too-long"
        many = {f"X-{n}": "1" for n in range(9)}
        assert (await api.send(request("GET", "/healthz", many))).kind == "headers-too-large"
        assert (await api.send(request("GET", "/healthz", {"X": "x" * 1024}))).kind == "headers-too-large"


async def test_work_that_takes_too_long_is_answered_in_the_time_that_is_set(store: Store) -> None:
    """Row 36: whatever holds the store up, the caller hears of it and may come back."""

    async def hang(_context: AppContext, _request: Request) -> Response:
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]

    def hanging(route: Route) -> Route:
        return (
            structs.replace(route, handler=hang) if (route.method, route.path) == ("POST", "/jobs") else route
        )

    limits = Settings(http_request_seconds=0.1)
    async with serving(store, limits=limits, routes=map(hanging, ROUTES)) as api:
        reply = await api.post("/jobs", WISH)
        assert (reply.status, reply.kind) == (503, "storage-unavailable")
        assert int(reply.headers["retry-after"]) > 0
        assert msgspec.json.decode(reply.body)["status"] == 503


@pytest.mark.parametrize(
    ("variable", "value"),
    [("TENURE_HTTP_HEADERS", "1"), ("TENURE_HTTP_BODY_BYTES", "many"), ("TENURE_HTTP_REQUEST_SECONDS", "0")],
)
def test_what_cannot_be_set_is_refused_at_the_start(tmp_path: Path, variable: str, value: str) -> None:
    """Row 64."""
    ran = tenure(tmp_path, "api", "--port", "0", **{variable: value})
    assert fails(ran, 2, variable)
