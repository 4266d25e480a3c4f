"""What goes wrong with a page, or with its form, is told on a page: what, why, and under which id."""

from uuid import UUID

import pytest

from tenure.storage.contract.store import Store
from tenure.surfaces.dashboard.assets import address
from tenure.surfaces.dashboard.renderer import render
from tenure.surfaces.dashboard.table import PAGES, action, page
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.forms import Form
from tests.surfaces.dashboard.browser_user import OWN, Visitor
from tests.surfaces.http.http_server import Api, serving

FORM = {**OWN, "content-type": "application/x-www-form-urlencoded", "accept": "text/html"}


class Wish(Form, frozen=True, kw_only=True):
    """A form with a field of each kind."""

    name: str
    note: str | None = None
    count: int = 1
    loud: bool = False
    job: tuple[UUID, ...] = ()


async def test_a_browser_is_told_on_a_page_and_a_program_in_json(api: Api) -> None:
    for accept, media_type in (
        ("text/html,*/*", "text/html; charset=utf-8"),
        ("*/*", "application/problem+json"),
    ):
        for path, status in (("/nope", 404), ("/v1/nope", 404), ("/ui/", 404)):
            reply = await api.get(path, headers={"accept": accept})
            assert (reply.status, reply.headers["content-type"]) == (status, media_type), path
    reply = await api.call("DELETE", "/login", headers={"accept": "text/html"})
    assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD, POST")
    assert reply.headers["x-request-id"].encode() in reply.body


async def test_a_bad_parameter_is_told_by_its_name(api: Api) -> None:
    """Row 93."""
    reply = await Visitor(api).get("/?days=1000000000")
    assert reply.status == 422
    assert b"days" in reply.body
    part = await Visitor(api).get("/?days=1", hx_request="true", hx_request_type="partial")
    assert part.status == 422
    assert b"<html" not in part.body


async def test_what_breaks_inside_a_page_stays_inside(store: Store) -> None:
    async def broken(_context: AppContext, _request: Request) -> Response:
        raise RuntimeError("secret")

    async def undefined(_context: AppContext, request: Request) -> Response:
        return render(request, "overview.html")

    routes = [page("/a", handler=broken, summary=""), page("/b", handler=undefined, summary="")]
    async with serving(store, routes=routes) as api:
        for path in ("/a", "/b"):
            reply = await Visitor(api).get(path)
            assert (reply.status, reply.headers["content-type"]) == (500, "text/html; charset=utf-8")
            assert b"secret" not in reply.body
            assert reply.headers["x-request-id"] in api.bugs[-1]


async def test_a_form_becomes_a_value_of_its_type(store: Store) -> None:
    seen: list[Wish] = []

    async def take(_context: AppContext, request: Request) -> Response:
        seen.append(request.body)
        return Response(303, b"", {"location": "/"})

    job = "00000000-0000-7000-8000-000000000000"
    async with serving(store, routes=[*PAGES, action("/take", handler=take, summary="", form=Wish)]) as api:
        anybody = Visitor(api)
        token = await anybody.token()
        for fields in (
            {"name": "Ädä & co", "note": "", "job": [job, job], "loud": "true", "count": "7"},
            {"name": "null", "note": "null"},
        ):
            assert (await anybody.submit("/take", fields, token=token)).status == 303
        assert seen == [
            Wish(name="Ädä & co", note=None, count=7, loud=True, job=(UUID(job),) * 2),
            Wish(name="null", note="null"),
        ]
        for body, status, said in (
            (b"", 422, b"/name"),
            (b"name=", 422, b"/name"),
            (b"name=a&name=b", 422, b"twice"),
            (b"name=a&x=1", 422, b"/x"),
            (b"name=a&count=many", 422, b"/count"),
            (b"name=a&job=1", 422, b"/job/0"),
            (b"name=%ff", 422, b"UTF-8"),
            (b"name=%00", 422, b"/name"),
            (b"a=1&" * 1001, 422, b"fields"),
            (b"name=" + b"a" * 70_000, 413, b"65,536"),
        ):
            reply = await api.call("POST", "/take", content=body, headers={**FORM, "x-csrf-token": token})
            assert reply.status == status, (body[:40], reply)
            assert said in reply.body, (body[:40], reply)
        for media_type in ("application/json", "multipart/form-data; boundary=x", "text/plain", ""):
            headers = {**FORM, "x-csrf-token": token, "content-type": media_type}
            assert (await api.call("POST", "/take", content=b"name=a", headers=headers)).status == 415
    assert len(seen) == 2


@pytest.mark.parametrize("name", ["dashboard.js", "dashboard.css", "icon.svg"])
async def test_files_are_kept_for_ever_under_names_that_tell_their_content(api: Api, name: str) -> None:
    reply = await api.get(address(name), headers={"range": "bytes=" + ",".join(["0-1"] * 3000)})
    assert reply.status == 200
    assert "immutable" in reply.headers["cache-control"]
    assert reply.headers["content-type"].split("/")[0] in {"text", "image"}
    assert reply.body


async def test_only_files_that_pages_load_are_there(api: Api) -> None:
    """Row 48: no name leads to anything that was not put there."""
    for name in (
        "%2e%2e%2ftable.py",
        "..%2f..%2fversion.py",
        "dashboard.js",
        "%2fetc%2fpasswd",
        "%00",
        "%ff",
    ):
        reply = await api.get(f"/ui/static/{name}")
        assert (reply.status, reply.kind) == (404, "not-found"), name
