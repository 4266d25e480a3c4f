"""A relay to the server that a test can stall, cut or reset, as a network or a crash would."""

import asyncio
import socket
import struct
from urllib.parse import urlsplit

_RESET = struct.pack("ii", 1, 0)
"""Linger for zero seconds: a socket with this option closes with a reset."""


class Relay:
    """Passes everything on between a store and the server, until a test interferes."""

    def __init__(self, dsn: str) -> None:
        self._far = urlsplit(dsn)
        self._port = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._pumps: set[asyncio.Task[None]] = set()
        self._questions_flow, self._answers_flow = asyncio.Event(), asyncio.Event()
        self._answer_passed: int | None = None
        self._is_last_answer = False
        self._asked_last: bytes | None = None
        self._cuts_question = False
        self.cut_short = 0
        """How many answers were cut off."""
        self.flow()

    async def open(self) -> str:
        """Start to listen, after a cut on the same port again; returns the DSN that leads here."""
        self._server = await asyncio.start_server(self._join, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return self.dsn

    @property
    def dsn(self) -> str:
        """The DSN that leads through here."""
        user, at, _ = self._far.netloc.rpartition("@")
        return self._far._replace(netloc=f"{user}{at}127.0.0.1:{self._port}").geturl()

    async def cut(self) -> None:
        """Break every connection and refuse new ones."""
        self._server.close()
        self.flow()
        for writer in self._writers:
            writer.transport.abort()
        if self._pumps:
            await asyncio.wait(set(self._pumps))

    def stall(self, *, questions: bool = True, answers: bool = True) -> None:
        """Hold back what the store sends, what the server sends, or both; connections are still accepted."""
        for held, flow in ((questions, self._questions_flow), (answers, self._answers_flow)):
            if held:
                flow.clear()

    def flow(self) -> None:
        """Pass on what was held back, and what follows."""
        self._questions_flow.set()
        self._answers_flow.set()

    def stall_after_answer(self) -> None:
        """Pass on the next answer of the server, and then nothing more in either direction."""
        self._is_last_answer = True

    def reset(self) -> int:
        """Reset every connection on both sides, and accept new ones; returns how many there were."""
        for writer in self._writers:
            _reset(writer)
        return len(self._writers) // 2

    def cut_answer(self, after: int = 0) -> None:
        """Pass on only so many bytes of the server's next answer, then break that connection."""
        self._answer_passed = after

    def cut_answer_to(self, question: bytes) -> None:
        """Break the connection at the server's answer to the next question that has these bytes."""
        self._asked_last, self._cuts_question = question, False

    def cut_question(self, question: bytes) -> None:
        """Break the connection before the next question that has these bytes has come to the server."""
        self._asked_last, self._cuts_question = question, True

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(self._far.hostname, self._far.port)
        except OSError:  # the server is down: the client must see the same
            _reset(writer)
            return
        self._writers |= {writer, far_writer}
        for pump in (self._ask(reader, far_writer), self._answer(far_reader, writer)):
            task = asyncio.create_task(pump)
            self._pumps.add(task)
            task.add_done_callback(self._pumps.discard)

    async def _ask(self, store: asyncio.StreamReader, server: asyncio.StreamWriter) -> None:
        try:
            while data := await store.read(65536):
                await self._questions_flow.wait()
                if self._asked_last is not None and self._asked_last in data:
                    self._asked_last = None
                    if self._cuts_question:
                        self.cut_short += 1
                        break
                    self.cut_answer()
                server.write(data)
        except ConnectionError:
            pass
        finally:
            await self._questions_flow.wait()
            self._close(server)

    async def _answer(self, server: asyncio.StreamReader, store: asyncio.StreamWriter) -> None:
        try:
            while data := await server.read(65536):
                await self._answers_flow.wait()
                if self._answer_passed is not None:
                    data, self._answer_passed = data[: self._answer_passed], None
                    self.cut_short += 1
                    store.write(data)
                    break
                store.write(data)
                if self._is_last_answer:
                    self._is_last_answer = False
                    self.stall()
        except ConnectionError:
            pass
        finally:
            await self._answers_flow.wait()
            self._close(store)

    def _close(self, writer: asyncio.StreamWriter) -> None:
        self._writers.discard(writer)
        writer.close()


def _reset(writer: asyncio.StreamWriter) -> None:
    end = writer.get_extra_info("socket")
    if end.fileno() != -1:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
