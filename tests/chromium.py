"""The browser in which the dashboard is tested: Debian's Chromium.

Its shell without windows, where there is one: the same pages take it less than half the time.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, async_playwright

from tests import node
from tests.debian import PackageMissing
from tests.debian import program as program_of

FOLDER = "usr/lib/chromium"


def program() -> str:
    """Where it is: the system's, or one that is fetched."""
    try:
        return program_of("chromium-headless-shell", "chromium-headless-shell", FOLDER)
    except PackageMissing:
        return program_of("chromium", "chromium", FOLDER)


@asynccontextmanager
async def launched() -> AsyncIterator[Browser]:
    """A browser that runs until the block ends."""
    os.environ.setdefault(node.VARIABLE, node.program())
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program())
        yield browser
        await browser.close()
