"""A worker that messages lead to jobs, with the store that sends them, both in this process."""

import secrets
from collections import Counter
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from uuid import UUID

from tenure.core.model.states import State
from tenure.core.signals import JobsClaimed, MessagesReceived, MessagesSent, Signal
from tenure.relay.messages.inbox import Inbox
from tenure.relay.messages.reception import Reception
from tenure.relay.messages.reminders import Reminders
from tenure.relay.messages.sender import MessageSender
from tenure.relay.messages.sending_store import sending
from tenure.relay.messages.transport import Transport
from tenure.storage.contract.store import Store
from tests.until import until
from tests.worker.running_worker import RunningWorker, run_worker

HOUR = 3600.0
QUEUE = "https://sqs.example/1/jobs"
LEASE = 30.0


class LedWorker(NamedTuple):
    """A running worker, the store whose verbs send, and all that either announced."""

    running: RunningWorker
    store: Store
    announced: list[Signal]

    def claims(self) -> Counter[str]:
        """How many jobs were claimed by messages, and how many by sweeps."""
        found = Counter[str]()
        for signal in self.announced:
            if isinstance(signal, JobsClaimed):
                found[signal.by] += signal.count
        return +found

    def dropped(self) -> Counter[str]:
        """How many messages led to no claim, by the reason."""
        found = Counter[str]()
        for signal in self.announced:
            if isinstance(signal, MessagesReceived):
                found.update(signal.dropped)
        return found

    def received(self) -> int:
        return sum(one.received for one in self.announced if isinstance(one, MessagesReceived))

    def sent(self) -> int:
        return sum(one.sent for one in self.announced if isinstance(one, MessagesSent))

    def signals(self, kind: type) -> list[Any]:
        return [signal for signal in self.announced if isinstance(signal, kind)]


@asynccontextmanager
async def sending_to(transport: Transport, store: Store, announced: list[Signal]) -> AsyncIterator[Store]:
    """The store, which sends for what its verbs put in line."""
    async with message_sender(transport, store, announced) as sender:
        yield sending(store, sender)


@asynccontextmanager
async def message_sender(
    transport: Transport, store: Store, announced: list[Signal]
) -> AsyncIterator[MessageSender]:
    """What sends."""
    async with MessageSender(transport, await store.store_id(), announced.append).running() as sender:
        yield sender


@asynccontextmanager
async def led_worker(
    store: Store,
    transport: Transport,
    *,
    sweep: float = HOUR,
    sender: Transport | None = None,
    hidden_as_for_lease: float = LEASE,
    reminds: bool = False,
    **options: Any,
) -> AsyncIterator[LedWorker]:
    """The worker, after its first sweep; what is sent goes through `sender`, if that is another one.

    Only where it `reminds` a job is named once more: else a message that is lost would come after all.
    """
    announced: list[Signal] = []
    name = f"worker-{secrets.token_hex(4)}"
    async with message_sender(sender or transport, store, announced) as sends:
        inbox = Inbox(
            transport,
            await store.store_id(),
            Reception(store, name, QUEUE),
            Reminders(store, QUEUE, sends.send, lambda: not reminds or sends.has_unsent),
            lease_seconds=hidden_as_for_lease,
            heartbeat_seconds=0.5,
        )
        named: dict[str, Any] = {
            "name": name,
            "announced": announced,
            "triggers": inbox,
            "sweep": sweep,
            "lease": LEASE,
        }
        sending_store = sending(store, sends)
        async with run_worker(sending_store, **named, **options) as running:
            led = LedWorker(running, sending_store, announced)
            await until(lambda: any(one.by == "sweep" for one in led.signals(JobsClaimed)))
            yield led


async def finished(store: Store, jobs: Collection[UUID]) -> bool:
    """Whether all of these jobs have ended."""
    states = [job.state for job in [await store.get(one) for one in jobs] if job is not None]
    return len(states) == len(jobs) and all(State(state).is_final for state in states)
