"""The one command runs all of it, and says where to look; its page in Chromium, on a desk and on a phone."""

import asyncio
import os
import re
import signal
import socket
import sys
from asyncio.subprocess import PIPE, create_subprocess_exec
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from playwright.async_api import FilePayload, Page, expect

from tests.browser.conftest import PATIENCE, SHOTS
from tests.chromium import launched
from tests.examples.image_service.running_service import ROOT
from tests.examples.image_service.sent import bomb, picture
from tests.ports import free_port
from tests.telemetry.scrape import Scrape

DESK: dict[str, Any] = {"viewport": {"width": 1000, "height": 900}}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}

expect.set_options(timeout=PATIENCE)


class Everything(NamedTuple):
    """All that one command has started."""

    addresses: dict[str, str]
    folder: Path


@asynccontextmanager
async def everything(*arguments: str) -> AsyncIterator[Everything]:
    """Run the command until the block ends, then end it as a user does."""
    command = (sys.executable, "-m", "examples.image_service", "--port", str(free_port()), *arguments)
    process = await create_subprocess_exec(*command, cwd=ROOT, stdout=PIPE)
    assert process.stdout is not None
    try:
        said = ""
        while "Ctrl-C" not in said:
            line = (await process.stdout.readline()).decode()
            assert line, "it ended"
            said += line
        addresses = dict(re.findall(r"^(\S.*?) {2,}(\S.*)$", said, re.MULTILINE))
        yield Everything(addresses, Path(addresses["logs"]).parent)
    finally:
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 0


def file(name: str, written_as: str, size: tuple[int, int], seed: int) -> FilePayload:
    """A picture, as a browser takes it from a disk."""
    written = BytesIO()
    picture(written_as, size, seed=seed).save(written, written_as)
    return {"name": name, "mimeType": f"image/{written_as.lower()}", "buffer": written.getvalue()}


@pytest.mark.parametrize("trigger", ["sqs"])
async def test_the_page_takes_pictures_and_shows_what_becomes_of_them(trigger: str) -> None:
    """S2.4: by drag and drop and by the file dialog, with messages that lead the worker."""
    async with everything("--trigger", trigger) as all_of_it, launched() as browser:
        page = await browser.new_page(**DESK)
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        await page.goto(all_of_it.addresses["the page"])
        await page.set_input_files(
            "input", [file("harbour.jpg", "JPEG", (2400, 1600), 1), file("logo.png", "PNG", (300, 300), 2)]
        )
        await drop(page, "bomb.png", bomb(10_000, 10_000))
        await drop(page, "notes.txt", b"no picture at all")

        cards = {
            name: page.locator("li", has_text=name)
            for name in ("harbour.jpg", "logo.png", "bomb.png", "notes.txt")
        }
        for name in ("harbour.jpg", "logo.png"):
            await expect(cards[name].locator(".status")).to_have_text("completed")
            await expect(cards[name].locator("nav a")).to_have_count(3)
            await expect(cards[name].get_by_role("img")).to_have_js_property("complete", value=True)
            width = await cards[name].locator("img").evaluate("image => image.naturalWidth")
            assert width == 256
        await expect(cards["bomb.png"].locator(".status")).to_contain_text("failed: it has 100 megapixels")
        await expect(cards["notes.txt"].locator(".status")).to_contain_text(
            "the bytes are none of image/jpeg"
        )
        await shot(page, "desk")

        await page.reload()
        await expect(page.locator("li[data-status=completed]")).to_have_count(2)
        await cards["logo.png"].get_by_role("button", name="delete").click()
        await expect(cards["logo.png"]).to_have_count(0)
        await check_phone(page, all_of_it)
        assert not errors
        async with httpx.AsyncClient() as http:
            worker = Scrape((await http.get(all_of_it.addresses["the worker's"])).content)
            assert worker.value("tenure_claims_total", by="message") >= 3
            for name in ("the API", "its metrics", "the bucket"):
                assert (await http.get(all_of_it.addresses[name])).is_success
    assert not await asyncio.to_thread(all_of_it.folder.exists)


async def check_phone(page: Page, all_of_it: Everything) -> None:
    """Everything fits, can be hit with a thumb, and works by touch."""
    assert page.context.browser is not None
    phone = await page.context.browser.new_page(**PHONE)
    await phone.goto(all_of_it.addresses["the page"])
    await phone.set_input_files("input", [file(f"{'a long name ' * 8}.jpg", "JPEG", (900, 1600), 3)])
    await expect(phone.locator(".status")).to_have_text("completed")
    assert await phone.evaluate("document.documentElement.scrollWidth") == 390
    for box in [await one.bounding_box() for one in await phone.locator("nav > *, #drop").all()]:
        assert box is not None
        assert box["height"] >= 44
        assert box["x"] + box["width"] <= 390
    await shot(phone, "phone")
    await phone.get_by_role("button", name="delete").tap()
    await expect(phone.locator("li")).to_have_count(0)


async def drop(page: Page, name: str, data: bytes) -> None:
    """Drop a file onto the page, as a hand with a mouse does."""
    transfer = await page.evaluate_handle(
        """([name, data]) => {
            const transfer = new DataTransfer();
            const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
            transfer.items.add(new File([bytes], name));
            return transfer;
        }""",
        [name, b64encode(data).decode()],
    )
    for kind in ("dragover", "drop"):
        await page.dispatch_event("#drop", kind, {"dataTransfer": transfer})


async def shot(page: Page, name: str) -> None:
    if folder := os.environ.get(SHOTS):
        await page.screenshot(path=Path(folder) / f"image-service-{name}.png")


async def test_a_port_that_is_taken_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        process = await create_subprocess_exec(
            *(sys.executable, "-m", "examples.image_service", "--port", str(port)), cwd=ROOT, stderr=PIPE
        )
        _, said = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode == 1
    assert b"is one of the ports taken?" in said
    assert b"Traceback" not in said
