"""What commands change, and its way into the audit log: no command changes anything without an entry there.

Left out is `tenure enqueue`, as over HTTP: a job tells in its history who created it.
"""

import getpass
import os
import re
import socket
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

from tenure.core.reports.access import AuditEntry
from tenure.core.values.text import plain
from tenure.engine.client.audit import audited
from tenure.engine.client.client import JobClient
from tenure.storage.contract.access import AccessStore
from tenure.storage.contract.store import Store
from tenure.surfaces.cli.database import Parts, sending_client, with_verified_store

T = TypeVar("T")
DONE = "done"
_LONGEST = 255
_INNER_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Changes(NamedTuple):
    """A client for changes, and the audit log that they go into."""

    client: JobClient
    log: AccessStore

    async def make(
        self,
        action: str,
        target: str,
        work: Callable[[], Awaitable[T]],
        done: Callable[[T], str] = lambda _answer: DONE,
    ) -> T:
        """Do the work on record. `action` is the command, `target` what it changes, `done` the outcome.

        What the work raises is its outcome: let it raise what refuses the change, and print what it returned
        only afterwards. Raises StoreError before the work if it cannot be recorded.
        """
        return await audited(self.log, audit_entry(action, target), work, done=done, refused=_refusal)


def with_changes(parts: Parts, database: str, work: Callable[[Changes], Coroutine[Any, Any, T]]) -> T:
    """Run `work`, which may change things, on a database that must exist and have this version's schema."""

    async def changing(store: Store) -> T:
        async with sending_client(store) as client:
            return await work(Changes(client, store))

    return with_verified_store(parts, database, changing)


def audit_entry(action: str, target: str) -> AuditEntry:
    """The entry for what a command is about to change."""
    return AuditEntry(who=operator(), action=action, target=plain(target)[:_LONGEST], request=uuid4())


def operator() -> str:
    """Who runs the command: the user and the machine."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return plain(f"{user} at {socket.gethostname()}, by command")[:_LONGEST]


def _refusal(error: Exception) -> str:
    """The outcome of a change that was refused: the kind of error, for its text may quote what was sent."""
    return f"refused {_INNER_CAPITAL.sub('-', type(error).__name__).lower()}"
