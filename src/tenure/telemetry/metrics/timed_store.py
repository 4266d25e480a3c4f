"""A store whose verbs are timed: how long each call took, and what it raised."""

from collections.abc import Callable, Mapping
from inspect import iscoroutinefunction
from time import perf_counter
from typing import Any, cast

from tenure.storage.contract.store import Store

OnCall = Callable[[str, float, Exception | None], None]
"""Runs after each call, with the verb, the seconds that it took, and the error if it failed."""

OnAnswer = Callable[[tuple[Any, ...], Any], None]
"""Runs after a call that has succeeded, with what it was given, and its answer."""

OnAnswers = Mapping[str, OnAnswer]
"""What runs after calls of some verbs, by verb."""

_NONE: OnAnswers = {}

TABLES = {
    "add_lines": "log",
    "annotate": "event",
    "answer": "step",
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
    "flows": "event",
    "forget_steps": "step",
    "heartbeat": "lease",
    "inspect": "job_state",
    "inspect_jobs": "job_state",
    "keep_steps": "step",
    "last_logs": "log",
    "limit_page": "limit",
    "limits": "limit",
    "lines": "line",
    "logs": "log",
    "longest_running": "job_state",
    "loose_slots": "limit",
    "mend_slots": "limit",
    "migrate": "schema",
    "migration_sql": "schema",
    "next_schedules": "schedule",
    "note_pace": "pace",
    "open_waits": "wait",
    "pace_details": "pace",
    "paces": "pace",
    "pause": "pause",
    "pauses": "pause",
    "prune_logs": "log",
    "put_definitions": "definition",
    "recall": "step",
    "recall_signal": "signal",
    "recall_step": "step",
    "recent_ticks": "schedule",
    "record": "log",
    "reset_clock": "schema",
    "resume": "pause",
    "resume_after_restore": "schema",
    "retention": "retention",
    "save_checkpoints": "checkpoint",
    "set_limit": "limit",
    "set_retention": "retention",
    "signal": "signal",
    "signals": "signal",
    "steps": "step",
    "store_id": "store",
    "suspend": "wait",
    "tidy": "tally",
    "usages": "attempt",
    "verify": "schema",
    "vitals": "store",
    "workers": "worker",
}
"""The table of each verb, where that is not `job`."""


_LABELS = {"prune_audit_entries": "prune_deeds"}
"""Verbs that metrics have always shown under another name."""


def timed(store: Store, on_call: OnCall, on_answers: OnAnswers = _NONE) -> Store:
    """The store, with `on_call` run after each call of a verb, and `on_answers` after answers of some."""
    return cast("Store", _TimedStore(store, on_call, on_answers))


class _TimedStore:
    def __init__(self, store: Store, on_call: OnCall, on_answers: OnAnswers) -> None:
        self._store = store
        self._on_call = on_call
        self._on_answers = on_answers

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._store, name)
        if not iscoroutinefunction(verb):
            return verb

        label, on_answer = _LABELS.get(name, name), self._on_answers.get(name)

        async def run(*given: Any, **named: Any) -> Any:
            began = perf_counter()
            try:
                answer = await verb(*given, **named)
            except Exception as error:
                self._on_call(label, perf_counter() - began, error)
                raise
            self._on_call(label, perf_counter() - began, None)
            if on_answer is not None:
                on_answer(given, answer)
            return answer

        self.__dict__[name] = run  # later lookups find it without `__getattr__`
        return run
