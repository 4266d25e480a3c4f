"""An app whose handlers keep the ledger of a run; where it is they are told by their params."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import msgspec

from chaos import ledger, seen
from tenure.execution.handler.context import Context
from tenure.execution.handler.handler import Handler


def enter(kind: ledger.Kind, params: Any, ctx: Context) -> None:
    ledger.write(params["ledger"], kind, ctx.job_id, ctx.attempt, ctx.fence)


def is_let_go(params: Any) -> bool:
    return Path(params["end"]).exists()


async def work(params: Any, ctx: Context) -> None:
    """Starts, and has its effect and its end when it is let go."""
    enter("start", params, ctx)
    while not is_let_go(params):  # noqa: ASYNC110  (a file is no event)
        await asyncio.sleep(0.01)
    enter("effect", params, ctx)
    enter("end", params, ctx)


def die(params: Any, ctx: Context) -> None:
    enter("start", params, ctx)
    os.kill(os.getpid(), signal.SIGKILL)


def look(params: Any, ctx: Context) -> None:
    """Writes down the variables around it."""
    seen.write(params["ledger"], ctx.job_id, ctx.fence)


HANDLERS = {
    name: Handler(handler, json.loads) for name, handler in (("work", work), ("die", die), ("look", look))
}


class App:
    """What the zygote asks for."""

    def handler(self, key: str, version: int) -> Handler:
        assert version == 1
        return HANDLERS[key]

    def manifest(self) -> bytes:
        return msgspec.msgpack.encode(sorted(HANDLERS))


app = App()
