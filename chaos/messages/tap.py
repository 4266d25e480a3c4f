"""Writes down what the worker of this process does with messages, around the product's own calls."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import msgspec

from chaos.messages.passages import Passage
from tenure.core.model.lease import Claimed
from tenure.engine.worker.named_claims import NamedAnswer, NamedClaims
from tenure.relay.messages import body
from tenure.relay.messages.sqs import SqsTransport
from tenure.relay.messages.transport import Received


class Tap:
    """The file, and which job each receipt is about."""

    def __init__(self, path: Path) -> None:
        self._process = path.stem
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._jobs: dict[str, UUID] = {}

    def got(self, messages: Sequence[Received]) -> None:
        """Messages came in."""
        for one in messages:
            if (message := body.read(one.body)) is not None:
                self._jobs[one.receipt] = message.job_id
                self._write("got", message.job_id, receipt=one.receipt)

    def removing(self, receipts: Sequence[str]) -> None:
        """Messages are about to be removed."""
        for receipt in receipts:
            if (job := self._jobs.get(receipt)) is not None:
                self._write("removed", job, receipt=receipt)

    def led(self, claimed: Claimed) -> None:
        """A message led to a claim."""
        self._write("led", claimed.lease.job, fence=claimed.lease.fence)

    def _write(self, kind: Literal["got", "led", "removed"], job: UUID, **more: Any) -> None:
        passage = Passage(kind=kind, process=self._process, at=time.monotonic(), job=job, **more)
        os.write(self._file, msgspec.json.encode(passage) + b"\n")


def attach(path: Path) -> None:
    """Write all of it to a file, from now on."""
    tap = Tap(path)
    receive, acknowledge, claim = SqsTransport.receive, SqsTransport.acknowledge, NamedClaims.claim

    async def received(self: SqsTransport, most: int, **how: Any) -> list[Received]:
        messages = await receive(self, most, **how)
        tap.got(messages)
        return messages

    async def acknowledged(self: SqsTransport, receipts: Sequence[str]) -> None:
        tap.removing(receipts)
        await acknowledge(self, receipts)

    async def claimed(
        self: NamedClaims, ids: Sequence[UUID], on_claimed: Callable[[Claimed], None]
    ) -> NamedAnswer:
        def hold(one: Claimed) -> None:
            tap.led(one)
            on_claimed(one)

        return await claim(self, ids, hold)

    for owner, name, replaced in (
        (SqsTransport, "receive", received),
        (SqsTransport, "acknowledge", acknowledged),
        (NamedClaims, "claim", claimed),
    ):
        setattr(owner, name, replaced)
