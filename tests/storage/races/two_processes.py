"""Two processes on one database, which meet: one is held in its transaction while the other makes a call."""

import asyncio
import json
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from socket import socketpair
from typing import Any, NamedTuple

from tests.storage.backends import Backend, PostgresBackend, SqliteBackend
from tests.storage.fork_server import PROCESSES
from tests.storage.races.actor import main as act
from tests.storage.races.blocked_processes import PATIENCE, is_waiting
from tests.storage.races.json_values import decode, encode
from tests.storage.races.requests import StoreCall
from tests.until import until

LONGEST_LINE = 2**24


class Done(NamedTuple):
    """The answer of an actor, which may be an error of the store, and when the call ran."""

    answer: Any
    began: int
    ended: int


class Actor:
    """Controls one process with a store of its own."""

    def __init__(self, name: str, pid: int, reader: StreamReader, writer: StreamWriter) -> None:
        self.name = name
        self.pid = pid
        self._reader, self._writer = reader, writer

    async def ask(self, call: StoreCall) -> Done:
        """Make a call."""
        self._request(call)
        return await self.done()

    async def get_ready(self, call: StoreCall) -> None:
        """Prepare a call, which `go` begins."""
        self._request(call, waits=True)
        assert await self.receive() == "ready"

    async def hold(self, call: StoreCall) -> None:
        """Make a call up to its commit, which `go` allows."""
        self._request(call, holds=True)
        assert await self.receive() == "holding"

    def go(self) -> None:
        self._send("go")

    async def done(self) -> Done:
        reply = await self.receive()
        assert isinstance(reply, dict), reply
        return Done(decode(reply["answer"]), reply["began"], reply["ended"])

    async def receive(self) -> Any:
        line = await self._reader.readline()
        assert line, f"{self.name} has ended; its standard error says why"
        return json.loads(line)

    def leave(self) -> None:
        """End the process."""
        self._writer.close()

    def _request(self, call: StoreCall, *, waits: bool = False, holds: bool = False) -> None:
        given = encode((call.arguments, call.named))
        at = encode(call.at)
        self._send({"verb": call.verb, "given": given, "waits": waits, "holds": holds, "at": at})

    def _send(self, word: object) -> None:
        self._writer.write(json.dumps(word).encode() + b"\n")


@asynccontextmanager
async def acting(backend: Backend, name: str) -> AsyncIterator[Actor]:
    """A process with a store on the backend's database; the server knows it by its name."""
    ours, theirs = socketpair()
    with theirs:
        process = PROCESSES.Process(target=act, args=(_address(backend, name), theirs), name=name)
        process.start()
    assert process.pid
    actor = Actor(name, process.pid, *await asyncio.open_unix_connection(sock=ours, limit=LONGEST_LINE))
    try:
        assert await actor.receive() == "open"
        yield actor
    finally:
        actor.leave()
        await asyncio.to_thread(process.join)
    assert process.exitcode == 0


def _address(backend: Backend, name: str) -> str:
    if isinstance(backend, SqliteBackend):
        return f"sqlite:///{backend.path}"
    assert isinstance(backend, PostgresBackend)
    return f"{backend.dsn}?application_name={name}"


class Stage(NamedTuple):
    """A database and two processes that use it."""

    backend: Backend
    alice: Actor
    bob: Actor

    async def meet(self, held: StoreCall, other: StoreCall, *, passes: bool = False) -> tuple[Any, Any]:
        """Hold Alice's call in its transaction while Bob makes his, then let it commit; returns both answers.

        Bob's call is seen waiting, or, if it `passes`, is answered while Alice still holds. On SQLite every
        call waits.
        """
        async with asyncio.timeout(PATIENCE):
            await self.alice.hold(held)
            waiting = asyncio.create_task(self.bob.ask(other))
            if passes and self.backend.kind == "postgres":
                await waiting
            else:
                await until(lambda: self._is_waiting(waiting))
            self.alice.go()
            return (await self.alice.done()).answer, (await waiting).answer

    async def _is_waiting(self, waiting: "asyncio.Task[Done]") -> bool:
        assert not waiting.done(), f"{self.bob.name} did not wait: {waiting.result().answer}"
        return await is_waiting(self.backend, self.bob, behind=self.alice)

    async def race(self, one: StoreCall, two: StoreCall, *, bob_leads: bool) -> tuple[Done, Done]:
        """Begin both calls at once, as far as possible: one process gets the word first."""
        await asyncio.gather(self.alice.get_ready(one), self.bob.get_ready(two))
        for actor in (self.bob, self.alice) if bob_leads else (self.alice, self.bob):
            actor.go()
        return await self.alice.done(), await self.bob.done()
