"""Looks up the addresses of names, in threads of its own: a name server that hangs holds up nothing else."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from threading import Thread

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Takes a host and a port and returns its addresses; raises OSError if it has none."""


class NameLookups:
    """Asks the system. Callers that ask for the same name at the same time share the answer and its thread.

    The threads are not those of the event loop, which are few and wanted for other work, and a process that
    ends does not wait for them.
    """

    def __init__(self) -> None:
        self._asked: dict[tuple[str, int], asyncio.Future[Sequence[str]]] = {}

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """The addresses of a host, in the order in which the system prefers them."""
        asked = self._asked.get((host, port))
        if asked is None:
            loop = asyncio.get_running_loop()
            asked = self._asked[host, port] = loop.create_future()
            asked.add_done_callback(lambda _: self._asked.pop((host, port)))
            Thread(target=_look_up, args=(host, port, loop, asked), name="resolve", daemon=True).start()
        # A caller that gives up does not take the answer from the others.
        return await asyncio.shield(asked)


def _look_up(
    host: str, port: int, loop: asyncio.AbstractEventLoop, asked: asyncio.Future[Sequence[str]]
) -> None:
    found: Sequence[str] | OSError
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        found = list(dict.fromkeys(str(answer[4][0]) for answer in answers))
    except (OSError, UnicodeError) as error:
        found = error if isinstance(error, OSError) else OSError(str(error))
    with suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(_settle, asked, found)


def _settle(asked: asyncio.Future[Sequence[str]], found: Sequence[str] | OSError) -> None:
    if asked.done():
        return
    if isinstance(found, OSError):
        asked.set_exception(found)
        asked.exception()  # nobody may be waiting any more
    else:
        asked.set_result(found)
