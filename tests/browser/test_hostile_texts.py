"""Rows 89, 90 and 95 of the hostile inputs: texts that somebody chose are shown as they are, everywhere."""

import re
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from tenure.storage.address import store_for
from tests.browser.conftest import Site, Window, shot
from tests.browser.hostile_store import Texts, fill
from tests.browser.screens import cut_off, overhang
from tests.storage.migrated_databases import create_migrated
from tests.surfaces.dashboard.browser_user import EVERY
from tests.surfaces.http.auth.test_keys import make
from tests.surfaces.http.http_server import serving
from tests.whole import STORES

TEXTS = Texts()
_RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_MADE = "() => document.querySelectorAll('main img, main script, main style, [data-made], [onmouseover], [onerror]').length"
_OPEN = "() => document.querySelectorAll('details:not(.menu)').forEach((one) => { one.open = true; })"
_SHOWN = """() => [
    document.body.textContent,
    ...[...document.querySelectorAll("*")].flatMap((one) => [...one.attributes]
        .filter((given) => !["value", "href", "action"].includes(given.name)).map((given) => given.value)),
].join("\\n")"""
_TYPED = "() => [...document.querySelectorAll('input, textarea, option')].map((one) => one.value).join('\\n')"


@pytest.fixture(scope="module")
async def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Site]:
    """A server of its own, so that other tests have short texts. Its jobs are the addresses of its pages."""
    if request.param == "sqlite":
        address = f"sqlite:///{tmp_path_factory.mktemp('hostile') / 'jobs.db'}"
    else:
        address = create_migrated(request.getfixturevalue("postgres_server"), f"hostile_{uuid4().hex}")
    store = store_for(address)
    await store.open()
    try:
        await store.migrate()
        admin = await make(store, "admin")
        pages = await fill(store, TEXTS)
        async with serving(store, routes=EVERY) as api:
            yield Site(api, store, dict.fromkeys(pages, uuid4()), admin, admin)
    finally:
        await store.close()


@pytest.mark.parametrize("site", STORES, indirect=True)
async def test_no_text_that_somebody_chose_is_more_than_text(site: Site, window: Window) -> None:
    """Each is shown on some page; on none it makes an element, runs, turns text around or widens the page."""
    page = await window(site.admin, viewport={"width": 320, "height": 800})
    told = ""
    for path in site.jobs:
        await page.goto(path)
        await page.evaluate(_OPEN)
        assert await page.evaluate(_MADE) == 0, path
        shown = await page.evaluate(_SHOWN)
        for m in _RAW.finditer(shown): print(path, "RAW", repr(shown[max(0,m.start()-200):m.end()+20]))
        if (await overhang(page)) > 0 or await cut_off(page): print(path, await overhang(page), *(await cut_off(page))[-4:], sep="\n   ")
        await shot(page, f"hostile{re.sub('[^a-z]+', '-', path[:40])}")
        told += shown + await page.evaluate(_TYPED)
    unseen = {mark for mark in TEXTS.marks if mark not in told}
    print(sorted(unseen)); assert not unseen
