"""An app that has configured `logging` as many do, with handlers that log in every way."""

import asyncio
import contextvars
import logging
import multiprocessing
import os
import threading
from pathlib import Path
from typing import Any

from tenure.execution.handler.context import Context
from tenure.execution.handler.handler import Handler

logging.basicConfig(level=logging.DEBUG, format="FORMATTED %(name)s %(message)s")
LOG = logging.getLogger("shop.mail")
SEEN: list[str] = []
_original = logging.Logger.callHandlers


def _watch(logger: logging.Logger, record: logging.LogRecord) -> None:
    """What monitoring tools do: look at each record, whatever the handlers."""
    SEEN.append(str(record.msg))
    _original(logger, record)


logging.Logger.callHandlers = _watch  # type: ignore[method-assign, assignment]


def says(params: Any, ctx: Context) -> list[str]:
    LOG.debug("one")
    LOG.info("to %s", "ada", extra={"to": "ada", "how": {1, 2}})
    LOG.warning("too %d", "few")
    try:
        os.environ["NO SUCH"]
    except KeyError:
        LOG.exception("no luck")
    logging.getLogger("shop").critical("the end")
    silenced = logging.getLogger("noise")
    silenced.propagate = False
    silenced.error("silenced")
    return SEEN[-2:]


async def says_in_turn(params: str, ctx: Context) -> None:
    for n in range(20):
        LOG.info("%s %d", params, n)
        await asyncio.sleep(0)
    await asyncio.to_thread(LOG.info, "%s beside", params)


def says_in_turn_plainly(params: str, ctx: Context) -> None:
    for n in range(20):
        LOG.info("%s %d", params, n)
    copied = contextvars.copy_context()
    thread = threading.Thread(target=copied.run, args=(LOG.info, f"{params} beside"))
    thread.start()
    thread.join()


def forks(params: Any, ctx: Context) -> None:
    """What a process of the handler's own logs is output: two processes must not share a socket."""
    context = multiprocessing.get_context("fork")
    process = context.Process(target=LOG.warning, args=("from a fork",))
    process.start()
    process.join()
    LOG.info("from the handler")


def configures(params: str, ctx: Context) -> str:
    """Levels and filters of a console's handler count, and a file gets all."""
    console = logging.StreamHandler()
    console.setLevel(logging.WARNING)
    console.addFilter(lambda record: "hush" not in record.getMessage())
    root = logging.getLogger()
    for handler in list(root.handlers):
        root.removeHandler(handler)
    root.addHandler(console)
    root.addHandler(logging.FileHandler(params))
    for text in ("hush", "kept"):
        LOG.warning(text)
    LOG.info("not for the console")
    logging.shutdown()
    return Path(params).read_text()


def floods(params: int, ctx: Context) -> None:
    for n in range(params):
        LOG.info("line %d", n)


def hook(ctx: Context) -> None:
    LOG.info("by a hook")


class App:
    def handler(self, key: str, version: int) -> Handler:
        return Handler(globals()[key], lambda text: __import__("json").loads(text), {"on_success": hook})

    def manifest(self) -> bytes:
        return str(os.getpid()).encode()


app = App()
