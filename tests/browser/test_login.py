"""Logging in and out in a browser, by keyboard, in both themes; and what each of two keys lets be done."""

import re
from typing import Any
from uuid import uuid4

import pytest
from playwright.async_api import Page, expect

from tenure.core.reports.access import AuditEntry
from tests.browser.conftest import DARK, LIGHT, PHONE, Site, Window, check_accessible, shot

FOREIGN = "http://evil.example/"


async def log_in(page: Page, key: str) -> None:
    """Type a key into the form."""
    await page.get_by_label("Key").fill(key)
    await page.keyboard.press("Enter")


@pytest.mark.parametrize("options", [LIGHT, DARK, PHONE], ids=["light", "dark", "phone"])
async def test_a_key_leads_to_the_page_that_was_wanted(
    site: Site, window: Window, options: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    page = await window(**options)
    await page.goto("/")
    await expect(page).to_have_url(f"{site.url}/login?next=/")
    await expect(page.get_by_label("Key")).to_be_focused()
    await check_accessible(page)
    await shot(page, f"login-{request.node.callspec.id}")
    await log_in(page, site.operator)
    await expect(page).to_have_url(f"{site.url}/")
    if options is PHONE:
        await page.get_by_role("button", name="More").click()
    await expect(page.get_by_role("button", name="Log out")).to_be_visible()


async def test_a_key_that_opens_nothing_is_told_so(site: Site, window: Window) -> None:
    page = await window()
    await page.goto("/login")
    await log_in(page, "tnr_nonsense")
    await expect(page.get_by_role("alert")).to_contain_text("not valid")
    await check_accessible(page)
    await log_in(page, site.operator)
    await expect(page).to_have_url(f"{site.url}/")


async def test_no_script_can_read_the_session(site: Site, page: Page) -> None:
    await page.goto("/")
    [cookie] = await page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert await page.evaluate("() => document.cookie") == ""


async def test_logging_out_ends_it_in_every_window(site: Site, page: Page) -> None:
    """Row 94: the way back shows nothing."""
    await page.goto("/")
    other = await page.context.new_page()
    await other.goto("/")
    await page.get_by_role("button", name="Log out").click()
    # The page itself may have heard of it before the answer came.
    await expect(page).to_have_url(re.compile(r"/login(\?next=/)?$"))
    # It asks for itself, within a second; to reload it here would be to race with that.
    await expect(other).to_have_url(f"{site.url}/login?next=/")
    await page.go_back()
    await expect(page.get_by_label("Key")).to_be_visible()


async def test_a_revoked_key_ends_its_sessions_at_once(site: Site, window: Window) -> None:
    key = await site.key("read")
    page = await window(key)
    await page.goto("/")
    await expect(page.get_by_role("button", name="Log out")).to_be_visible()
    await site.store.revoke_key(key[4:14], AuditEntry(who="a", action="b", target="", request=uuid4()))
    await page.reload()
    await expect(page.get_by_label("Key")).to_be_visible()


async def test_a_link_from_another_site_finds_the_session(site: Site, page: Page) -> None:
    """The cookie is not sent from there; the page in between sees to it."""
    await visit_foreign(page, f'<a href="{site.url}/">look</a>')
    await page.get_by_role("link", name="look").click()
    await expect(page).to_have_url(f"{site.url}/")
    await expect(page.get_by_role("button", name="Log out")).to_be_visible()


async def test_a_form_of_another_site_is_refused(site: Site, page: Page) -> None:
    """Row 91, as a browser really sends it, even with a token that somebody has stolen."""
    await page.goto("/")
    token = await page.locator('meta[name="csrf-token"]').get_attribute("content")
    fields = f'<input name="csrf" value="{token}"><button>go</button>'
    await visit_foreign(page, f'<form method="post" action="{site.url}/logout">{fields}</form>')
    async with page.expect_response(f"{site.url}/logout") as answered:
        await page.get_by_role("button", name="go").click()
    assert (await answered.value).status == 403
    await page.goto("/")
    await expect(page.get_by_role("button", name="Log out")).to_be_visible()


async def visit_foreign(page: Page, html: str) -> None:
    """Go to a page of another site."""
    await page.context.route(FOREIGN, lambda route: route.fulfill(content_type="text/html", body=html))
    await page.goto(FOREIGN)
