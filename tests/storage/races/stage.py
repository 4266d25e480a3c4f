"""Two processes on one database, and a meeting of them: one held in its transaction, the other coming by."""

import asyncio
import json
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from socket import socketpair
from typing import Any, NamedTuple

from tests.storage.backends import Backend, PostgresBackend, SqliteBackend
from tests.storage.forking import PROCESSES
from tests.storage.races.actor import main as act
from tests.storage.races.asked import Asked
from tests.storage.races.seeing import PATIENCE, is_waiting
from tests.storage.races.speech import heard, spoken

LONGEST_LINE = 2**24


class Done(NamedTuple):
    """What an actor answered, an error of the store included, and when it was at it."""

    answer: Any
    began: int
    ended: int


class Actor:
    """The far end of one process with a store of its own."""

    def __init__(self, name: str, pid: int, mouth: StreamReader, ears: StreamWriter) -> None:
        self.name = name
        self.pid = pid
        self._mouth, self._ears = mouth, ears

    async def ask(self, asked: Asked) -> Done:
        """Have something done."""
        self._tell(asked)
        return await self.done()

    async def get_ready(self, asked: Asked) -> None:
        """Have something prepared, to be begun by `go`."""
        self._tell(asked, waits=True)
        assert await self.hear() == "ready"

    async def hold(self, asked: Asked) -> None:
        """Have something done but for its commit, which is for `go` to allow."""
        self._tell(asked, holds=True)
        assert await self.hear() == "holding"

    def go(self) -> None:
        self._say("go")

    async def done(self) -> Done:
        said = await self.hear()
        assert isinstance(said, dict), said
        return Done(heard(said["answer"]), said["began"], said["ended"])

    async def hear(self) -> Any:
        line = await self._mouth.readline()
        assert line, f"{self.name} has ended; what was wrong stands on the standard error"
        return json.loads(line)

    def leave(self) -> None:
        """Let the process come to its end."""
        self._ears.close()

    def _tell(self, asked: Asked, *, waits: bool = False, holds: bool = False) -> None:
        given = spoken((asked.arguments, asked.named))
        at = spoken(asked.at)
        self._say({"verb": asked.verb, "given": given, "waits": waits, "holds": holds, "at": at})

    def _say(self, word: object) -> None:
        self._ears.write(json.dumps(word).encode() + b"\n")


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
        assert await actor.hear() == "open"
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
    """A database and two who act on it."""

    backend: Backend
    alice: Actor
    bob: Actor

    async def meet(self, held: Asked, other: Asked, *, passes: bool = False) -> tuple[Any, Any]:
        """Hold Alice in her transaction while Bob comes, and let her go on when he was seen; both answers.

        Bob is seen waiting for her, or, where he `passes`, has his answer while she still holds. On SQLite
        everybody waits.
        """
        async with asyncio.timeout(PATIENCE):
            await self.alice.hold(held)
            asking = asyncio.create_task(self.bob.ask(other))
            if passes and self.backend.kind == "postgres":
                await asking
            else:
                while not await is_waiting(self.backend, self.bob, behind=self.alice):
                    assert not asking.done(), f"{self.bob.name} did not wait: {asking.result().answer}"
            self.alice.go()
            return (await self.alice.done()).answer, (await asking).answer

    async def race(self, one: Asked, two: Asked, *, bob_leads: bool) -> tuple[Done, Done]:
        """Let both begin at once, as far as that is possible: one of them hears it first."""
        await asyncio.gather(self.alice.get_ready(one), self.bob.get_ready(two))
        for actor in (self.bob, self.alice) if bob_leads else (self.alice, self.bob):
            actor.go()
        return await self.alice.done(), await self.bob.done()
