"""A store whose verbs are timed: how long each took, and what it raised."""

from collections.abc import Callable
from inspect import iscoroutinefunction
from time import perf_counter
from typing import Any, cast

from tenure.storage.contract import Store

Heard = Callable[[str, float, Exception | None], None]
"""Is told of a verb that has ended, after how many seconds, and how if not well."""

TABLES = {
    "add_lines": "log",
    "annotate": "event",
    "attempts": "attempt",
    "definitions": "definition",
    "depth": "tally",
    "dismiss": "worker",
    "drain": "worker",
    "end_of_feed": "event",
    "enlist": "worker",
    "events": "event",
    "feed": "event",
    "flows": "event",
    "heartbeat": "lease",
    "inspect": "job_state",
    "last_logs": "log",
    "limits": "limit",
    "lines": "line",
    "logs": "log",
    "migrate": "schema",
    "migration_sql": "schema",
    "note_pace": "pace",
    "paces": "pace",
    "pause": "pause",
    "put_definitions": "definition",
    "record": "log",
    "resume": "pause",
    "set_limit": "limit",
    "tidy": "tally",
    "verify": "schema",
    "workers": "worker",
}
"""What each verb is about, where that is not jobs."""


def timed(store: Store, heard: Heard) -> Store:
    """The store, with somebody who hears how long it takes."""
    return cast("Store", _Timed(store, heard))


class _Timed:
    def __init__(self, store: Store, heard: Heard) -> None:
        self._store = store
        self._heard = heard

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._store, name)
        if not iscoroutinefunction(verb):
            return verb

        async def run(*given: Any, **named: Any) -> Any:
            began = perf_counter()
            try:
                answer = await verb(*given, **named)
            except Exception as error:
                self._heard(name, perf_counter() - began, error)
                raise
            self._heard(name, perf_counter() - began, None)
            return answer

        self.__dict__[name] = run  # from now on it is found without coming here
        return run
