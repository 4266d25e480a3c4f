"""A worker's registry: what its signals, its store and its scrapes tell, under names that never change."""

import asyncio
from collections import Counter as Tally
from collections.abc import Iterable
from typing import Protocol

from tenure.core.lease import Claimed
from tenure.core.signals import (
    AttemptHandedBack,
    AttemptLost,
    AttemptSettled,
    AttemptStarted,
    DutyDone,
    HookFailed,
    Measured,
    Signal,
    Troubled,
    WorkerReady,
)
from tenure.core.states import State
from tenure.storage.contract import Store
from tenure.telemetry.exposition import exposed
from tenure.telemetry.instruments import Counter, Gauge, Histogram, Instrument, Names
from tenure.telemetry.reported import Reported
from tenure.telemetry.standing import Standing
from tenure.telemetry.timing import timed

MOST_TYPES = 100
"""How many definitions are known by their own names."""

SECONDS = (0.1, 0.3, 0.5, 0.7, 1, 3, 5, 7, 10)
LATENCIES = (10, 30, 50, 70, 100, 300, 500, 700, *range(1000, 10_001, 500))
FINE = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""Seconds for what mostly takes milliseconds."""


class Working(Protocol):
    """What a scrape asks of a worker."""

    @property
    def active(self) -> Iterable[str]:
        """The definition of each attempt that runs now."""

    @property
    def waiting(self) -> int:
        """How many attempts are claimed and wait for a slot."""


class Breeding(Protocol):
    """What it asks of its lanes."""

    @property
    def children(self) -> int:
        """How many processes were asked for so far."""


class WorkerMetrics:
    """Hears signals. It is called twice for every attempt: there is nothing in these calls that can wait."""

    def __init__(self) -> None:
        self.names = Names(MOST_TYPES)
        self._took = Histogram(
            *("job_processing_duration_seconds", "How long attempts ran.", "job_type", "status"),
            bounds=SECONDS,
        )
        self._latency = Histogram(
            *("job_queue_latency_milliseconds", "How long jobs stood in line before a claim.", "job_type"),
            bounds=LATENCIES,
        )
        self._processed = Counter(
            "job_processed_total", "Attempts on record, by the state they led to.", "job_type", "status"
        )
        self._queries = Histogram(
            *("db_query_duration_seconds", "How long the store took for a verb.", "query_type"),
            bounds=SECONDS,
        )
        self._query_errors = Counter(
            "db_query_errors_total", "Verbs of the store that failed.", "query_type", "error_type"
        )
        self._active = Gauge("job_active_count", "Attempts that run in this worker.", "job_type")
        self._verbs = Histogram(
            *("tenure_store_seconds", "How long the store took for a verb, finely.", "verb"), bounds=FINE
        )
        self._settling = Histogram(
            "tenure_settle_delay_seconds", "From an attempt's end until it is on record.", bounds=FINE
        )
        self._retries = Counter(
            "tenure_retries_total", "Attempts that will be followed by another.", "job_type"
        )
        self._refused = Counter(
            "tenure_stale_writes_refused_total", "Outcomes that came after their lease was gone.", "job_type"
        )
        self._given_up = Counter(
            "tenure_leases_given_up_total", "Attempts halted here since their lease was ending.", "job_type"
        )
        self._expired = Counter(
            "tenure_lease_expirations_total", "Jobs reaped by this process, by what they became.", "state"
        )
        self._promoted = Counter(
            "tenure_jobs_promoted_total", "Due steps taken by this process, by what they led to.", "state"
        )
        self._handed_back = Counter(
            *(
                "tenure_handed_back_total",
                "Attempts given back without an outcome, by what became of the job.",
            ),
            *("job_type", "state"),
        )
        self._hooks = Counter("tenure_hook_failures_total", "Hooks that did not end well.", "hook")
        self._troubles = Counter("tenure_loop_failures_total", "Turns of a loop that failed.", "loop")
        self._slots = Gauge("tenure_worker_slots", "How many attempts this worker runs at once.")
        self._buffer = Gauge("tenure_worker_buffer", "Attempts that are claimed and wait for a slot.")
        self._children = Counter("tenure_child_starts_total", "Processes started for attempts and runners.")
        self.lag = Histogram("tenure_loop_lag_seconds", "How late the event loop comes round.", bounds=FINE)
        self.reported = Reported(self.names)
        self._standing = Standing(self.names)
        self._working: Working | None = None
        self._breeding: Breeding | None = None
        self._store: Store | None = None

    def __call__(self, signal: Signal) -> None:
        """Count what a signal says."""
        kind = type(signal)
        if kind is AttemptSettled:
            self._settled(signal)  # type: ignore[arg-type]
        elif kind is AttemptStarted:
            claimed: Claimed = signal.claimed  # type: ignore[union-attr, assignment]
            waited = (claimed.started_at - claimed.queued_at).total_seconds()
            self._latency.observe((self.names.of(claimed.definition),), 1e3 * waited)
        else:
            self._seldom(signal)

    def watch(self, working: Working, breeding: Breeding) -> None:
        """Whom to ask at a scrape."""
        self._working, self._breeding = working, breeding

    def on(self, store: Store) -> Store:
        """The store for whoever is measured; a scrape looks into it as well."""
        self._store = store
        return timed(store, self._heard)

    async def text(self) -> bytes:
        """All of it, for a scrape."""
        if self._store is not None:
            await self._standing.look(self._store)
        active = Tally(dict.fromkeys(self.names.known, 0))
        active.update(self.names.of(name) for name in (self._working.active if self._working else ()))
        self._active.set({(name,): n for name, n in active.items()})
        self._buffer.set({(): self._working.waiting if self._working else 0})
        self._children.reach(self._breeding.children if self._breeding else 0)
        return await asyncio.to_thread(exposed, [one.taken() for one in self._instruments()])

    def _instruments(self) -> list[Instrument]:
        own = [value for value in vars(self).values() if isinstance(value, Counter | Gauge | Histogram)]
        return [*own, *self.reported.instruments, *self._standing.instruments]

    def _settled(self, signal: AttemptSettled) -> None:
        name, state = self.names.of(signal.claimed.definition), signal.state
        labels = (name, state._value_)
        self._took.observe(labels, signal.took)
        self._processed.add(labels)
        self._settling.observe((), signal.waited)
        if state is State.RETRYING:
            self._retries.add((name,))

    def _ended(self, definition: str, state: State, took: float) -> None:
        """An attempt is on record that has no outcome of its own."""
        labels = (self.names.of(definition), state.value)
        self._took.observe(labels, took)
        self._processed.add(labels)

    def _seldom(self, signal: Signal) -> None:
        match signal:
            case AttemptHandedBack(claimed, state, has_begun, took):
                self._handed_back.add((self.names.of(claimed.definition), state.value))
                if has_begun:
                    self._ended(claimed.definition, state, took)
            case AttemptLost(claimed, fenced):
                (self._given_up if fenced else self._refused).add((self.names.of(claimed.definition),))
            case DutyDone(duty, moved):
                counter = self._expired if duty == "reap" else self._promoted
                for step in moved:
                    counter.add((step.target.value,))
                    if step.lapsed is not None:
                        held_for = step.lapsed.held_for.total_seconds()
                        self._ended(step.lapsed.definition, step.target, held_for)
            case Measured(definition, what, labels, value):
                self.reported.take(definition, what, labels, value)
            case HookFailed(hook=hook):
                self._hooks.add((hook,))
            case Troubled(loop, _, _):
                self._troubles.add((loop,))
            case WorkerReady(worker):
                self._slots.set({(): worker.slots})
                # Before a scrape meets all the others that are in the store.
                for line in worker.lines:
                    self.names.of(line.definition)

    def _heard(self, verb: str, seconds: float, error: Exception | None) -> None:
        self._queries.observe((verb,), seconds)
        self._verbs.observe((verb,), seconds)
        if error is not None:
            self._query_errors.add((verb, type(error).__name__))
