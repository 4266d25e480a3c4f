"""Logging in and out: a session opens what its key does, in its own browser, while both of them last."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from tenure.core.reports.access import SESSION_KEPT, AuditEntry
from tenure.core.values import key_text
from tenure.storage.contract.store import Store
from tenure.surfaces.dashboard.renderer import see_other
from tenure.surfaces.dashboard.table import page
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.auth import authentication
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.surfaces.dashboard.browser_user import EVERY, Visitor, log_in, visitor
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Api, serving

TO_LOGIN = (303, "/login?next=/")


async def where(browser: Visitor) -> tuple[int, str | None]:
    """What comes of a look at the first page."""
    reply = await browser.get("/")
    return reply.status, reply.headers.get("location")


async def test_without_a_session_there_is_the_way_in_and_nothing_else(api: Api, store: Store) -> None:
    """Row 94: the page that asks for a key tells nothing of jobs."""
    await make(store, "read")
    nobody = Visitor(api)
    assert await where(nobody) == TO_LOGIN
    assert (await nobody.get("/")).body == b""
    reply = await nobody.get("/login?next=/")
    assert reply.status == 200
    for word in (b"mail", b"queued", b"Log out"):
        assert word not in reply.body
    assert (await nobody.submit("/logout", token="0" * 64)).status == 401


async def test_a_key_becomes_a_session_that_only_its_browser_keeps(
    api: Api, store: Store, backend: Backend
) -> None:
    key = await make(store, "read")
    reply = await Visitor(api).submit("/login", {"key": f" {key} "})
    assert (reply.status, reply.headers["location"]) == (303, "/")
    name, *attributes = reply.headers["set-cookie"].split("; ")
    assert attributes == ["Path=/", "Max-Age=43200", "HttpOnly", "SameSite=Strict"]
    assert name.startswith(f"tenure-{api.address[1]}=")
    assert (await Visitor(api, name).get("/")).status == 200
    [(digest,)] = await backend.sql("SELECT digest FROM tenure.session")
    assert name.partition("=")[2].encode() not in bytes(digest)
    assert (await store.audit_entries())[0].entry.action == "POST /login"


async def test_elsewhere_the_session_is_for_one_host_and_for_tls_alone(api: Api, store: Store) -> None:
    """Behind a proxy that speaks TLS; who comes without is told why it would not last."""
    key = await make(store, "read")
    away = {"host": "jobs.example", "origin": "https://jobs.example"}
    reply = await Visitor(api).submit("/login", {"key": key}, headers=away)
    name, *attributes = reply.headers["set-cookie"].split("; ")
    assert name.startswith("__Host-tenure=")
    assert attributes == ["Path=/", "Max-Age=43200", "HttpOnly", "SameSite=Strict", "Secure"]
    assert (await Visitor(api, name).get("/", host="jobs.example")).status == 200
    plain = {"host": "jobs.example", "origin": "http://jobs.example"}
    refused = await Visitor(api).submit("/login", {"key": key}, headers=plain)
    assert refused.status == 403
    assert b"https" in refused.body
    assert "set-cookie" not in refused.headers


async def test_every_login_begins_a_session_of_its_own_and_ends_the_one_before(
    api: Api, store: Store
) -> None:
    """Row 94: an id that somebody planted in the browser opens nothing, before and after."""
    key = await make(store, "read")
    planted = f"tenure-{api.address[1]}={'A' * 43}"
    first = await log_in(api, key, before=planted)
    assert first.cookie != planted
    assert await where(Visitor(api, planted)) == TO_LOGIN
    second = await log_in(api, key, before=first.cookie)
    assert second.cookie != first.cookie
    assert await where(first) == TO_LOGIN
    assert await where(second) == (200, None)


async def test_a_cookie_that_was_stolen_opens_nothing_after_logout(api: Api, store: Store) -> None:
    """Row 94."""
    owner = await visitor(api, store, "read")
    thief = Visitor(api, owner.cookie)
    token = await thief.token()
    assert await where(thief) == (200, None)
    reply = await owner.submit("/logout")
    assert (reply.status, reply.headers["location"]) == (303, "/login")
    assert "Max-Age=0" in reply.headers["set-cookie"]
    assert await where(thief) == TO_LOGIN
    assert (await thief.submit("/logout", token=token)).status == 401


async def test_two_cookies_of_one_name_are_none(api: Api, store: Store) -> None:
    """A page of the same machine, on another port, may have set the second."""
    owner = await visitor(api, store, "read")
    name = owner.cookie.partition("=")[0]
    assert await where(Visitor(api, f"{name}={'A' * 43}; {owner.cookie}")) == TO_LOGIN
    assert await where(Visitor(api, f"other=1; {owner.cookie}")) == (200, None)


async def test_a_session_ends_with_its_key_and_with_time(api: Api, store: Store, clock: Clock) -> None:
    """From the next request on: nothing of a session is remembered between two."""
    key = await make(store, "read")
    revoked, lasting = await log_in(api, key), await visitor(api, store, "read")
    short = await visitor(api, store, "read", lifetime=timedelta(hours=1))
    await store.revoke_key(key[4:14], AuditEntry(who="a", action="b", target="", request=uuid4()))
    assert await where(revoked) == TO_LOGIN
    assert await where(short) == (200, None)
    await clock.advance(timedelta(hours=1))
    assert await where(short) == TO_LOGIN
    await clock.advance(SESSION_KEPT - timedelta(hours=1, seconds=1))
    assert await where(lasting) == (200, None)
    await clock.advance(timedelta(seconds=1))
    assert await where(lasting) == TO_LOGIN


async def test_what_goes_on_ends_with_the_session(store: Store) -> None:
    """Row 94: a stream asks before every piece, and logging out cuts it like a revocation does."""
    seen: list[Request] = []

    async def look(_context: AppContext, request: Request) -> Response:
        seen.append(request)
        return see_other("/")

    async with serving(store, routes=[*EVERY, page("/look", handler=look, summary="")]) as api:
        key = await make(store, "read")
        one, two = await log_in(api, key), await log_in(api, key)
        for browser in (one, two):
            await browser.get("/look")
        await api.get("/look", headers={**bearing(key)["headers"], "accept": "text/html"})
        await one.submit("/logout")
        assert [await request.is_admitted() for request in seen] == [False, True, True]
        await store.revoke_key(key[4:14], AuditEntry(who="a", action="b", target="", request=uuid4()))
        assert [await request.is_admitted() for request in seen] == [False, False, False]


async def test_a_script_whose_session_is_over_is_sent_to_the_login(api: Api, store: Store) -> None:
    """What it shows is refused as such; the browser goes where somebody can log in."""
    await make(store, "read")
    reply = await Visitor(api).get("/", hx_request="true")
    assert (reply.status, reply.headers["hx-redirect"]) == (401, "/login?next=/")
    assert "www-authenticate" not in reply.headers


async def test_a_link_from_elsewhere_finds_the_session(api: Api, store: Store) -> None:
    """No browser sends a strict cookie on the way from another site; from a page of ours it does."""
    owner = await visitor(api, store, "read")
    reply = await Visitor(api).get("/?", sec_fetch_site="cross-site")
    assert reply.status == 200
    assert b'content="0; url=/login?next=/"' in reply.body
    onward = await owner.get("/login?next=/")
    assert (onward.status, onward.headers["location"]) == (303, "/")


async def test_a_key_that_opens_nothing_is_told_so_in_the_form(api: Api, store: Store) -> None:
    await make(store, "read")
    for bad in ("x", key_text.mint().text, ""):
        reply = await Visitor(api).submit("/login", {"key": bad, "next": "/ui/jobs"})
        assert reply.status == 401
        assert b'role="alert"' in reply.body
        assert b'value="/ui/jobs"' in reply.body
        assert "set-cookie" not in reply.headers


async def test_who_guesses_keys_in_the_form_is_told_to_wait(store: Store, monkeypatch: Any) -> None:
    """Row 55: in one bucket with keys that are shown otherwise."""
    monkeypatch.setattr(authentication, "BAD_KEYS_WITHIN", 1e6)  # however slow the machine is
    key = await make(store, "read")
    async with serving(store, routes=EVERY) as api:
        for _ in range(authentication.BAD_KEYS - 1):
            assert (await Visitor(api).submit("/login", {"key": "x"})).status == 401
        assert (await api.get("/v1/jobs", **bearing("x"))).status == 401
        reply = await Visitor(api).submit("/login", {"key": "x"})
        assert reply.status == 429
        assert int(reply.headers["retry-after"]) >= 1
        await log_in(api, key)


async def test_visits_without_a_session_are_no_guesses(store: Store, monkeypatch: Any) -> None:
    monkeypatch.setattr(authentication, "BAD_KEYS_WITHIN", 1e6)
    await make(store, "read")
    async with serving(store, routes=EVERY) as api:
        for _ in range(authentication.BAD_KEYS + 1):
            assert await where(Visitor(api)) == TO_LOGIN


async def test_a_key_that_may_not_look_does_not_log_in(api: Api, store: Store) -> None:
    for scope in ("submit", "work"):
        reply = await Visitor(api).submit("/login", {"key": await make(store, scope)})
        assert reply.status == 403
        assert b"read" in reply.body


async def test_a_key_in_the_address_opens_nothing(api: Api, store: Store) -> None:
    key = await make(store, "read")
    reply = await Visitor(api).get(f"/login?key={key}")
    assert reply.status == 422
    assert key[15:].encode() not in reply.body
    assert (await Visitor(api).get(f"/?key={key}")).status == 303


@pytest.mark.parametrize("way", ["//evil.example", "https://evil.example", "/\\evil", "x", "/a\tb", "/ä"])
async def test_nobody_is_led_away_after_the_login(api: Api, store: Store, way: str) -> None:
    key = await make(store, "read")
    assert (await Visitor(api).submit("/login", {"key": key, "next": way})).status == 422
    assert (await api.get("/login", params={"next": way}, headers={"accept": "text/html"})).status == 422


async def test_while_there_are_no_keys_nobody_needs_to_log_in(api: Api) -> None:
    anybody = Visitor(api)
    assert await where(anybody) == (200, None)
    for reply in (await anybody.get("/login"), await anybody.submit("/login", {"key": "x"})):
        assert (reply.status, reply.headers["location"]) == (303, "/")
        assert "set-cookie" not in reply.headers
