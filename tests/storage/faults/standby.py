"""A second PostgreSQL server that follows the first one, and can take its place."""

import asyncio
import os
import shutil
import signal
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from tests.storage.faults.own_server import OwnServer
from tests.until import until
from tests.worker.worker_process import descendants

_CONNINFO = "host=127.0.0.1 port={port} user=postgres"
_IS_FOLLOWED = "SELECT count(*) > 0 FROM pg_stat_replication WHERE sync_state = 'sync'"


class Primary(OwnServer):
    """A server whose files can be copied, and that can be killed as a whole."""

    @property
    def files(self) -> Path:
        """The folder of its files."""
        assert self._folder is not None
        return self._folder

    def kill(self) -> None:
        """End every one of its processes at once, as a loss of power would."""
        assert self._process is not None
        # Its processes would go on for a moment without the first of them, and finish what they are at.
        for pid in (self._process.pid, *descendants(self._process.pid)):
            with suppress(
                ProcessLookupError
            ):  # those that notice the end of the first may end before their turn
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        self._process = None


class Standby(OwnServer):
    """A server that begins with a copy of a stopped one, and follows it from then on."""

    def __init__(self, primary: Primary) -> None:
        port = urlsplit(primary.dsn("postgres")).port
        super().__init__(settings={"primary_conninfo": _CONNINFO.format(port=port)})
        self._primary = primary

    def _prepare(self, folder: Path, binaries: Path) -> None:
        shutil.copytree(self._primary.files / "data", folder / "data")
        (folder / "data/postmaster.pid").unlink(missing_ok=True)
        (folder / "data/standby.signal").touch()

    async def promote(self) -> datetime:
        """Make it the primary, and say since when it is."""
        connection = await asyncpg.connect(self.dsn("postgres"))
        assert await connection.fetchval("SELECT pg_promote(true, 60)")
        since: datetime = await connection.fetchval("SELECT clock_timestamp()")
        await connection.close()
        return since


async def replicate(primary: Primary) -> Standby:
    """A standby that has all that its primary acknowledges from now on."""
    await asyncio.to_thread(primary.stop_at_once)
    standby = Standby(primary)
    await asyncio.to_thread(standby.start)
    await asyncio.to_thread(primary.start_again)
    connection = await asyncpg.connect(primary.dsn("postgres"))
    await connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
    await connection.execute("SELECT pg_reload_conf()")
    await until(lambda: connection.fetchval(_IS_FOLLOWED))
    await connection.close()
    return standby


def both(database: str, *servers: OwnServer) -> str:
    """The address of a database on either of the servers."""
    first, *_ = parts = [urlsplit(server.dsn(database)) for server in servers]
    user, _, _ = first.netloc.rpartition("@")
    hosts = ",".join(f"{part.hostname}:{part.port}" for part in parts)
    return first._replace(netloc=f"{user}@{hosts}", query="target_session_attrs=read-write").geturl()
