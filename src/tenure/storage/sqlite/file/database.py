"""The file behind a store: its writer, its readers and the scripts of its verbs."""

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from tenure.core.errors import SchemaMismatch
from tenure.core.values.bounds import LARGEST_BATCH, whole
from tenure.storage.mapping.findings import MOST, Finding, findings_from
from tenure.storage.mapping.schedules import LeftAlone
from tenure.storage.mapping.webhooks import LeftWebhooks
from tenure.storage.schema.migration import Applied, Fit, apply_all
from tenure.storage.sqlite import rows, schema
from tenure.storage.sqlite.file.connection import Opening, intact
from tenure.storage.sqlite.file.filesystem import require_name
from tenure.storage.sqlite.file.readers import Readers
from tenure.storage.sqlite.file.wakeups import FileWatch
from tenure.storage.sqlite.file.writer import Writer
from tenure.storage.sqlite.known_places import KnownPlaces
from tenure.storage.sqlite.scripts import Scripts

T = TypeVar("T")
Rows = list[dict[str, Any]]


class Database:
    """One file, shared by any number of processes on one machine."""

    def __init__(self, path: Path | str, opening: Opening, *, create: bool = True) -> None:
        """Without `create`, opening refuses a file that does not exist."""
        require_name(Path(path))
        opening.check()
        self._path = Path(path).absolute()
        self._create = create
        self._scripts = Scripts()
        self._left_alone = LeftAlone()
        self._left_webhooks = LeftWebhooks()
        self._known_places = KnownPlaces(self._scripts.statements)
        self._writer = Writer(self._path, opening)
        self._readers = Readers(self._path, opening, self._writer)
        self._watch = FileWatch(self._path, self._scripts.statements)

    async def open(self) -> None:
        if not self._create and not self._path.exists():
            raise SchemaMismatch(
                f"{self._path} does not exist: run `tenure migrate` or start a worker, which create it, "
                "or name another database"
            )
        await self._writer.open()
        self._readers.open()

    async def close(self) -> None:
        # The writer last: the last connection to close checkpoints the log, if it may write.
        await self._readers.close()
        await self._writer.close()

    async def migrate(self, on_applied: Callable[[Applied], None] | None = None) -> list[str]:
        return await apply_all(schema.PACKAGE, lambda: self._writer.run(schema.apply_next), on_applied)

    async def migration_sql(self) -> str:
        return await self._writer.run(schema.by_hand)

    async def verify(self) -> Fit:
        # With a reader: a program may call this for the first time while it holds the write lock itself.
        return await self._readers.look(schema.verify)

    async def inspect(self, *, limit: int = MOST) -> list[Finding]:
        whole("limit", limit, 1, LARGEST_BATCH)
        return findings_from(await self._read("inspect", lambda row: row, limit=limit), schema.REMOVAL)

    async def now(self) -> datetime:
        return rows.moment(await self._writer.run(lambda _, turn: turn.now))

    async def store_id(self) -> UUID:
        [row] = await self._read("store_id", lambda row: row)
        made: UUID = row["id"]
        return made

    async def _run(self, verb: str, given: Sequence[tuple[Any, ...]] = (), /, **named: object) -> Rows:
        """Run a verb's script in a transaction of the writer."""
        return await self._writer.run(
            lambda connection, turn: self._scripts.run(connection, verb, given, **turn._asdict(), **named)
        )

    async def _write(self, statement: str, /, **named: object) -> Rows:
        """Run a single statement in a transaction of the writer."""
        return await self._writer.run(
            lambda connection, turn: self._scripts.one(connection, statement, **turn._asdict(), **named)
        )

    async def _read(
        self, statement: str, convert: Callable[[dict[str, Any]], T], /, **named: object
    ) -> list[T]:
        """Run a single statement on a reader; values that make no sense are damage."""
        found = await self._readers.run(self._scripts.statements[statement], **named)
        with intact(self._path):
            return [convert(row) for row in rows.native(found)]
