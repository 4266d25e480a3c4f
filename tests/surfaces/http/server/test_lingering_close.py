"""Who leaves at whatever moment is let go without a word to the operator."""

import asyncio
import os
import socket
import struct
from collections.abc import Callable
from typing import Any

import pytest
import uvloop

from tenure.surfaces.http.server.lingering_close import LingeringClose

RESET = struct.pack("ii", 1, 0)
"""Linger for no time: to close is to reset."""


class Answering(asyncio.Protocol):
    """A connection that is answered, and about to be let go, when its client is gone."""

    def __init__(self, answered: Callable[[LingeringClose, asyncio.Transport], None]) -> None:
        self.loop = asyncio.get_running_loop()
        self.ended = self.loop.create_future()
        self._answered = answered

    def connection_made(self, transport: Any) -> None:
        self.loop.call_soon(self._answered, LingeringClose(transport, self, 0.01), transport)
        self.loop.call_later(0.2, transport.abort)

    def connection_lost(self, _: Exception | None) -> None:
        # One more turn, in which what was put off until then is done.
        self.loop.call_later(0.05, self.ended.set_result, None)

    def drain(self) -> bool:
        return True


def gone_before_it_is_flushed(letting: LingeringClose, transport: asyncio.Transport) -> None:
    letting.write(b"head")
    transport.abort()


def gone_between_two_writes(letting: LingeringClose, transport: asyncio.Transport) -> None:
    letting.write(b"head")
    transport.abort()
    letting.write(b"body")


def gone_before_it_is_closed(letting: LingeringClose, transport: asyncio.Transport) -> None:
    letting.write(b"head")
    transport.abort()
    letting.close()


def gone_for_good(letting: LingeringClose, transport: asyncio.Transport) -> None:
    """The answer comes when the system has long forgotten the connection."""
    transport.abort()
    asyncio.get_running_loop().call_later(0.02, letting.write, b"head")


def gone_without_our_knowledge(letting: LingeringClose, transport: asyncio.Transport) -> None:
    """The system refuses what is written, which is found out by writing it."""
    with socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno())) as same:
        same.shutdown(socket.SHUT_WR)
    letting.write(b"head")
    letting.close()


@pytest.mark.parametrize(
    "new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)
@pytest.mark.parametrize(
    "answered",
    [
        gone_before_it_is_flushed,
        gone_between_two_writes,
        gone_before_it_is_closed,
        gone_for_good,
        gone_without_our_knowledge,
    ],
)
def test_who_leaves_at_a_bad_moment_is_let_go_in_silence(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
    answered: Callable[[LingeringClose, asyncio.Transport], None],
) -> None:
    """Row 19: nothing is raised where nobody would catch it."""
    answer: list[dict[str, Any]] = []

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: answer.append(context))
        answering = Answering(answered)
        server = await loop.create_server(lambda: answering, "127.0.0.1", 0)
        with socket.create_connection(server.sockets[0].getsockname()) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            await asyncio.wait_for(answering.ended, 30)
        server.close()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(serve())
    assert not answer
