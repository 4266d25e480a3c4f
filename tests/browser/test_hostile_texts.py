"""Rows 89, 90 and 95 of the hostile inputs: texts that somebody chose are shown as text, on every page."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from tests.browser.conftest import Site, Window, empty_store, shot
from tests.browser.hostile_store import Texts, fill
from tests.browser.screens import cut_off, overhang
from tests.surfaces.dashboard.browser_user import EVERY
from tests.surfaces.http.auth.test_keys import make
from tests.surfaces.http.http_server import serving
from tests.whole import dealt

NARROWEST = (320, 705, 961, 1201)
"""Pixels: the least that each layout has room for."""

_RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_MADE = """() => {
    const made = "main img, main script, main style, [data-made], [onmouseover], [onerror]";
    return document.querySelectorAll(made).length;
}"""
_OPEN = "() => document.querySelectorAll('details:not(.menu)').forEach((one) => { one.open = true; })"
# Fields alone hold a text as it was typed.
_SHOWN = """() => {
    const page = document.documentElement.cloneNode(true);
    page.querySelectorAll("textarea, script").forEach((one) => one.remove());
    const attributes = [...page.querySelectorAll("*")].flatMap((one) => [...one.attributes]);
    const shown = attributes.filter((one) => !["value", "href", "action"].includes(one.name));
    return [page.textContent, ...shown.map((one) => one.value)].join("\\n");
}"""
_TYPED = "() => [...document.querySelectorAll('input, textarea, option')].map((one) => one.value).join('\\n')"


@dataclass(frozen=True)
class HostileSite(Site):
    """A site whose every text is hostile, the addresses of its pages, and the marks of the texts."""

    pages: list[str]
    marks: set[str]


@pytest.fixture(scope="module")
async def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[HostileSite]:
    """One of its own, so that the pages of other tests have texts of the usual length."""
    async with empty_store(request, tmp_path_factory, "hostile") as store:
        admin, texts = await make(store, "admin"), Texts()
        pages = await fill(store, texts)
        async with serving(store, routes=EVERY) as api:
            yield HostileSite(api, store, {}, admin, admin, pages, texts.marks)


@pytest.mark.parametrize("site", dealt(1), indirect=True)
async def test_no_text_that_somebody_chose_is_more_than_text(site: HostileSite, window: Window) -> None:
    """Each is shown on some page; on none it makes an element, runs, turns text around or is cut off."""
    page = await window(site.admin)
    told, wrong = "", []
    for path in site.pages:
        await page.goto(path)
        await page.evaluate(_OPEN)
        shown = await page.evaluate(_SHOWN)
        told += shown + await page.evaluate(_TYPED)
        if await page.evaluate(_MADE):
            wrong.append((path, "makes elements"))
        wrong += [
            (path, repr(shown[max(found.start() - 40, 0) : found.end()])) for found in _RAW.finditer(shown)
        ]
        for width in NARROWEST:
            await page.set_viewport_size({"width": width, "height": 800})
            beyond = await cut_off(page)
            if beyond or await overhang(page) > 0:
                wrong.append((path, f"is too wide for {width}: {beyond[-1:]}"))
        await shot(page, f"hostile{re.sub('[^a-z]+', '-', path[:40])}")
    assert not wrong
    assert not {mark for mark in site.marks if mark not in told}
