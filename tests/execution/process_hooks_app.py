"""An app with hooks for its processes, which write what happens into a file; switches are files beside it."""

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

from tenure.execution.handler.context import Context
from tenure.execution.handler.handler import Handler
from tenure.execution.handler.process_hooks import ProcessHooks

PLACE = Path(os.environ["HOOKS_PLACE"])
FOREVER = 3600.0
OPEN: dict[str, Any] = {}


def note(what: str) -> None:
    with (PLACE / "ledger").open("a") as ledger:
        ledger.write(f"{what} {os.getpid()}\n")


def is_on(switch: str) -> bool:
    return (PLACE / switch).exists()


def start_plainly() -> None:
    note("start")
    if is_on("start-fails"):
        raise ConnectionError("no database here")
    if is_on("start-hangs"):
        time.sleep(FOREVER)
    os.environ["OPENED"] = "yes"


async def start_later() -> None:
    if is_on("start-hangs-later"):
        await asyncio.sleep(FOREVER)
    OPEN["loop"] = asyncio.get_running_loop()
    OPEN["task"] = asyncio.create_task(asyncio.sleep(FOREVER))


async def stop_later() -> None:
    OPEN["task"].cancel()
    note("stop" if OPEN["loop"] is asyncio.get_running_loop() else "stop-elsewhere")


def stop_plainly() -> None:
    if is_on("stop-fails"):
        raise ValueError("cannot close it")
    if is_on("stop-hangs"):
        note("hangs")
        time.sleep(FOREVER)


async def works(params: Any, ctx: Context) -> dict[str, Any]:
    note("attempt")
    left = asyncio.create_task(asyncio.sleep(FOREVER))  # left behind: it must not end what the hooks began
    await asyncio.sleep(0)
    return {
        "is_same_loop": OPEN["loop"] is asyncio.get_running_loop(),
        "is_open": not OPEN["task"].done() and not left.done(),
        "variable": os.environ.get("OPENED"),
    }


def works_plainly(params: Any, ctx: Context) -> dict[str, Any]:
    note("attempt")
    return {"variable": os.environ.get("OPENED")}


def program(params: Any, ctx: Context) -> None:
    note("attempt")


class App:
    def __init__(self) -> None:
        self.process_hooks = ProcessHooks()
        self.process_hooks.start += [start_plainly, start_later]
        self.process_hooks.stop += [stop_plainly, stop_later]

    def handler(self, key: str, version: int) -> Handler:
        return Handler(globals()[key], json.loads, is_program=key == "program")

    def manifest(self) -> bytes:
        return b""


app = App()
