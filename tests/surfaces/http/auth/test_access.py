"""From where a request may come: the server's own names, and no page of another origin."""

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.reports.access import SCOPES
from tenure.surfaces.http.app.caller import ANYBODY, Caller
from tenure.surfaces.http.auth.authorization import allowed
from tenure.surfaces.http.calls.table import ROUTES
from tenure.surfaces.http.server.server import listen
from tests.surfaces.http.http_server import Api, request

MAIL = {"definitionKey": "mail"}


async def test_only_the_servers_own_names_lead_here(api: Api) -> None:
    """Row 49: a name that somebody's DNS lets point to this machine is not one of them."""
    port = api.address[1]
    for host in ("localhost", f"localhost:{port}", "127.0.0.1", "[::1]:80", "LOCALHOST"):
        assert (await api.get("/v1/jobs", headers={"host": host})).status == 200, host
    for host in (
        "evil.example",
        "localhost.evil.example",
        f"evil.example:{port}",
        "",
        "[::1",
        "a b",
        "10.0.0.1",
        "evil.example@localhost",
        "localhost/evil.example",
        "localhost?evil.example",
    ):
        reply = await api.get("/v1/jobs", headers={"host": host})
        assert reply.kind in {"misdirected-request", "malformed-request"}, host
        assert reply.status in {421, 400}
        assert (await api.post("/v1/jobs", MAIL, headers={"host": host})).status == reply.status


async def test_a_whole_address_names_the_host_whatever_the_header_says(api: Api) -> None:
    """Row 49: a request for another server does not come in under one of this server's names."""
    port = api.address[1]

    async def status_of(address: str, host: str, method: str = "GET", **headers: str) -> int:
        return (await api.send(request(method, address, {"Host": host, **headers}))).status

    for name in ("localhost", f"127.0.0.1:{port}", "[::1]:80", "LOCALHOST"):
        assert await status_of(f"http://{name}/v1/jobs?limit=1", "evil.example") == 200, name
    for name in ("evil.example", f"evil.example:{port}", "10.0.0.1", "localhost.evil.example"):
        assert await status_of(f"http://{name}/v1/jobs", "localhost") == 421, name
    assert await status_of("HTTPS://evil.example/healthz", "localhost") == 200
    # The origin is held against the same host.
    cancel = "http://localhost/v1/workers/w/drain"
    assert await status_of(cancel, "evil.example", "POST", Origin="http://evil.example") == 403
    assert await status_of(cancel, "evil.example", "POST", Origin="http://localhost") == 404


async def test_whoever_forwards_is_not_believed(api: Api) -> None:
    """Row 49."""
    spoofed = {"x-forwarded-host": "localhost", "x-forwarded-proto": "https", "x-forwarded-for": "127.0.0.1"}
    reply = await api.get("/v1/jobs", headers={"host": "evil.example", **spoofed})
    assert reply.status == 421


async def test_probes_may_come_by_any_name(api: Api) -> None:
    for path in ("/healthz", "/readyz"):
        assert (await api.get(path, headers={"host": "10.1.2.3"})).status == 200


async def test_a_page_of_another_origin_changes_nothing(api: Api) -> None:
    """Row 91, with or without a cookie: every unsafe request is looked at."""
    host = f"127.0.0.1:{api.address[1]}"
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": ""},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"origin": f"http://{host}", "sec-fetch-site": "cross-site"},
    ):
        reply = await api.post("/v1/jobs", MAIL, headers=headers)
        assert (reply.status, reply.kind) == (403, "csrf"), headers
    assert (await api.get("/v1/jobs")).json["items"] == []
    own = {"origin": f"http://{host}", "sec-fetch-site": "same-origin"}
    assert (await api.post("/v1/jobs", MAIL, headers=own)).status == 202


async def test_no_page_of_another_origin_may_read_or_ask_beforehand(api: Api) -> None:
    """Row 50."""
    headers = {"origin": "http://evil.example", "access-control-request-method": "POST"}
    replies = [await api.call(method, "/v1/jobs", headers=headers) for method in ("OPTIONS", "GET")]
    for reply in replies:
        assert not [name for name in reply.headers if name.startswith("access-control-")]


def test_every_route_that_shows_or_changes_jobs_has_a_scope() -> None:
    for route in ROUTES:
        assert (route.scope is None) == (route.audience == "process"), route.path
        assert set(route.scopes) <= set(SCOPES)
        assert allowed(route, ANYBODY)
        assert allowed(route, Caller(name="nobody", scopes=frozenset())) == (route.scope is None)
        if route.method != "GET":
            assert not allowed(route, Caller(name="reader", scopes=frozenset({"read"})))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "8.8.8.8", "no.such.host.invalid", ""])  # noqa: S104
def test_nobody_else_may_reach_a_server_without_keys(host: str) -> None:
    """Row 69."""
    with pytest.raises(InvalidInput, match="host"):
        listen(host, 0)
