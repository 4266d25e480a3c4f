"""A process with a store of its own that runs verbs on request, over a socket.

It reads and writes one JSON value a line. It sends "open" when its store is open. For a request such as

    {"verb": "cancel", "given": [[…], {"dict": […]}], "waits": false, "holds": true, "at": null}

it runs the verb: `given` are the arguments, `at` is the store's time for it. With `waits` it first sends
"ready" and begins at "go", so that two can begin at once. With `holds` it sends "holding" inside the
transaction, before the commit, and commits at "go". Then it sends `{"answer": …, "began": …, "ended": …}`,
with times of the machine's monotonic clock, which all processes share. It ends with its input; a transaction
that it holds then is rolled back.
"""

import asyncio
import json
import time
from socket import socket
from typing import Any, TextIO

from tenure.core.errors import StoreError
from tenure.storage.contract.store import Store
from tests.storage.races.held_stores import Seam, store_with
from tests.storage.races.json_values import decode, encode


class Channel:
    """The connection to the test."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def send(self, word: object) -> None:
        self._stream.write(json.dumps(word) + "\n")
        self._stream.flush()

    def receive(self) -> Any:
        text = self._stream.readline()
        if not text:
            raise EOFError("the test has closed the connection")
        return json.loads(text)

    def pause(self, word: str) -> None:
        """Report a point in the call, and go on at "go"."""
        self.send(word)
        if (answer := self.receive()) != "go":
            raise ValueError(f'got {answer!r} instead of "go"')


async def do(store: Store, seam: Seam, channel: Channel, request: dict[str, Any]) -> dict[str, Any]:
    arguments, named = decode(request["given"])
    seam.set_for(request["verb"], holds=request["holds"], at=decode(request["at"]))
    if request["waits"]:
        channel.pause("ready")
    began = time.monotonic_ns()
    try:
        answer = await getattr(store, request["verb"])(*arguments, **named)
    except StoreError as error:
        answer = error
    return {"answer": encode(answer), "began": began, "ended": time.monotonic_ns()}


async def act(url: str, channel: Channel) -> None:
    seam = Seam(lambda: channel.pause("holding"))
    store = store_with(seam, url)
    await store.open()
    channel.send("open")
    try:
        while True:
            channel.send(await do(store, seam, channel, channel.receive()))
    except EOFError:
        pass
    finally:
        await store.close()


def main(url: str, wire: socket) -> None:
    """Run the process: a store on the address, and requests over the socket."""
    with wire, wire.makefile("rw", encoding="utf-8") as stream:
        asyncio.run(act(url, Channel(stream)))
