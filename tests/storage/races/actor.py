"""A process with a store of its own that does as it is told: `python -m tests.storage.races.actor <address>`.

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
import sys
import time
from typing import Any

from tenure.core.errors import StoreError
from tenure.storage.contract import Store
from tests.storage.races.holding import Seam, store_with
from tests.storage.races.speech import heard, spoken


def say(word: object) -> None:
    sys.stdout.write(json.dumps(word) + "\n")
    sys.stdout.flush()


def hear() -> Any:
    line = sys.stdin.readline()
    if not line:
        raise EOFError("nobody is left to listen to")
    return json.loads(line)


def stop(word: str) -> None:
    """Say where we are, and go on when we are told to."""
    say(word)
    if (answer := hear()) != "go":
        raise ValueError(f'heard {answer!r} where only "go" makes sense')


async def do(store: Store, seam: Seam, asked: dict[str, Any]) -> dict[str, Any]:
    arguments, named = heard(asked["given"])
    seam.set_for(asked["verb"], holds=asked["holds"], at=heard(asked["at"]))
    if asked["waits"]:
        stop("ready")
    began = time.monotonic_ns()
    try:
        answer = await getattr(store, asked["verb"])(*arguments, **named)
    except StoreError as error:
        answer = error
    return {"answer": spoken(answer), "began": began, "ended": time.monotonic_ns()}


async def main(url: str) -> None:
    seam = Seam(lambda: stop("holding"))
    store = store_with(seam, url)
    await store.open()
    say("open")
    try:
        while True:
            say(await do(store, seam, hear()))
    except EOFError:
        pass
    finally:
        await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
