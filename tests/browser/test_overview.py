"""The first page in a browser: it follows what happens, and moves nothing that somebody looks at."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line
from tenure.core.reports.operations import Definition, WorkerInfo
from tenure.core.values.documents import Document
from tenure.storage.address import store_for
from tenure.storage.contract.store import Store
from tests.browser.conftest import DARK, LIGHT, PHONE, Site, Window, check_accessible, shot
from tests.surfaces.dashboard.browser_user import EVERY
from tests.surfaces.http.auth.test_keys import make
from tests.surfaces.http.http_server import Api, serving


async def test_what_happens_is_shown_and_nothing_moves_that_is_looked_at(site: Site, window: Window) -> None:
    """What is open stays open, the focus stays where it is, and so does the place on the page."""
    page = await window(site.operator, **LIGHT)
    await page.goto("/")
    waiting = page.locator(".figures a", has_text="Waiting").locator("b")
    before = int(await waiting.inner_text())
    await page.get_by_text("As a table").first.click()
    link = page.get_by_role("link", name="All schedules")
    await link.focus()
    await link.scroll_into_view_if_needed()
    top = await page.evaluate("() => scrollY")
    [made] = await site.store.enqueue([NewJob(definition="mail.welcome")])
    await expect(waiting).to_have_text(str(before + 1))
    await expect(page.get_by_role("region", name="as a table").first).to_be_visible()
    await expect(link).to_be_focused()
    assert await page.evaluate("() => scrollY") == top
    await site.store.cancel([made.id])
    await expect(waiting).to_have_text(str(before))


async def test_counts_of_the_menu_follow_too(site: Site, window: Window) -> None:
    page = await window(site.operator, **LIGHT)
    await page.goto("/ui/jobs")
    queues = page.locator("#pages").get_by_role("link", name="Queues")
    await expect(queues).to_contain_text("1 paused")
    await site.store.resume("media")
    await site.store.enqueue([NewJob(definition="mail.welcome", delay=None)])
    await expect(queues).not_to_contain_text("paused")
    await site.store.pause("media", by="ann", reason="the encoder is being replaced")
    await site.store.enqueue([NewJob(definition="mail.welcome")])
    await expect(queues).to_contain_text("1 paused")


async def test_a_pause_ends_by_a_button_beside_it(site: Site, window: Window) -> None:
    page = await window(site.operator, **LIGHT)
    [queued] = await site.store.enqueue([NewJob(definition="fax.send", queue="held.up")])
    await site.store.pause("held.up", by="ann", reason="no paper")
    await page.goto("/")
    trouble = page.locator(".attention li", has_text="under the pause of queue held.up")
    if await page.locator("#more-troubles").count():  # others may stand before it
        await page.locator("#more-troubles summary").click()
    await expect(trouble).to_contain_text("no paper")
    await trouble.get_by_role("button", name="Resume").click()
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert {pause.scope.queue for pause in await site.store.pauses()} == {"media"}
    await site.store.cancel([queued.id])


async def test_a_period_and_an_order_have_addresses(site: Site, window: Window) -> None:
    page = await window(site.operator, **LIGHT)
    await page.goto("/")
    await page.get_by_role("link", name="7 days").click()
    await expect(page.get_by_role("heading", name="Finished per 3 h")).to_be_visible()
    await page.get_by_role("link", name="slowest").click()
    await expect(page).to_have_url(f"{site.url}/?period=week&order=slowest")
    await expect(page.get_by_role("heading", name="Slowest definitions")).to_be_visible()


@pytest.fixture
async def fresh(tmp_path: Path) -> AsyncIterator[tuple[Api, Store]]:
    """A server on a store in which nothing has happened yet."""
    store = store_for(f"sqlite:///{tmp_path / 'jobs.db'}")
    await store.open()
    await store.migrate()
    async with serving(store, routes=EVERY) as api:
        yield api, store
    await store.close()


async def test_the_first_run_ticks_off_what_is_done(fresh: tuple[Api, Store], browser: Browser) -> None:
    api, store = fresh
    for look, options in (("light", LIGHT), ("dark", DARK), ("phone", PHONE)):
        context = await browser.new_context(base_url=api.server.url, **options)
        page = await context.new_page()
        await page.goto("/")
        await expect(page.get_by_text("0 of 3 done")).to_be_visible()
        await check_accessible(page)
        await shot(page, f"first-run-{look}")
        await context.close()
    context = await browser.new_context(base_url=api.server.url, **LIGHT)
    page = await context.new_page()
    await page.goto("/")
    await page.get_by_role("link", name="HTTP", exact=True).click()
    await expect(page.locator("#start-job")).to_contain_text(f"curl {api.server.url}/v1/jobs")
    await store.put_definitions([Definition(key="mail.welcome", version=1, spec=Document("{}"))])
    lines = (Line("default", "mail.welcome"),)
    await store.enlist(WorkerInfo(id="a", host="here", pid=1, version="1", slots=1, lines=lines))
    await expect(page.get_by_text("2 of 3 done")).to_be_visible()
    await store.enqueue([NewJob(definition="mail.welcome")])
    await expect(page.get_by_text("3 of 3 done")).to_be_visible()
    await page.get_by_role("link", name="Go to the overview").click()
    await expect(page.get_by_role("heading", name="Needs attention")).to_be_visible()
    await context.close()


async def test_a_key_is_revoked_in_two_steps(site: Site, window: Window) -> None:
    page = await window(site.admin, **LIGHT)
    await make(site.store, "read", name="grafana")
    await page.goto("/ui/keys")
    await page.get_by_role("link", name="Revoke grafana…").click()
    await page.get_by_role("button", name="Revoke key grafana").click()
    await expect(page.locator("tr", has_text="grafana")).to_contain_text("revoked")
    await expect(page.get_by_role("link", name="Revoke grafana…")).to_have_count(0)
