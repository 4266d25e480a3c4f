"""Every screen, light and dark, on a desktop and on a phone: it can be used, and its layout fits."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from playwright.async_api import Page, expect

from tenure.core.model.job import NewJob
from tenure.core.model.limit import Limit
from tenure.core.model.spec import Spec
from tenure.core.reports.operations import WorkerInfo
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import NewSchedule, ScheduledJob, ScheduleName
from tenure.core.values.documents import write
from tenure.core.webhooks.webhook import NewWebhook
from tests.browser.conftest import DARK, LIGHT, PHONE, Site, Window, check_accessible, shot
from tests.browser.screens import SCREENS, go, overhang
from tests.surfaces.http.http_server import register
from tests.whole import IS_WHOLE

WALL: dict[str, Any] = {"viewport": {"width": 2560, "height": 1440}, "color_scheme": "dark"}
NIGHT_PHONE: dict[str, Any] = {**PHONE, "color_scheme": "dark"}
LOOKS = {
    "sqlite": {"light": LIGHT, **({"wall": WALL, "phone-dark": NIGHT_PHONE} if IS_WHOLE else {})},
    "postgres": {"phone": PHONE, **({"dark": DARK} if IS_WHOLE else {})},
}
"""By the kind of store: the look of a page does not depend on it, so each store gets a part."""

WIDTHS = (320, 360, 414, 600, 703, 768, 960, 1100, 1280, 1920, 2560)
"""Pixels, on both sides of where the layout changes."""


@pytest.mark.parametrize("site", LOOKS, indirect=True)
async def test_every_screen_can_be_used_and_fits(
    site: Site, window: Window, request: pytest.FixtureRequest
) -> None:
    for look, options in LOOKS[request.node.callspec.params["site"]].items():
        page = await window(site.admin, **options)
        for name in SCREENS:
            await go(page, site, name)
            await check_accessible(page, of="layout" if look == "phone" and not IS_WHOLE else "all")
            await shot(page, f"{name}-{look}")
            assert await overhang(page) <= 0, (name, look)
            if look == "light":
                await page.emulate_media(color_scheme="dark")
                await check_accessible(page, of="colours")
                await page.emulate_media(color_scheme="light")


async def test_no_screen_is_wider_than_its_window(site: Site, window: Window) -> None:
    """Nor is one of 1,280 pixels enlarged to four times its size, which is the narrowest of these."""
    page = await window(site.admin, **LIGHT)
    for name in SCREENS:
        await go(page, site, name)
        for width in WIDTHS if IS_WHOLE else (320, 960, 1280, 2560):
            await page.set_viewport_size({"width": width, "height": 800})
            assert await overhang(page) <= 0, (name, width)


async def test_long_names_widen_no_page_and_break_no_short_ones(site: Site, window: Window) -> None:
    # First by the alphabet, so that it is among those that the overview names without being asked.
    name = f"a{uuid4().hex}.{'long' * 20}"
    limits = (Limit(name, size=2),)
    long = NewJob(definition=name, queue=name, tags=(name,), limits=limits)
    beside = NewJob(definition="brief.name")
    made, _ = await site.store.enqueue([long, beside])
    rule = Recurrence(every=timedelta(hours=1), starts_at=datetime.now(UTC))
    planned = NewSchedule(id=name, job=ScheduledJob(definition=name), recurrence=rule, is_paused=True)
    await site.store.add_schedule(planned, next_at=rule.starts_at, by=name)
    schedule = f"/ui/schedules/default/{name}"
    hook = NewWebhook(id=uuid4(), url=f"https://a.example/{name}", events=("failed",), definitions=(name,))
    await site.store.add_webhook(hook, secret=None)
    described = {"type": "object", "properties": {name: {"enum": [name], "description": name * 2}}}
    await register(site.store, Spec(key=name, limits=limits, tags=(name,), params_schema=write(described)))
    await site.store.enlist(WorkerInfo(id=name, host=name, pid=1, version=name, slots=1, lines=()))
    desktop, phone = await window(site.operator, **LIGHT), await window(site.operator, **PHONE)
    for page in (desktop, phone):
        for path in (
            *("/", "/ui/jobs", f"/ui/jobs/{made.id}", "/ui/queues", "/ui/schedules", schedule),
            *("/ui/webhooks", f"/ui/webhooks/{hook.id}", f"/ui/webhooks/{hook.id}/edit", f"{schedule}/edit"),
            *("/ui/definitions", f"/ui/definitions/{name}", "/ui/limits", "/ui/workers"),
        ):
            await page.goto(path)
            if await page.locator("#more-troubles").count():  # where others need attention before it
                await page.locator("#more-troubles summary").click()
            if not path.endswith("/edit"):  # there it stands in a field
                await expect(page.get_by_text(name).first).to_be_visible()
            assert await overhang(page) <= 0, path
    await site.store.dismiss(name)
    await site.store.delete_webhook(hook.id)
    await site.store.delete_schedule(ScheduleName("default", name))
    await desktop.goto("/ui/jobs")
    short = await desktop.get_by_role("link", name="brief.name").first.bounding_box()
    assert short is not None
    assert short["height"] < 30


async def test_without_scripts_every_screen_reads(site: Site, window: Window) -> None:
    page = await window(site.admin, **LIGHT, java_script_enabled=False)
    for name in SCREENS:
        await go(page, site, name)
    await page.goto("/")
    await page.get_by_text("As a table").first.click()
    await expect(page.get_by_role("columnheader", name="succeeded").first).to_be_visible()


@pytest.mark.parametrize("with_script", [True, False])
async def test_on_a_phone_the_pages_are_in_a_menu(site: Site, window: Window, with_script: bool) -> None:
    """Five places at the thumb, and all others behind the last of them: a popover, which needs no script."""
    page = await window(site.admin, **PHONE, java_script_enabled=with_script)
    await page.goto("/")
    places = page.get_by_role("navigation", name="Main pages")
    await expect(places.get_by_role("link")).to_have_count(4)
    await expect(page.get_by_role("link", name="Definitions")).to_be_hidden()
    await places.get_by_role("button", name="More").click()
    await expect(page.get_by_role("link", name="Definitions")).to_be_in_viewport(ratio=1)
    if with_script:
        await check_accessible(page)
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("link", name="Definitions")).to_be_hidden()
    await places.get_by_role("button", name="More").click()
    await page.get_by_role("link", name="Definitions").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Definitions")


async def test_a_page_loads_its_fonts(site: Site, page: Page) -> None:
    """From this server: they are loaded and used, and nothing is asked for elsewhere."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.goto("/")
    await page.evaluate("() => document.fonts.ready")
    loaded = await page.evaluate(
        "() => [...document.fonts].filter((font) => font.status === 'loaded').map((font) => font.family)"
    )
    assert {name.strip('"') for name in loaded} == {"Inter", "JetBrains Mono"}
    assert all(url.startswith(site.url) for url in asked)


async def test_what_does_not_exist_is_told_on_a_page_with_a_way_on(site: Site, page: Page) -> None:
    reply = await page.goto("/ui/nowhere")
    assert reply is not None
    assert reply.status == 404
    await check_accessible(page)
    await shot(page, "problem")
    await page.get_by_role("link", name="Go to jobs").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")


async def test_light_or_dark_is_chosen_and_kept(site: Site, page: Page) -> None:
    await page.goto("/")
    await page.get_by_role("button", name="Theme").click()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    await page.goto("/ui/jobs")
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")


async def test_the_first_key_offers_to_leave_out_the_bar(site: Site, page: Page) -> None:
    await page.goto("/ui/jobs")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to content")).to_be_focused()


async def test_keys_lead_around(site: Site, page: Page) -> None:
    await page.goto("/")
    await page.keyboard.press("g")
    await page.keyboard.press("j")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")
    await page.keyboard.press("/")
    await expect(page.get_by_label("Find a job by its id")).to_be_focused()
    await page.get_by_label("Find a job by its id").blur()
    await page.keyboard.press("j")
    await page.keyboard.press("x")
    await expect(page.get_by_text("1 selected")).to_be_visible()
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog")).to_be_visible()
    await page.keyboard.press("Escape")
    await page.keyboard.press("Enter")
    await expect(page.locator(".crumbs")).to_be_visible()
