"""A store whose verbs are timed: how long each call took, and what it raised."""

from collections.abc import Callable
from inspect import iscoroutinefunction
from time import perf_counter
from typing import Any, cast

from tenure.storage.contract.store import Store

OnCall = Callable[[str, float, Exception | None], None]
"""Runs after each call, with the verb, the seconds that it took, and the error if it failed."""

TABLES = {
    "add_lines": "log",
    "answer": "step",
    "annotate": "event",
    "attempts": "attempt",
    "count_steps": "step",
    "definitions": "definition",
    "depth": "tally",
    "dismiss": "worker",
    "drain": "worker",
    "effects_in_doubt": "step",
    "end_of_feed": "event",
    "enlist": "worker",
    "events": "event",
    "feed": "event",
    "forget_steps": "step",
    "flows": "event",
    "heartbeat": "lease",
    "inspect": "job_state",
    "inspect_jobs": "job_state",
    "keep_steps": "step",
    "last_logs": "log",
    "limit_page": "limit",
    "limits": "limit",
    "lines": "line",
    "loose_slots": "limit",
    "logs": "log",
    "mend_slots": "limit",
    "migrate": "schema",
    "migration_sql": "schema",
    "note_pace": "pace",
    "paces": "pace",
    "open_waits": "wait",
    "pause": "pause",
    "pauses": "pause",
    "put_definitions": "definition",
    "prune_logs": "log",
    "recall": "step",
    "recall_signal": "signal",
    "recall_step": "step",
    "record": "log",
    "resume": "pause",
    "resume_after_restore": "schema",
    "reset_clock": "schema",
    "retention": "retention",
    "save_checkpoints": "checkpoint",
    "set_limit": "limit",
    "set_retention": "retention",
    "signal": "signal",
    "signals": "signal",
    "steps": "step",
    "store_id": "store",
    "tidy": "tally",
    "verify": "schema",
    "vitals": "store",
    "workers": "worker",
}
"""The table of each verb, where that is not `job`."""


_LABELS = {"prune_audit_entries": "prune_deeds"}
"""Verbs that metrics have always shown under another name."""


def timed(store: Store, on_call: OnCall) -> Store:
    """The store, with `on_call` run after each call of a verb."""
    return cast("Store", _TimedStore(store, on_call))


class _TimedStore:
    def __init__(self, store: Store, on_call: OnCall) -> None:
        self._store = store
        self._on_call = on_call

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._store, name)
        if not iscoroutinefunction(verb):
            return verb

        label = _LABELS.get(name, name)

        async def run(*given: Any, **named: Any) -> Any:
            began = perf_counter()
            try:
                answer = await verb(*given, **named)
            except Exception as error:
                self._on_call(label, perf_counter() - began, error)
                raise
            self._on_call(label, perf_counter() - began, None)
            return answer

        self.__dict__[name] = run  # later lookups find it without `__getattr__`
        return run
