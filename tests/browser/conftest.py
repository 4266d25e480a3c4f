"""A server on each kind of store, filled once, and one browser for all; each test opens its own windows.

A test fails if a page in its windows does what it must not: scripts that fail or are refused, and dialogs.
The servers run in the event loop of the tests.
"""

import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from uuid import UUID, uuid4
from zlib import crc32

import pytest
from axe_playwright_python.async_playwright import Axe  # type: ignore[import-untyped]
from playwright.async_api import Browser, ConsoleMessage, Dialog, Page, expect

from tenure.storage.address import store_for
from tenure.storage.contract.store import Store
from tests.browser.filled_store import fill
from tests.chromium import launched
from tests.storage.migrated_databases import create_migrated
from tests.surfaces.dashboard.browser_user import EVERY, log_in
from tests.surfaces.http.auth.test_keys import make
from tests.surfaces.http.http_server import Api, serving
from tests.whole import dealt

SHOTS = "TENURE_TEST_SHOTS"
"""The variable with the folder for screenshots; without it none are taken."""

PATIENCE = 60_000
"""Milliseconds that a page may take on a busy machine; how long it really takes, a benchmark says."""

expect.set_options(timeout=PATIENCE)

LIGHT: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"}
DARK: dict[str, Any] = {**LIGHT, "color_scheme": "dark"}
PHONE: dict[str, Any] = {
    "viewport": {"width": 360, "height": 740},
    "color_scheme": "light",
    "has_touch": True,
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Pages do not depend on the store: each test gets one of them, unless it names its own."""
    named = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "site" in metafunc.fixturenames and "site" not in named:
        stores = dealt(crc32(metafunc.definition.name.encode()))
        metafunc.parametrize("site", stores, indirect=True, scope="session")


@dataclass(frozen=True)
class Site:
    """A server, its store, and its jobs by name."""

    api: Api
    store: Store
    jobs: dict[str, UUID]
    operator: str
    """A key that may do everything to jobs."""
    admin: str
    """A key that may do everything."""

    @property
    def names(self) -> dict[str, str]:
        """What addresses name: jobs by their names here, and a key."""
        return {**{name: str(job) for name, job in self.jobs.items()}, "key": self.operator[4:14]}

    @property
    def url(self) -> str:
        return self.api.server.url

    async def key(self, *scopes: str, **rest: Any) -> str:
        """Another key."""
        return await make(self.store, *scopes, **rest)


Window = Callable[..., Coroutine[Any, Any, Page]]
"""Opens a window: `await window(key, **LIGHT)`; without a key it is not logged in."""


@asynccontextmanager
async def empty_store(
    request: pytest.FixtureRequest, folders: pytest.TempPathFactory, name: str
) -> AsyncIterator[Store]:
    """A store of the requested kind, with the real clock."""
    if request.param == "sqlite":
        address = f"sqlite:///{folders.mktemp(name) / 'jobs.db'}"
    else:
        address = create_migrated(request.getfixturevalue("postgres_server"), f"{name}_{uuid4().hex}")
    store = store_for(address)
    await store.open()
    try:
        await store.migrate()
        yield store
    finally:
        await store.close()


@pytest.fixture(scope="session")
async def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Site]:
    """A server with keys on a store that has something of every kind."""
    async with empty_store(request, tmp_path_factory, "site") as store:
        jobs = await fill(store)
        operator, admin = await make(store, "operate"), await make(store, "admin")
        async with serving(store, routes=EVERY, deployment="production") as api:
            yield Site(api, store, jobs, operator, admin)


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One for all tests."""
    async with launched() as opened:
        yield opened


@pytest.fixture
async def window(site: Site, browser: Browser) -> AsyncIterator[Window]:
    """Opens windows, and checks at the end that their pages did nothing they must not."""
    troubles: list[str] = []
    async with AsyncExitStack() as ends:

        async def one(key: str | None = None, **options: Any) -> Page:
            context = await browser.new_context(base_url=site.url, **(options or LIGHT))
            context.set_default_timeout(PATIENCE)
            ends.push_async_callback(context.close)
            if key is not None:
                name, _, text = (await log_in(site.api, key)).cookie.partition("=")
                strict: dict[str, Any] = {"httpOnly": True, "sameSite": "Strict"}
                await context.add_cookies([{"name": name, "value": text, "url": site.url, **strict}])  # type: ignore[typeddict-item]
            page = await context.new_page()
            watch(page, troubles)
            return page

        yield one
    assert not troubles


@pytest.fixture
async def page(window: Window, site: Site) -> Page:
    """A window of an operator."""
    return await window(site.operator)


@pytest.fixture
async def dark(window: Window, site: Site) -> Page:
    """The same in the dark theme."""
    return await window(site.operator, **DARK)


@pytest.fixture
async def phone(window: Window, site: Site) -> Page:
    """The same on a phone."""
    return await window(site.operator, **PHONE)


def watch(page: Page, troubles: list[str]) -> None:
    """Collect what a page must not do."""

    def on_console(message: ConsoleMessage) -> None:
        # The browser reports a refused page as an error; the test checks its status itself.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            troubles.append(message.text)

    async def on_dialog(dialog: Dialog) -> None:
        troubles.append(f"a dialog: {dialog.message}")
        await dialog.dismiss()

    page.on("console", on_console)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("dialog", on_dialog)


async def shot(page: Page, name: str) -> None:
    """Take a screenshot of the whole page, for people to look at."""
    if folder := os.environ.get(SHOTS):
        await page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


Part = Literal["all", "colours", "layout"]
"""Of a page's accessibility: colours depend on the theme alone, all else on the size of the window alone."""


async def check_accessible(page: Page, *, of: Part = "all") -> None:
    """Check the page with axe-core, by WCAG 2.2 A and AA and by its best practices: it finds nothing."""
    # To preload takes as long as most rules, and only those about sounds and rotated screens ask for it.
    options: dict[str, Any] = {"resultTypes": ["violations"], "preload": False}
    if of == "colours":
        options["runOnly"] = ["color-contrast"]
    else:
        options["rules"] = {"color-contrast": {"enabled": of == "all"}, "target-size": {"enabled": True}}
    found = await Axe().run(page, options=options)
    assert not found.response["violations"], found.generate_report()
