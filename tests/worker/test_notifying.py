"""A service manager is told how its worker is."""

import asyncio
import secrets
import signal
import socket
from collections.abc import Iterator

import pytest

from tests.worker.commanding import commanded
from tests.worker.employing import PATIENCE


class Manager:
    """Hears what is sent to it."""

    def __init__(self) -> None:
        self.address = f"@tenure-test-{secrets.token_hex(8)}"
        self._ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._ear.bind("\0" + self.address[1:])
        self._ear.setblocking(False)

    async def hears(self, words: str) -> list[str]:
        """The first message with these words."""
        async with asyncio.timeout(PATIENCE):
            while True:
                heard = await asyncio.get_running_loop().sock_recv(self._ear, 4096)
                if words in (said := heard.decode().splitlines()):
                    return said

    def close(self) -> None:
        self._ear.close()


@pytest.fixture
def manager() -> Iterator[Manager]:
    """Somebody who wants to know."""
    made = Manager()
    yield made
    made.close()


async def test_a_manager_hears_when_a_worker_is_ready_that_it_lives_and_that_it_stops(
    address: str, manager: Manager, store: object
) -> None:
    told = {"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "200000"}
    async with commanded(address, **told) as worker:
        ready = await manager.hears("READY=1")
        assert "STATUS=ready; 0 running" in ready
        assert "READY=1" not in await manager.hears("WATCHDOG=1")
        worker.send(signal.SIGTERM)
        await manager.hears("STOPPING=1")
        assert await worker.ended() == 0


async def test_a_manager_that_does_not_listen_harms_nobody(address: str, store: object) -> None:
    async with commanded(address, NOTIFY_SOCKET="@tenure-test-nobody", WATCHDOG_USEC="never") as worker:
        await worker.says("worker.ready")
        worker.send(signal.SIGTERM)
        assert await worker.ended() == 0
