"""A service manager gets the state of its worker."""

import asyncio
import secrets
import signal
import socket
from collections.abc import Iterator

import pytest

from tests.worker.running_worker import PATIENCE
from tests.worker.worker_process import worker_process


class Manager:
    """Hears what is sent to it."""

    def __init__(self) -> None:
        self.address = f"@tenure-test-{secrets.token_hex(8)}"
        self._ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._ear.bind("\0" + self.address[1:])
        self._ear.setblocking(False)

    async def wait_for(self, words: str) -> list[str]:
        """The first message with these words."""
        async with asyncio.timeout(PATIENCE):
            while True:
                received = await asyncio.get_running_loop().sock_recv(self._ear, 4096)
                if words in (lines := received.decode().splitlines()):
                    return lines

    def close(self) -> None:
        self._ear.close()


@pytest.fixture
def manager() -> Iterator[Manager]:
    """A service manager that listens."""
    made = Manager()
    yield made
    made.close()


async def test_a_manager_hears_when_a_worker_is_ready_that_it_lives_and_that_it_stops(
    address: str, manager: Manager, store: object
) -> None:
    variables = {"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "200000"}
    async with worker_process(address, **variables) as worker:
        ready = await manager.wait_for("READY=1")
        assert "STATUS=ready; 0 running" in ready
        assert "READY=1" not in await manager.wait_for("WATCHDOG=1")
        worker.send(signal.SIGTERM)
        await manager.wait_for("STOPPING=1")
        assert await worker.ended() == 0


async def test_a_manager_that_does_not_listen_harms_nobody(address: str, store: object) -> None:
    async with worker_process(address, NOTIFY_SOCKET="@tenure-test-nobody", WATCHDOG_USEC="never") as worker:
        await worker.wait_for("worker.ready")
        worker.send(signal.SIGTERM)
        assert await worker.ended() == 0
