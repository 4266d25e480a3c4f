"""How changes get into the audit log: an entry before the work, its outcome after it.

Every surface on which people change something goes through here. Nothing is changed without an entry: if it
cannot be written, the work does not begin. The outcome stays open where it is unknown, because the process or
the store went away.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from tenure.core.errors import StoreError, StoreRefused
from tenure.core.model.aside import JobsAside
from tenure.core.reports.access import AuditEntry
from tenure.storage.contract.access import AccessStore

T = TypeVar("T")


async def audited(
    store: AccessStore,
    entry: AuditEntry,
    work: Callable[[], Awaitable[T]],
    *,
    done: Callable[[T], str],
    refused: Callable[[Exception], str],
) -> T:
    """Do the work between writing its entry and its outcome. Raises StoreError before the work begins.

    `done` and `refused` give the outcome of what the work returned or raised.
    """
    n = await store.begin_audit_entry(entry)
    try:
        answer = await work()
    except Exception as error:
        if not _may_be_done(error):
            await _end(store, n, refused(error))
        raise
    await _end(store, n, done(answer))
    return answer


async def _end(store: AccessStore, n: int, outcome: str) -> None:
    # The work is done and the caller must learn it: an outcome that cannot be written stays open.
    with suppress(StoreError):
        await store.end_audit_entry(n, outcome)


def _may_be_done(error: Exception) -> bool:
    """Whether the work may be done although it raised."""
    return isinstance(error, TimeoutError) or (
        isinstance(error, StoreError) and not isinstance(error, StoreRefused | JobsAside)
    )
