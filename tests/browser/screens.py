"""Every page of the dashboard by a name: its address and a part of its heading. Tests go through all of them.

A new page is added here; then it is looked at in both themes and at every width, with and without a script.
"""

from uuid import UUID

from playwright.async_api import Page, expect

from tests.browser.conftest import Site
from tests.browser.filled_store import FAILING_WEBHOOK

SCREENS = {
    "overview": ("/", "Overview"),
    "overview-week": ("/?period=week&order=failing", "Overview"),
    "first-run": ("/?first=run", "Welcome"),
    "jobs": ("/ui/jobs?status=running&status=retrying&status=succeeded&status=failed", "Jobs"),
    "job-running": ("/ui/jobs/{running}", "video.encode"),
    "job-failed": ("/ui/jobs/{failed}", "card.charge"),
    "job-queued": ("/ui/jobs/{unserved}", "fax.send"),
    "jobs-narrowed": ("/ui/jobs?q=definition:card.charge%20error:declined&status=failed", "Jobs"),
    "job-all-frames": ("/ui/jobs/{failed}?trace=all", "card.charge"),
    "job-retrying": ("/ui/jobs/{retrying}", "mail.welcome"),
    "job-suspended": ("/ui/jobs/{suspended}", "report.build"),
    "job-succeeded": ("/ui/jobs/{succeeded}?events=0", "report.build"),
    "job-buried": ("/ui/jobs/{buried}", "card.charge"),
    "job-replay": ("/ui/jobs/{failed}/replay-with", "Replay card.charge"),
    "dead-letters": ("/ui/dead-letters", "Dead letters"),
    "schedules": ("/ui/schedules", "Schedules"),
    "schedule": ("/ui/schedules/default/report.hourly", "report.hourly"),
    "schedule-paused": ("/ui/schedules/default/partner.export", "partner.export"),
    "schedules-none": ("/ui/schedules?q=nothing-like-it", "Schedules"),
    "schedule-new": ("/ui/schedules/new?definition=report.build", "New schedule"),
    "schedule-edit": ("/ui/schedules/default/partner.export/edit", "Edit partner.export"),
    "queues": ("/ui/queues", "Queues"),
    "limits": ("/ui/limits", "Limits"),
    "workers": ("/ui/workers", "Workers"),
    "definitions": ("/ui/definitions", "Definitions"),
    "definition": ("/ui/definitions/mail.welcome", "mail.welcome"),
    "definition-json": ("/ui/definitions/mail.welcome?period=week&form=json", "mail.welcome"),
    "policy": ("/ui/definitions/mail.welcome/versions/1/policy", "Policy"),
    "webhooks": ("/ui/webhooks", "Webhooks"),
    "webhook": (f"/ui/webhooks/{FAILING_WEBHOOK}", "crm.partner.example"),
    "webhook-paused": (f"/ui/webhooks/{UUID(int=2)}", "old.example"),
    "webhook-new": ("/ui/webhooks/new", "New endpoint"),
    "webhook-edit": (f"/ui/webhooks/{FAILING_WEBHOOK}/edit", "Edit this webhook"),
    "keys": ("/ui/keys", "Keys"),
    "key-revoke": ("/ui/keys/{key}/revoke", "Revoke key"),
}


async def go(page: Page, site: Site, name: str) -> None:
    """Open a screen."""
    path, title = SCREENS[name]
    await page.goto(path.format(**site.names))
    await expect(page.get_by_role("heading", level=1)).to_contain_text(title)


async def overhang(page: Page) -> int:
    """By how many pixels the page is wider than its window."""
    wide: int = await page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
    return wide


# Whatever ends beyond the window, unless one can scroll to it or sees by three dots that there is more.
_CUT_OFF = """() => {
    const goesOn = (one) => {
        const style = getComputedStyle(one);
        const hasDots = style.textOverflow === "ellipsis";
        return hasDots || /auto|scroll/.test(style.overflowX) || one.matches(".unseen, .skip");
    };
    const isReachable = (one) => one !== null && (goesOn(one) || isReachable(one.parentElement));
    return [...document.querySelectorAll("main, main *, .bar, .bar *")]
        .filter((one) => one.getClientRects().length && one.getBoundingClientRect().right > innerWidth + 1)
        .filter((one) => !isReachable(one))
        .map((one) => `${one.tagName} ${one.className} ${one.textContent.trim().slice(0, 60)}`);
}"""


async def cut_off(page: Page) -> list[str]:
    """The elements that end beyond the window and cannot be scrolled to."""
    found: list[str] = await page.evaluate(_CUT_OFF)
    return found
