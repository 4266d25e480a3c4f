"""A real pgbouncer for the tests: found or fetched, started and stopped here.

It is the system's, or else the one in Debian's package, which is fetched once.
"""

import os
import pwd
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from tests.debian import program as program_of
from tests.ports import free_port
from tests.postgres_server import open_temporary_place
from tests.until import until_sync

START_SECONDS = 60

_SETTINGS = """
[databases]
{database} = host={host} port={port} dbname={database} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {pool_size}
max_client_conn = 200
"""


def program() -> str:
    """Where pgbouncer is."""
    return program_of("pgbouncer", "pgbouncer", folder="usr/sbin")


@contextmanager
def pgbouncer(dsn: str, pool_size: int) -> Iterator[str]:
    """Run one in front of a database, in transaction mode, with so many connections; yields its DSN."""
    far, port = urlsplit(dsn), free_port()
    settings = _SETTINGS.format(
        database=far.path.lstrip("/"),
        host=far.hostname,
        port=far.port or 5432,
        user=far.username or "postgres",
        listen_port=port,
        pool_size=pool_size,
    )
    with tempfile.TemporaryDirectory(prefix="tenure-pgbouncer-", dir=open_temporary_place()) as folder:
        process = _start(Path(folder), settings)
        try:
            _until_ready(process, port, Path(folder) / "log")
            yield far._replace(netloc=f"{far.username or 'postgres'}@127.0.0.1:{port}").geturl()
        finally:
            process.terminate()
            process.wait()


def _start(folder: Path, settings: str) -> subprocess.Popen[bytes]:
    (folder / "settings").write_text(settings)
    folder.chmod(0o755)
    # Like PostgreSQL, it refuses to run as root.
    account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [program(), str(folder / "settings")],
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _until_ready(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    def has_started_or_ended() -> bool:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return process.poll() is not None
        return True

    with suppress(TimeoutError):
        until_sync(has_started_or_ended, START_SECONDS)
        if process.poll() is None:
            return
    raise RuntimeError(f"pgbouncer did not start:\n{log.read_text(errors='replace')}")
