"""Receives messages for a worker: has it claim the jobs that they name, and answers for each message.

    claimed         hidden from others by each heartbeat, until the outcome is on record: then removed
    lost, returned  shown again at once: the next worker that gets it may claim the job
    not claimed     removed: the sweep finds the job, and what queues it again sends anew
    no room yet     shown again after a second
    foreign         another store's: shown again, and warned of once a minute
    none of ours    removed, counted, and logged by its first bytes

Nothing here decides who owns a job. A message that is lost, comes twice or comes late changes no outcome.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from uuid import UUID

from tenure.core.model.lease import Claimed, Lease
from tenure.core.signals import (
    Announce,
    AttemptHandedBack,
    AttemptLost,
    AttemptSettled,
    ForeignMessages,
    MessagesReceived,
    NoMessage,
    Signal,
)
from tenure.engine.upkeep.loop import Loop
from tenure.engine.worker.named_claims import NamedClaims
from tenure.relay.messages import body
from tenure.relay.messages.reception import Reception
from tenure.relay.messages.reminders import Reminders
from tenure.relay.messages.transport import MOST_AT_ONCE, Received, Transport, TransportFailed

WAIT = 20.0
"""Seconds for which one call waits for a message."""

MOST_RECEIVERS = 4
"""How many calls wait at a time, for workers with many slots."""

AGAIN_AFTER = 5.0
"""Seconds after which another store's message is shown again."""

ROOM_AFTER = 1.0
"""Seconds after which a message is shown again whose job has found no free slot."""

LEAST_HIDDEN = 30.0
"""Seconds for which a message is hidden at least, however short the lease."""

WARN_EVERY = 60.0
BEGINNING = 64
"""How many bytes are logged of what is no message."""

MOST_UNANSWERED = 10_000
"""How many receipts are kept while the broker is away: their messages come again by themselves."""

IDLE = 1.0
FIRST_PROBE, LONGEST_PROBE = 0.2, 5.0
"""Seconds between two questions to a broker that is away."""


class Inbox:
    """The messages of one worker."""

    def __init__(
        self,
        transport: Transport,
        store: UUID,
        reception: Reception,
        reminders: Reminders,
        *,
        lease_seconds: float,
        heartbeat_seconds: float,
    ) -> None:
        """A message is hidden for longer than a lease lasts: who gets it then can take the job."""
        self._transport = transport
        self._store = store
        self._reception = reception
        self._reminders = reminders
        self._hidden_for = max(LEAST_HIDDEN, 2 * lease_seconds)
        self._beat = heartbeat_seconds
        self._held: dict[Lease, str] = {}
        self._done: deque[str] = deque(maxlen=MOST_UNANSWERED)
        self._returned: deque[str] = deque(maxlen=MOST_UNANSWERED)
        self._asked = 0
        self._probing = asyncio.Lock()
        self._foreign: Counter[UUID] = Counter()
        self._warned_at = -WARN_EVERY
        self._receivers: list[Loop] = []
        self._answers: Loop | None = None
        self._telling: Loop | None = None

    def loops(self, claims: NamedClaims, on_signal: Announce) -> Sequence[Loop]:
        """Receivers, and the loops that hide what runs, answer for what ended, tell of failures, remind."""

        async def receive() -> float:
            return await self._receive(claims, on_signal)

        async def remind() -> float:
            return await self._reminders.search(on_signal)

        self._receivers = [Loop("messages", receive, on_signal) for _ in range(MOST_RECEIVERS)]
        self._answers = Loop("answers", self._answer, on_signal)
        self._telling = Loop("reception", self._reception.tell, on_signal)
        return [
            *self._receivers,
            self._answers,
            self._telling,
            Loop("hidden", self._hide, on_signal),
            Loop("reminders", remind, on_signal),
        ]

    def on_signal(self, signal: Signal) -> None:
        """Note what became of an attempt, and that its slot is free."""
        match signal:
            case AttemptSettled(claimed):
                self._let_go(claimed.lease, self._done)
            case AttemptLost(claimed) | AttemptHandedBack(claimed):
                self._let_go(claimed.lease, self._returned)

    async def finish(self) -> None:
        """Answer for the last messages; those of what is still held come again."""
        self._returned.extend(self._held.values())
        self._held.clear()
        await self._answer()

    def _let_go(self, lease: Lease, kind: deque[str]) -> None:
        receipt = self._held.pop(lease, None)
        if receipt is not None:
            kind.append(receipt)
            if self._answers is not None:
                self._answers.poke()
        for receiver in self._receivers:
            receiver.poke()

    async def _receive(self, claims: NamedClaims, on_signal: Announce) -> float:
        """Receive some messages and have their jobs claimed; returns how long to rest."""
        if self._reception.is_failing:
            return await self._wait_for_broker(claims, on_signal)
        most = min(MOST_AT_ONCE, claims.room - self._asked)
        if most <= 0:
            return IDLE
        self._asked += most
        try:
            if received := await self._ask(claims, most, WAIT):
                return await self._take(received, claims, on_signal)
        finally:
            self._asked -= most
        return 0.0

    async def _wait_for_broker(self, claims: NamedClaims, on_signal: Announce) -> float:
        """Ask a broker that is away until it answers: one receiver asks for all, and tells of it again."""
        async with self._probing:
            pause, told_at = FIRST_PROBE, time.monotonic()
            while self._reception.is_failing:
                await asyncio.sleep(pause)
                if received := await self._ask(claims, min(MOST_AT_ONCE, max(1, claims.room)), 0):
                    await self._take(received, claims, on_signal)
                pause = min(2 * pause, LONGEST_PROBE)
                if self._reception.problem is not None and time.monotonic() - told_at >= WARN_EVERY:
                    raise TransportFailed(self._reception.problem)
        return 0.0

    async def _ask(self, claims: NamedClaims, most: int, wait: float) -> list[Received] | None:
        """What the broker has; None if it fails, which is raised only where that is news."""
        try:
            received = await self._transport.receive(most, wait=wait, hide_for=self._hidden_for)
        except TransportFailed as error:
            if self._note(claims, str(error)):
                raise
            return None
        self._note(claims, None)
        return received

    def _note(self, claims: NamedClaims, problem: str | None) -> bool:
        claims.sweep_alone(is_blind=problem is not None)
        is_news = self._reception.note(problem)
        if is_news and self._telling is not None:
            self._telling.poke()
        return is_news

    async def _take(self, received: Sequence[Received], claims: NamedClaims, on_signal: Announce) -> float:
        """Have the jobs claimed that messages name; returns how long to rest.

        Where all were another store's, its workers are given time: this one, which has nothing to do, would
        take their messages from them again and again.
        """
        receipts, foreign, dropped = self._read(received, on_signal)

        def hold(claimed: Claimed) -> None:
            first, *others = receipts.pop(claimed.lease.job)
            self._held[claimed.lease] = first
            self._done.extend(others)
            dropped["duplicate"] += len(others)

        answer = await claims.claim(list(receipts), hold)
        for job, unclaimed in answer.left.items():
            dropped[str(unclaimed.why)] += len(receipts[job])
            self._done.extend(receipts.pop(job))
        ages = [one.age for one in received if one.age is not None]
        on_signal(MessagesReceived(len(received), +dropped, ages))
        waiting = [receipt for job in answer.waiting for receipt in receipts[job]]
        await self._answer()
        if waiting:
            await self._transport.hide(waiting, ROOM_AFTER)
        if foreign:
            await self._transport.hide(foreign, AGAIN_AFTER)
        return AGAIN_AFTER if len(foreign) == len(received) else 0.0

    def _read(
        self, received: Iterable[Received], on_signal: Announce
    ) -> tuple[dict[UUID, list[str]], list[str], "Counter[str]"]:
        """Receipts by job, receipts of other stores' messages, and how many messages were not ours."""
        receipts: dict[UUID, list[str]] = {}
        foreign: list[str] = []
        dropped = Counter[str]()
        for one in received:
            message = body.read(one.body)
            if message is None:
                dropped["no-message"] += 1
                self._done.append(one.receipt)
                on_signal(NoMessage(one.body[:BEGINNING]))
            elif message.store != self._store:
                dropped["foreign"] += 1
                self._foreign[message.store] += 1
                foreign.append(one.receipt)
            else:
                receipts.setdefault(message.job_id, []).append(one.receipt)
        self._warn(on_signal)
        return receipts, foreign, dropped

    def _warn(self, on_signal: Announce) -> None:
        if self._foreign and time.monotonic() - self._warned_at >= WARN_EVERY:
            self._warned_at = time.monotonic()
            for store, count in self._foreign.most_common(10):
                on_signal(ForeignMessages(str(store), count))
            self._foreign.clear()

    async def _hide(self) -> float:
        """Hide for longer what still runs, as the heartbeat prolongs its lease."""
        if self._held and not self._reception.is_failing:
            await self._transport.hide(list(self._held.values()), self._hidden_for)
        return self._beat

    async def _answer(self) -> float:
        """Remove the messages of what is on record, and show those of what was given back."""
        if self._reception.is_failing:
            return IDLE
        while self._done:
            some = _first(self._done)
            await self._transport.acknowledge(some)
            _drop(self._done, some)
        while self._returned:
            some = _first(self._returned)
            await self._transport.hide(some, 0)
            _drop(self._returned, some)
        return 60.0


def _first(receipts: deque[str]) -> list[str]:
    return [receipts[n] for n in range(min(MOST_AT_ONCE, len(receipts)))]


def _drop(receipts: deque[str], answered: Sequence[str]) -> None:
    """Forget what was answered, unless another call has, or the queue was full."""
    gone = set(answered)
    while receipts and receipts[0] in gone:
        receipts.popleft()
