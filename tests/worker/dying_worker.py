"""`tenure worker`, whose process kills itself before or after a verb of its store, once.

    python -m tests.worker.dying_worker worker [arguments]

`DIES_AT` names verb and side, such as `keep_steps after`.
"""

import os
import signal
from collections.abc import Awaitable, Callable
from typing import Any

from tenure.__main__ import main
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.sqlite.store import SqliteStore


def dying(call: Callable[..., Awaitable[Any]], side: str) -> Callable[..., Awaitable[Any]]:
    """The verb, around which the process dies."""

    async def called(*given: Any) -> Any:
        if side == "after":
            await call(*given)
        os.kill(os.getpid(), signal.SIGKILL)

    return called


if __name__ == "__main__":
    verb, when = os.environ["DIES_AT"].split()
    for kind in (SqliteStore, PostgresStore):
        setattr(kind, verb, dying(getattr(kind, verb), when))
    main()
