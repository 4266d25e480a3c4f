"""A process with a store of its own that does as it is told, over a socket.

It reads and writes one JSON value a line. It says "open" when its store is. It is asked

    {"verb": "cancel", "given": [[…], {"dict": […]}], "waits": false, "holds": true, "at": null}

and does it: `given` are the arguments, `at` is the store's time for it. With `waits` it says "ready" first
and begins at "go", so that two can begin at once. With `holds` it says "holding" inside the transaction, all
done but the commit, and commits at "go". It ends with `{"answer": …, "began": …, "ended": …}`, the times by
the machine's monotonic clock, which all processes share. The end of its input is the end of it, and whatever
it holds then is undone.
"""

import asyncio
import json
import time
from socket import socket
from typing import Any, TextIO

from tenure.core.errors import StoreError
from tenure.storage.contract import Store
from tests.storage.races.holding import Seam, store_with
from tests.storage.races.speech import heard, spoken


class Line:
    """The way to whoever directs the actor."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def say(self, word: object) -> None:
        self._stream.write(json.dumps(word) + "\n")
        self._stream.flush()

    def hear(self) -> Any:
        line = self._stream.readline()
        if not line:
            raise EOFError("nobody is left to listen to")
        return json.loads(line)

    def stop(self, word: str) -> None:
        """Say where we are, and go on when we are told to."""
        self.say(word)
        if (answer := self.hear()) != "go":
            raise ValueError(f'heard {answer!r} where only "go" makes sense')


async def do(store: Store, seam: Seam, line: Line, asked: dict[str, Any]) -> dict[str, Any]:
    arguments, named = heard(asked["given"])
    seam.set_for(asked["verb"], holds=asked["holds"], at=heard(asked["at"]))
    if asked["waits"]:
        line.stop("ready")
    began = time.monotonic_ns()
    try:
        answer = await getattr(store, asked["verb"])(*arguments, **named)
    except StoreError as error:
        answer = error
    return {"answer": spoken(answer), "began": began, "ended": time.monotonic_ns()}


async def act(url: str, line: Line) -> None:
    seam = Seam(lambda: line.stop("holding"))
    store = store_with(seam, url)
    await store.open()
    line.say("open")
    try:
        while True:
            line.say(await do(store, seam, line, line.hear()))
    except EOFError:
        pass
    finally:
        await store.close()


def main(url: str, wire: socket) -> None:
    """The whole life of the process: a store on the address, directed over the wire."""
    with wire, wire.makefile("rw", encoding="utf-8") as stream:
        asyncio.run(act(url, Line(stream)))
