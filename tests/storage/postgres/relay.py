"""A connection to the server that a test can cut, as a cable or a crash would."""

import asyncio
from urllib.parse import urlsplit


class Relay:
    """Stands between a store and the server, passing everything on, until it is cut."""

    def __init__(self, dsn: str) -> None:
        self._far = urlsplit(dsn)
        self._writers: set[asyncio.StreamWriter] = set()
        self._pumps: set[asyncio.Task[None]] = set()

    async def open(self) -> str:
        """Start to listen, and answer with the DSN that leads through here."""
        self._server = await asyncio.start_server(self._join, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        user = f"{self._far.username}@" if self._far.username else ""
        return self._far._replace(netloc=f"{user}127.0.0.1:{port}").geturl()

    async def cut(self) -> None:
        """Break every connection and refuse new ones."""
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        if self._pumps:
            await asyncio.wait(self._pumps)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(self._far.hostname, self._far.port)
        self._writers |= {writer, far_writer}
        for source, target in ((reader, far_writer), (far_reader, writer)):
            self._pumps.add(asyncio.create_task(_pump(source, target)))


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(65536):
            target.write(data)
    except ConnectionError:
        pass
    finally:
        target.close()
