"""What stands around every page: its entries, what wants somebody, and the name of the installation."""

import re

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.outcome import Report, Unrecoverable
from tenure.core.values.failure import Failure
from tenure.settings.settings import Settings
from tenure.storage.contract.store import Store
from tenure.surfaces.dashboard.frame import GROUPS
from tests.storage.verbs import claim, enqueue_one, settle
from tests.surfaces.dashboard.browser_user import EVERY, Visitor, visitor
from tests.surfaces.http.http_server import Api, serving

PLACES = [place for group in GROUPS for place in group.places]


def counts(page: bytes) -> dict[str, str]:
    """What stands beside the entries of the menu, by their addresses."""
    found = re.findall(rb'<a href="([^"]+)" data-key.*?class="count"[^>]*?( hidden)?>([^<]*)</span>', page)
    return {path.decode(): text.decode() for path, hidden, text in found if not hidden}


async def test_a_count_stands_only_where_somebody_is_wanted(api: Api, store: Store) -> None:
    """And goes with the page's live parts, where it replaces the one before."""
    anybody = Visitor(api)
    await enqueue_one(store)
    assert counts((await anybody.get("/ui/jobs")).body) == {}
    [owned] = await claim(store)
    await settle(store, [Report(owned.lease, Unrecoverable(Failure("E", "x")))])
    assert counts((await anybody.get("/ui/jobs")).body) == {"/ui/dead-letters": "1"}
    part = (await anybody.get("/ui/jobs", hx_request="true", hx_request_type="partial")).body
    assert re.search(rb'hx-swap-oob="true" id="wanted-ui-dead-letters" data-tone="bad">1<', part)


async def test_a_paused_queue_wants_somebody(store: Store) -> None:
    await enqueue_one(store)
    await store.pause("default", by="ann", reason="spam")
    async with serving(store, routes=EVERY) as api:
        assert counts((await Visitor(api).get("/ui/jobs")).body) == {"/ui/queues": "1 paused"}


async def test_an_entry_leads_where_the_caller_may_go(api: Api, store: Store) -> None:
    """A page that refuses has no entry; each entry opens."""
    for scopes, rest in ((("read",), {}), (("admin",), {}), (("admin",), {"namespace": "acme"})):
        browser = await visitor(api, store, *scopes, **rest)
        page = (await browser.get("/ui/jobs")).body.decode()
        for place in PLACES:
            is_named = f'href="{place.path}" data-key="{place.key}"' in page
            assert is_named == ((await browser.get(place.path)).status == 200), (scopes, rest, place.path)


async def test_one_who_sees_a_namespace_is_told_nothing_of_others(api: Api, store: Store) -> None:
    await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [Report(owned.lease, Unrecoverable(Failure("E", "x")))])
    bound = await visitor(api, store, "admin", namespace="acme")
    assert counts((await bound.get("/ui/jobs")).body) == {}


async def test_every_page_says_which_installation_it_is(store: Store) -> None:
    """The login and problems too: nobody is to act in the wrong window."""
    async with serving(store, routes=EVERY, deployment="<b>production") as api:
        for path in ("/", "/ui/jobs", "/login", "/ui/nowhere"):
            reply = await Visitor(api).get(path)
            if reply.status != 303:
                assert b'<span class="chip">&lt;b&gt;production</span>' in reply.body, path


def test_a_name_is_short_and_on_one_line() -> None:
    assert Settings(name="production eu-1 ü").name
    for wrong in ("x" * 33, "a\nb", "a\u202eb", "\x00"):
        with pytest.raises(InvalidInput, match="name"):
            Settings(name=wrong)


def test_no_two_pages_have_the_same_key_or_address() -> None:
    assert len({place.key for place in PLACES}) == len({place.path for place in PLACES}) == len(PLACES)
