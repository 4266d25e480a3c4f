"""By the keyboard alone: every control of every screen is reached, is seen when it is, and does its work."""

from playwright.async_api import Page, expect

from tests.browser.conftest import LIGHT, Site, Window
from tests.browser.screens import SCREENS, go
from tests.browser.test_jobs import enqueue

MOST = 400
"""Steps from the first control of a page to its last."""

_LIST = """() => {
    const kinds = "a[href], button:not([disabled]), input:not([type=hidden]), summary, [tabindex='0']";
    window.missing = new Set([...document.querySelectorAll(kinds)].filter((one) => one.checkVisibility()));
}"""
_ARRIVE = """() => {
    const at = document.activeElement;
    if (!at || at === document.body) return "end";
    window.missing.delete(at);
    return getComputedStyle(at).outlineStyle === "none" ? at.outerHTML : "seen";
}"""
_REST = "() => [...window.missing].map((one) => one.outerHTML.slice(0, 200))"


async def steps(page: Page) -> set[str]:
    """Go from control to control until the page is over; answers with what was met."""
    met: set[str] = set()
    for _ in range(MOST):
        await page.keyboard.press("Tab")
        where = await page.evaluate(_ARRIVE)
        if where == "end":
            return met
        met.add(where)
    raise AssertionError("the page has no end")


async def test_every_control_is_reached_and_seen(site: Site, window: Window) -> None:
    page = await window(site.admin, **LIGHT)
    for name in SCREENS:
        await go(page, site, name)
        # Nothing is to be put in another's place meanwhile. By a real click the way would begin there.
        await page.locator("button.live").evaluate("button => button.click()")
        await page.evaluate(_LIST)
        assert await steps(page) == {"seen"}, name
        assert await page.evaluate(_REST) == [], name


async def test_a_job_is_found_and_stopped_by_keys_alone(site: Site, page: Page) -> None:
    definition, _ = await enqueue(site)
    await page.goto("/")
    for key in ("g", "j"):
        await page.keyboard.press(key)
    await expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")
    await page.keyboard.press("/")
    await page.keyboard.type(f"definition:{definition}")
    await page.keyboard.press("Enter")
    await expect(page.locator("tbody tr")).to_have_count(1)
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_contain_text(definition)
    cancel = page.get_by_role("button", name="Cancel")
    for _ in range(MOST):
        if await cancel.evaluate("button => button === document.activeElement"):
            break
        await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.locator(".title .state")).to_have_text("cancelled")
