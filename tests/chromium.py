"""The browser in which the dashboard is tested: Debian's Chromium."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, async_playwright

from tests import node
from tests.debian import program as program_of


def program() -> str:
    """Where it is: the system's, or one that is fetched."""
    return program_of("chromium", "chromium", folder="usr/lib/chromium")


@asynccontextmanager
async def launched() -> AsyncIterator[Browser]:
    """A browser that runs until the block ends."""
    os.environ.setdefault(node.VARIABLE, node.program())
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program())
        yield browser
        await browser.close()
