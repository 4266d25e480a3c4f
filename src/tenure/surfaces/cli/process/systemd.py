"""Notifications to a service manager that asks for them (systemd, with `Type=notify`).

A datagram says that the worker is ready, that it is alive (at intervals, with a line for `systemctl status`),
and that it is stopping. A worker whose database is away is not ready, but must not be killed: "alive" says
only that its event loop turns.
"""

import asyncio
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol

EVERY = 5.0
"""Seconds between two signs of life, unless the manager wants more."""


class NotifyingWorker(Protocol):
    """A worker whose state is notified."""

    @property
    def is_ready(self) -> bool:
        """Whether it can do its work."""

    @property
    def running(self) -> int:
        """How many attempts run now."""


class ServiceManager:
    """The service manager that started this process, if it wants notifications."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")
        watchdog = environment.get("WATCHDOG_USEC", "")
        # Twice as often as required, as systemd's manual advises.
        self.every = (
            min(EVERY, int(watchdog) / 2_000_000) if watchdog.isdecimal() and int(watchdog) else EVERY
        )

    @property
    def listens(self) -> bool:
        """Whether it wants notifications."""
        return bool(self._address)

    def notify(self, *assignments: str) -> None:
        """Send assignments such as READY=1; a lost one must not harm the worker."""
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.setblocking(False)
            out.sendto("\n".join(assignments).encode(), address)


async def keep_notified(manager: ServiceManager, worker: NotifyingWorker) -> None:
    """Notify the manager of the worker's state until cancelled."""
    was_ready = False
    while manager.listens:
        is_ready = worker.is_ready
        ready = ["READY=1"] if is_ready and not was_ready else []
        was_ready = was_ready or is_ready
        state = "ready" if is_ready else "not ready: nothing can be claimed"
        manager.notify(*ready, "WATCHDOG=1", f"STATUS={state}; {worker.running} running")
        await asyncio.sleep(manager.every if was_ready else 0.1)
