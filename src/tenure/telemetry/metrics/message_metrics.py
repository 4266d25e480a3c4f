"""The metrics of messages that name jobs: sent, received, dropped, and what waits in the broker."""

import asyncio
from collections.abc import Awaitable, Callable

from tenure.core.signals import JobsClaimed, JobsReminded, MessagesReceived, MessagesSent, Signal
from tenure.telemetry.metrics.instruments import Counter, Gauge, Histogram, Instrument

AGES = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600)
PATIENCE = 3.0
"""Seconds that a scrape waits for the broker: an answer without this gauge is better than none."""

FRESH = 15.0
"""Seconds for which one answer of the broker, which costs a call, serves all scrapes."""

MESSAGE_SIGNALS = frozenset({JobsClaimed, JobsReminded, MessagesReceived, MessagesSent})
"""The signals that are counted here."""

ReadBacklog = Callable[[], Awaitable[tuple[int, int] | None]]
"""Asks the broker how many messages wait and how many are hidden; None if it does not answer."""


class SentMessages:
    """What a process counts that sends messages."""

    def __init__(self) -> None:
        self._sent = Counter(
            *("tenure_messages_sent_total", "Messages that name jobs, sent or failed.", "outcome"),
        )

    @property
    def instruments(self) -> list[Instrument]:
        """The counter."""
        return [self._sent]

    def __call__(self, signal: Signal) -> None:
        """Count a signal."""
        if isinstance(signal, MessagesSent):
            for outcome, count in (("sent", signal.sent), ("failed", signal.failed)):
                if count:
                    self._sent.add((outcome,), count)


class MessageMetrics:
    """What a worker counts that messages lead to jobs."""

    def __init__(self) -> None:
        self._sent = SentMessages()
        self._claims = Counter(
            "tenure_claims_total", "Jobs claimed by a worker with messages: by those, or by a sweep.", "by"
        )
        self._reminded = Counter(
            "tenure_jobs_reminded_total", "Jobs that waited for long, and were named once more."
        )
        self._received = Counter("tenure_messages_received_total", "Messages that were received.")
        self._dropped = Counter(
            "tenure_messages_dropped_total", "Messages that led to no claim, by the reason.", "why"
        )
        self._age = Histogram(
            "tenure_message_age_seconds", "How long messages were on their way.", bounds=AGES
        )
        self._backlog = Gauge(
            "tenure_messages_waiting", "Messages in the broker: waiting, or hidden by a worker.", "state"
        )
        self._read: ReadBacklog | None = None
        self._look_at = 0.0

    @property
    def instruments(self) -> list[Instrument]:
        """All of them."""
        counted: list[Instrument] = [self._claims, self._reminded, self._received, self._dropped]
        waits: list[Instrument] = [self._age, self._backlog]
        return [*self._sent.instruments, *counted, *waits]

    def watch(self, read: ReadBacklog) -> None:
        """Ask this at a scrape."""
        self._read = read

    def __call__(self, signal: Signal) -> None:
        """Count a signal."""
        match signal:
            case JobsClaimed(by, count) if count:
                self._claims.add((by,), count)
            case JobsReminded(count):
                self._reminded.add((), count)
            case MessagesReceived(received, dropped, ages):
                self._received.add((), received)
                for why, count in dropped.items():
                    self._dropped.add((why,), count)
                for age in ages:
                    self._age.observe((), age)
            case MessagesSent():
                self._sent(signal)

    async def look(self) -> None:
        """Update the gauge, if it is time to; without an answer it is empty."""
        now = asyncio.get_running_loop().time()
        if self._read is None or now < self._look_at:
            return
        self._look_at = now + FRESH
        try:
            async with asyncio.timeout(PATIENCE):
                found = await self._read()
        except TimeoutError:
            found = None
        if found is None:
            self._backlog.set({})
        else:
            self._backlog.set({("waiting",): found[0], ("hidden",): found[1]})
