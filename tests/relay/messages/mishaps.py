"""What may happen to messages on their way: they are lost, come several times, in another order, late."""

from collections.abc import Callable, Collection, Sequence
from random import Random

from tenure.relay.messages.sqs import SqsTransport
from tenure.relay.messages.transport import Backlog, Received


class UnreliableTransport:
    """Sends to a real queue, but not all, not once, not in order and not at once."""

    def __init__(
        self,
        transport: SqsTransport,
        *,
        copies: int = 1,
        is_lost: Callable[[int], bool] = lambda _: False,
        holds: bool = False,
    ) -> None:
        """`is_lost` is asked with the number of each message; what it `holds` is sent by `let_go`."""
        self._transport = transport
        self._copies = copies
        self._is_lost = is_lost
        self._holds = holds
        self._held: list[bytes] = []
        self._sent = 0
        self.lost: list[bytes] = []

    async def send(self, bodies: Sequence[bytes]) -> Collection[int]:
        for one in bodies:
            if self._is_lost(self._sent):
                self.lost.append(one)
            else:
                self._held += [one] * self._copies
            self._sent += 1
        if not self._holds:
            await self.let_go()
        return ()

    async def let_go(self) -> None:
        """Send what is held, the last first, and copies of different messages mixed."""
        held, self._held = self._held[::-1], []
        Random(7).shuffle(held)
        for n in range(0, len(held), 10):
            await self._transport.send(held[n : n + 10])

    async def receive(self, most: int, *, wait: float, hide_for: float) -> list[Received]:
        return await self._transport.receive(most, wait=wait, hide_for=hide_for)

    async def acknowledge(self, receipts: Sequence[str]) -> None:
        await self._transport.acknowledge(receipts)

    async def hide(self, receipts: Sequence[str], seconds: float) -> None:
        await self._transport.hide(receipts, seconds)

    async def backlog(self) -> Backlog:
        return await self._transport.backlog()
