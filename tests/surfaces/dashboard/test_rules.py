"""What holds for every page, whatever it shows: found in the table of pages, so that none is forgotten."""

import re
import subprocess
import sys
from typing import Any

import msgspec

from tenure.core.reports.access import SCOPES, opened_by
from tenure.storage.contract.store import Store
from tenure.surfaces.dashboard.table import PAGES
from tenure.surfaces.http.app.routes import EVENT_STREAM, Route
from tenure.surfaces.http.docs.reference import RouteReference
from tests.browser.filled_store import fill
from tests.storage.backends import Backend
from tests.surfaces.dashboard.browser_user import EVERY, OWN, Visitor, log_in, visitor
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Api, Reply
from tests.surfaces.store_behind import NOBODY

GUARDED = [route for route in PAGES if route.scope is not None]
CHANGES = [route for route in PAGES if route.method != "GET"]
PLAIN_LOOKS = [route for route in PAGES if route.method == "GET" and route.produces != EVENT_STREAM]
"""All pages but those that go on."""

TABLES = ("job", "job_state", "event", "line", "pause", "worker", "definition", "session", "audit")


_SENT = re.compile(
    rb'<form[^>]* method="post"[^>]* action="([^"]+)"(?:(?!</form>).)*?<button'
    rb'|(?:hx-post|formaction)="([^"]+)"',
    re.DOTALL,
)
"""Where buttons lead."""


def buttons(reply: Reply) -> set[bytes]:
    """Where the buttons of a page lead that send something."""
    return {plain or other for plain, other in _SENT.findall(reply.body)}


def path_of(route: Route, job: str = NOBODY) -> str:
    return route.path.format(**(dict.fromkeys(route.names, "1") | {"jobId": job}))


def test_every_page_looks_or_changes_by_a_form() -> None:
    """Row 92: what changes something is a POST with a form, whose token is looked at."""
    for route in PAGES:
        assert route.is_page
        assert (route.method, route.form is not None) in {("GET", False), ("POST", True)}, route.path
        assert route.body is None
        if route.scope is None:
            assert route.path in {"/login", "/ui/static/{name}"}
        elif route.method == "GET":
            assert route.scope == ("admin" if route.path.startswith("/ui/keys") else "read")
        elif route.path == "/ui/keys/{keyId}/revoke":
            assert route.is_routine  # the store writes the entry together with the change
        else:
            assert route.is_audited


async def test_a_form_of_another_origin_changes_nothing(api: Api, store: Store) -> None:
    """Row 91: foreign by either header, or by neither, or without this session's own token."""
    key, other = await make(store, "admin"), await visitor(api, store, "admin")
    for route in CHANGES:
        owner, path = await log_in(api, key), path_of(route)
        token, before = await owner.token(), await store.audit_entries()
        for said in (
            {},
            {"origin": "http://evil.example"},
            {"origin": "null"},
            {"sec-fetch-site": "cross-site"},
            {"sec-fetch-site": "same-site"},
            {"sec-fetch-site": "none"},
            {**OWN, "origin": "http://evil.example"},
        ):
            reply = await owner.submit(path, token=token, headers=said)
            assert reply.status == 403, (path, said)
        if route.scope is not None:
            for wrong in ("", "0" * 64, await other.token()):
                assert (await owner.submit(path, token=wrong)).status == 403, (path, wrong)
        assert await store.audit_entries() == before
        own = {"origin": f"http://127.0.0.1:{api.address[1]}"}
        assert (await owner.submit(path, token=token, headers=own)).status != 403, path
        told = {**OWN, "x-csrf-token": token}
        assert (await owner.submit(path, token="", headers=told)).status != 403, path


async def test_without_keys_a_form_needs_its_token_and_its_origin_all_the_same(api: Api) -> None:
    """Row 91: a page in the browser of whoever sits at this machine."""
    anybody = Visitor(api)
    token = await anybody.token()
    for given, said in (("", OWN), ("0" * 64, OWN), (token, {})):
        assert (await anybody.submit("/logout", token=given, headers=said)).status == 403
    assert (await anybody.submit("/logout", token=token)).status == 303


async def test_a_page_is_open_to_its_scope_and_to_no_other(api: Api, store: Store) -> None:
    """Row 54: by a session and by a key alike."""
    keys = {scope: await make(store, scope) for scope in SCOPES}
    bound, reader = await make(store, "admin", namespace="acme"), await make(store, "read")
    for route in GUARDED:
        path = path_of(route)
        # Of what goes on, the head is enough.
        method = "HEAD" if route.produces == EVENT_STREAM else route.method
        for scope, key in keys.items():
            reply = await api.call(method, path, **bearing(key))
            if route.scope in opened_by([scope]):
                assert reply.status not in {401, 403}, (path, scope, reply)
            else:
                assert reply.status == 403, (path, scope)
                assert method == "HEAD" or f"needs the scope {route.scope}".encode() in reply.body
        browser = await log_in(api, reader)
        looked = await (browser.submit(path) if method == "POST" else browser.get(path, method))
        assert (looked.status == 403) == (route.scope != "read"), path
        fenced = await api.call(method, path, **bearing(bound))
        assert (fenced.status == 403) == route.is_shared, path


async def test_a_page_that_only_looks_changes_nothing(api: Api, store: Store, backend: Backend) -> None:
    """Row 92: not even the login, and not by HEAD."""
    key = await make(store, "admin")
    reader = await log_in(api, key)
    job = (await api.post("/v1/jobs", {"definitionKey": "mail"}, **bearing(key))).json["jobId"]

    async def held() -> list[Any]:
        return [sorted(map(repr, await backend.sql(f"SELECT * FROM tenure.{table}"))) for table in TABLES]

    before = await held()
    headers = {"accept": "text/html", "cookie": reader.cookie}
    for route in PLAIN_LOOKS:
        for method in ("GET", "HEAD"):
            reply = await api.call(method, path_of(route, job), headers=headers)
            assert reply.status < 500, route.path
    assert await held() == before


async def test_a_key_that_only_looks_sees_no_buttons(api: Api, store: Store) -> None:
    """Whatever there is to be seen, nothing in it can be sent but the way out."""
    jobs = await fill(store)
    reader, operator = await visitor(api, store, "read"), await visitor(api, store, "operate")
    sent = set()
    for route in PLAIN_LOOKS:
        for job in jobs.values() if "jobId" in route.names else [NOBODY]:
            path = path_of(route, str(job))
            assert buttons(await reader.get(path)) <= {b"/logout"}, path
            sent |= buttons(await operator.get(path))
    if any(route.scope == "operate" for route in PAGES):
        assert sent > {b"/logout"}


async def test_every_page_and_every_refusal_forbids_scripts_that_are_not_ours(api: Api, store: Store) -> None:
    """Row 89: whatever slips into a page, no browser runs it; and nothing in it is written inline."""
    owner = await visitor(api, store, "admin")
    for route in PLAIN_LOOKS:
        path = path_of(route)
        for browser in (owner, Visitor(api)):
            for reply in (await browser.get(path), await browser.get(f"{path}?nonsense=1")):
                if reply.headers["content-type"].startswith("text/html") and reply.status != 303:
                    _check_policy(reply)


def _check_policy(reply: Reply) -> None:
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert reply.headers["cache-control"] == "no-store"
    assert not re.search(rb"<script(?![^>]*(?: src=| type=\"application/json\"))", reply.body)
    assert not re.search(rb"<style| style=| on[a-z]+=|javascript:", reply.body)


def test_pages_are_in_no_reference_for_programs() -> None:
    reference = RouteReference(EVERY)
    paths = msgspec.json.decode(reference.encoded)["paths"]
    page = reference.page.decode()
    for route in PAGES:
        assert route.path not in paths
        assert f"<code>{route.method} {route.path}</code>" not in page


def test_whoever_serves_no_pages_does_not_know_how_they_are_made() -> None:
    program = (
        "import sys, tenure.__main__, tenure.execution.zygote.fork_server; sys.exit('jinja2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
