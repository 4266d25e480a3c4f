"""What a service manager that asked for it (systemd, with `Type=notify`) is told of a worker.

A datagram says when the worker is ready, at intervals that it lives, with a line for `systemctl status`, and
when it begins to stop. A database that is away makes a worker unready and is no reason to kill what it runs:
the sign of life says only that its event loop turns.
"""

import asyncio
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol

EVERY = 5.0
"""Seconds between two signs of life, unless the manager wants them more often."""


class Worker(Protocol):
    """Of whom is told."""

    @property
    def is_ready(self) -> bool:
        """Whether it can do its work."""

    @property
    def running(self) -> int:
        """How many attempts run now."""


class Manager:
    """Who started us, if it wants to be told."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")
        watchdog = environment.get("WATCHDOG_USEC", "")
        # Twice as often as it must be, as the manager's own manual advises.
        self.every = (
            min(EVERY, int(watchdog) / 2_000_000) if watchdog.isdecimal() and int(watchdog) else EVERY
        )

    @property
    def listens(self) -> bool:
        """Whether there is anybody to tell."""
        return bool(self._address)

    def tell(self, *words: str) -> None:
        """Send words; one that is lost is not worth a worker."""
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.setblocking(False)
            out.sendto("\n".join(words).encode(), address)


async def keep_told(manager: Manager, worker: Worker) -> None:
    """Tell the manager how the worker is, until cancelled."""
    was_ready = False
    while manager.listens:
        is_ready = worker.is_ready
        words = ["READY=1"] if is_ready and not was_ready else []
        was_ready = was_ready or is_ready
        state = "ready" if is_ready else "not ready: nothing can be claimed"
        manager.tell(*words, "WATCHDOG=1", f"STATUS={state}; {worker.running} running")
        await asyncio.sleep(manager.every if was_ready else 0.1)
