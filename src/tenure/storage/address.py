"""Which store an address names, and how a store is opened.

The first process that uses a fresh SQLite file migrates it: there is nothing to set up. Any other database
is migrated by `tenure migrate` alone: several versions of a program may share it, and one of them must not
change it under the others.
"""

import asyncio
from pathlib import Path
from typing import NamedTuple

from tenure.core.errors import InvalidInput, SchemaMismatch
from tenure.core.signals import Announce, Signal
from tenure.core.values.extras import installation
from tenure.core.values.urls import masked
from tenure.storage.contract.store import Store
from tenure.storage.postgres.wire.addresses import read_address
from tenure.storage.schema.migration import Fit

FORMS = (
    "write sqlite:///relative.db, sqlite:////absolute.db or postgresql://user@host/name, "
    "with host:port,host:port for several servers"
)
_LOOKS = 40
"""So often a process looks whether another one has applied one more migration to a fresh file."""
_BETWEEN_LOOKS = 0.05


def _unheard(_: Signal) -> None:
    """Nobody wants to know."""


class ConnectionTerms(NamedTuple):
    """The connections to a server that a process may have; a file needs none.

    `most` counts all of them: one is kept free for hints and, `for_worker`, one for heartbeats. `on_signal`
    is told when the server has none to spare, and when that is over.
    """

    most: int = 11
    for_worker: bool = False
    on_signal: Announce = _unheard

    @property
    def for_statements(self) -> int:
        """How many there may be for all other statements."""
        return self.most - (2 if self.for_worker else 1)


USUAL = ConnectionTerms()
"""For a process that has no setting of its own: a program with the library, a command."""


def store_for(database: str, terms: ConnectionTerms = USUAL, *, create: bool = True) -> Store:
    """The store that an address names, not yet opened. Raises InvalidInput for an address that names none.

    `?pooled=true` after the name of a PostgreSQL database says that a transaction-mode pooler, such as
    pgbouncer, is in between. Without `create`, opening refuses a file that does not exist.
    """
    if not database.isprintable():
        raise InvalidInput("database", "contains a character that cannot be printed", FORMS)
    scheme, separator, rest = database.partition("://")
    match scheme.lower() if separator else "":
        case "sqlite":
            return _sqlite(rest, create=create)
        case "postgresql" | "postgres":
            return _postgres(database, terms)
        case "":
            raise InvalidInput("database", f"is not an address: {masked(database)!r}", FORMS)
        case _:
            raise InvalidInput("database", f"is of an unknown kind: {masked(database)!r}", FORMS)


def is_served(database: str) -> bool:
    """Whether an address names a database on a server, where one more connection does no harm."""
    return not database.lower().startswith("sqlite:")


async def open_store(database: str, terms: ConnectionTerms = USUAL) -> Store:
    """The store that an address names, opened, with its schema verified.

    Raises SchemaMismatch, which says what to do, unless the schema fits this version.
    """
    fresh = is_fresh(database)
    store = store_for(database, terms)
    await store.open()
    try:
        if fresh:
            await store.migrate()
        await verify_while_migrated(store, _LOOKS if _sqlite_file(database) else 1)
    except BaseException:
        await store.close()
        raise
    return store


async def verify_while_migrated(store: Store, looks: int) -> Fit:
    """Verify a schema; it does not fit when `looks` in a row find it wrong and no further than before."""
    reached: int | None = None
    left = looks
    while True:
        try:
            return await store.verify()
        except SchemaMismatch as mismatch:
            if mismatch.found != reached:
                reached, left = mismatch.found, looks
            left -= 1
            if left <= 0:
                raise
        await asyncio.sleep(_BETWEEN_LOOKS)


def _sqlite_file(database: str) -> Path | None:
    scheme, _, name = database.partition(":///")
    return Path(name) if scheme.lower() == "sqlite" else None


def shown(database: str) -> str:
    """The address without passwords, and with the absolute path of a file."""
    file = _sqlite_file(database)
    return masked(database) if file is None else f"sqlite:///{file.absolute()}"


def is_fresh(database: str) -> bool:
    """Whether the address names a file that does not exist yet, or is empty."""
    file = _sqlite_file(database)
    try:
        return file is not None and (not file.exists() or file.stat().st_size == 0)
    except OSError:
        # Opening it will say why.
        return False


def _sqlite(rest: str, *, create: bool) -> Store:
    if rest and not rest.startswith("/"):
        raise InvalidInput("database", f"names a host, {masked(rest)!r}, but SQLite is a file here", FORMS)
    name = rest.removeprefix("/")
    if not name:
        raise InvalidInput("database", "names no file", FORMS)
    if name.startswith(":memory:"):
        raise InvalidInput("database", "is in memory, where jobs would be lost", FORMS)
    if "?" in name:
        raise InvalidInput("database", "has parameters after a question mark", "give the file's name alone")
    if name.endswith("/") or _is_folder(Path(name)):
        raise InvalidInput("database", f"is a directory: {name!r}", "name a file in it")
    from tenure.storage.sqlite.store import SqliteStore

    return SqliteStore(name, create=create)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        # Opening it will say why.
        return False


def _postgres(database: str, terms: ConnectionTerms) -> Store:
    address = read_address(database)
    try:
        from tenure.storage.postgres.store import PostgresStore
    except ModuleNotFoundError as error:
        if error.name != "asyncpg":
            raise
        problem = "needs PostgreSQL's driver asyncpg, which is not installed"
        raise InvalidInput("database", problem, installation("postgres")) from None
    return PostgresStore(
        address,
        connections=terms.for_statements,
        for_worker=terms.for_worker,
        on_signal=terms.on_signal,
    )
