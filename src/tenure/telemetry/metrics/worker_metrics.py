"""The metrics of a worker, from its signals and its store, under names that never change."""

import asyncio
from collections import Counter as Tally
from collections.abc import Iterable
from typing import Protocol

from tenure.core.model.lease import Claimed
from tenure.core.model.states import State
from tenure.core.schedule.schedule import TickOutcome
from tenure.core.signals import (
    AttemptHandedBack,
    AttemptLost,
    AttemptSettled,
    AttemptStarted,
    DutyDone,
    HookFailed,
    Measured,
    ScheduleTicked,
    Signal,
    Troubled,
    WebhookTried,
    WorkerReady,
)
from tenure.storage.contract.store import Store
from tenure.telemetry.metrics.durable_metrics import DurableMetrics
from tenure.telemetry.metrics.exposition import expose
from tenure.telemetry.metrics.handler_metrics import HandlerMetrics
from tenure.telemetry.metrics.instruments import Counter, Gauge, Histogram, Instrument, Names
from tenure.telemetry.metrics.message_metrics import MESSAGE_SIGNALS, MessageMetrics
from tenure.telemetry.metrics.queue_gauges import QueueGauges
from tenure.telemetry.metrics.timed_store import timed

MOST_TYPES = 100
"""How many definitions have their own label."""

SECONDS = (0.1, 0.3, 0.5, 0.7, 1, 3, 5, 7, 10)
LATENESS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600)
LATENCIES = (10, 30, 50, 70, 100, 300, 500, 700, *range(1000, 10_001, 500))
FINE = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""Seconds, for what mostly takes milliseconds."""


class AttemptCounts(Protocol):
    """What a scrape reads from a worker."""

    @property
    def active(self) -> Iterable[str]:
        """The definition of each attempt that runs now."""

    @property
    def waiting(self) -> int:
        """How many attempts are claimed and wait for a slot."""


class ChildCounts(Protocol):
    """What a scrape reads from the lanes of a worker."""

    @property
    def children(self) -> int:
        """How many processes were started so far."""


class WorkerMetrics:
    """Counts signals. It is called twice for every attempt, so the calls do as little as possible."""

    def __init__(self) -> None:
        self.names = Names(MOST_TYPES)
        self._add_attempts()
        self._add_leases()
        self._add_schedules()
        self._add_webhooks()
        self._add_store()
        self._add_worker()
        self.lag = Histogram("tenure_loop_lag_seconds", "How late the event loop comes round.", bounds=FINE)
        self.handlers = HandlerMetrics(self.names)
        self.messages = MessageMetrics()
        self.durable = DurableMetrics()
        self._queues = QueueGauges(self.names)
        self._attempts: AttemptCounts | None = None
        self._children: ChildCounts | None = None
        self._store: Store | None = None

    def _add_attempts(self) -> None:
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
        self._active = Gauge("job_active_count", "Attempts that run in this worker.", "job_type")
        self._settling = Histogram(
            "tenure_settle_delay_seconds", "From an attempt's end until it is on record.", bounds=FINE
        )
        self._retries = Counter(
            "tenure_retries_total", "Attempts that will be followed by another.", "job_type"
        )
        self._hooks = Counter("tenure_hook_failures_total", "Hooks that did not end well.", "hook")

    def _add_leases(self) -> None:
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

    def _add_schedules(self) -> None:
        self._ticks = Counter(
            "tenure_ticks_total", "Ticks of schedules that this process put on record.", "outcome"
        )
        self._lateness = Histogram(
            "tenure_tick_lateness_seconds", "From a tick that fired until it was on record.", bounds=LATENESS
        )

    def _add_webhooks(self) -> None:
        self._deliveries = Counter(
            *("tenure_webhook_deliveries_total", "Tries of webhooks that this process put on record."),
            "outcome",
        )
        self._deliveries_took = Histogram(
            "tenure_webhook_delivery_seconds", "How long tries of webhooks took.", bounds=FINE
        )

    def _add_store(self) -> None:
        self._queries = Histogram(
            *("db_query_duration_seconds", "How long the store took for a verb.", "query_type"),
            bounds=SECONDS,
        )
        self._query_errors = Counter(
            "db_query_errors_total", "Verbs of the store that failed.", "query_type", "error_type"
        )
        self._verbs = Histogram(
            *("tenure_store_seconds", "How long the store took for a verb, finely.", "verb"), bounds=FINE
        )

    def _add_worker(self) -> None:
        self._failures = Counter("tenure_loop_failures_total", "Turns of a loop that failed.", "loop")
        self._slots = Gauge("tenure_worker_slots", "How many attempts this worker runs at once.")
        self._buffer = Gauge("tenure_worker_buffer", "Attempts that are claimed and wait for a slot.")
        self._starts = Counter("tenure_child_starts_total", "Processes started for attempts and runners.")

    def __call__(self, signal: Signal) -> None:
        """Count a signal."""
        kind = type(signal)
        if kind is AttemptSettled:
            self._on_settled(signal)  # type: ignore[arg-type]
        elif kind is AttemptStarted:
            claimed: Claimed = signal.claimed  # type: ignore[union-attr, assignment]
            waited = (claimed.started_at - claimed.queued_at).total_seconds()
            self._latency.observe((self.names.of(claimed.definition),), 1e3 * waited)
        elif kind is WebhookTried:
            self._on_tried(signal)  # type: ignore[arg-type]
        elif kind in MESSAGE_SIGNALS:
            self.messages(signal)
        else:
            self._on_rare_signal(signal)

    def watch(self, attempts: AttemptCounts, children: ChildCounts) -> None:
        """Read these at each scrape."""
        self._attempts, self._children = attempts, children

    def on(self, store: Store) -> Store:
        """The store, timed; a scrape reads it, too."""
        self._store = store
        return timed(store, self._on_call, self.durable.by_verb)

    async def text(self) -> bytes:
        """All metrics, for a scrape."""
        if self._store is not None:
            await self._queues.look(self._store)
        await self.messages.look()
        active = Tally(dict.fromkeys(self.names.known, 0))
        active.update(self.names.of(name) for name in (self._attempts.active if self._attempts else ()))
        self._active.set({(name,): n for name, n in active.items()})
        self._buffer.set({(): self._attempts.waiting if self._attempts else 0})
        self._starts.set_total(self._children.children if self._children else 0)
        return await asyncio.to_thread(expose, [one.snapshot() for one in self._instruments()])

    def _instruments(self) -> list[Instrument]:
        own = [value for value in vars(self).values() if isinstance(value, Counter | Gauge | Histogram)]
        parts = (self.handlers, self._queues, self.messages, self.durable)
        return [*own, *(one for part in parts for one in part.instruments)]

    def _on_settled(self, signal: AttemptSettled) -> None:
        name, state = self.names.of(signal.claimed.definition), signal.state
        labels = (name, state._value_)
        self._took.observe(labels, signal.took)
        self._processed.add(labels)
        self._settling.observe((), signal.waited)
        if state is State.RETRYING:
            self._retries.add((name,))

    def _count_ended(self, definition: str, state: State, took: float) -> None:
        """Count an attempt on record that has no outcome of its own."""
        labels = (self.names.of(definition), state.value)
        self._took.observe(labels, took)
        self._processed.add(labels)

    def _on_rare_signal(self, signal: Signal) -> None:
        match signal:
            case AttemptHandedBack(claimed, state, has_begun, took):
                self._handed_back.add((self.names.of(claimed.definition), state.value))
                if has_begun:
                    self._count_ended(claimed.definition, state, took)
            case AttemptLost(claimed, fenced):
                (self._given_up if fenced else self._refused).add((self.names.of(claimed.definition),))
            case DutyDone(duty, moved):
                counter = self._expired if duty == "reap" else self._promoted
                for step in moved:
                    counter.add((step.target.value,))
                    if step.lapsed is not None:
                        held_for = step.lapsed.held_for.total_seconds()
                        self._count_ended(step.lapsed.definition, step.target, held_for)
            case ScheduleTicked():
                self._on_ticked(signal)
            case Measured(definition, what, labels, value):
                self.handlers.take(definition, what, labels, value)
            case HookFailed(hook=hook):
                self._hooks.add((hook,))
            case Troubled(loop, _, _):
                self._failures.add((loop,))
            case WorkerReady(worker):
                self._slots.set({(): worker.slots})
                # These come first: a scrape will find all the others that are in the store.
                for line in worker.lines:
                    self.names.of(line.definition)

    def _on_tried(self, signal: WebhookTried) -> None:
        self._deliveries.add((signal.outcome,))
        self._deliveries_took.observe((), signal.took)

    def _on_ticked(self, signal: ScheduleTicked) -> None:
        for tick in signal.ticks:
            self._ticks.add((tick.outcome.value,), tick.count)
            if tick.outcome is TickOutcome.FIRED:
                self._lateness.observe((), (signal.at - tick.at).total_seconds())

    def _on_call(self, verb: str, seconds: float, error: Exception | None) -> None:
        self._queries.observe((verb,), seconds)
        self._verbs.observe((verb,), seconds)
        if error is not None:
            self._query_errors.add((verb, type(error).__name__))
