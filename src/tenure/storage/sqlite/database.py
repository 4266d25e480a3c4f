"""The file behind a store: its writer, its readers and the scripts of its verbs."""

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from tenure.core.errors import SchemaMismatch
from tenure.storage.migrate import Applied, apply_all
from tenure.storage.sqlite import rows, schema
from tenure.storage.sqlite.readers import Readers
from tenure.storage.sqlite.scripts import Scripts
from tenure.storage.sqlite.writer import Writer

Rows = list[dict[str, Any]]


class Database:
    """One file, shared by any number of processes of one machine."""

    def __init__(self, path: Path | str, *, timeout: float = 15.0, create: bool = True) -> None:
        """`timeout` bounds, in seconds, how long a write waits for others; `create`: a file may be made."""
        self._path = Path(path)
        self._create = create
        self._scripts = Scripts()
        self._writer = Writer(self._path, patience=timeout)
        self._readers = Readers(self._path)

    async def open(self) -> None:
        if not self._create and not self._path.exists():
            raise SchemaMismatch(f"{self._path} is not there: run `tenure migrate`, which makes it")
        await self._writer.open()
        self._readers.open()

    async def close(self) -> None:
        await self._writer.close()
        await self._readers.close()

    async def migrate(self, on_applied: Callable[[Applied], None] | None = None) -> list[str]:
        return await apply_all(schema.PACKAGE, lambda: self._writer.run(schema.apply_next), on_applied)

    async def migration_sql(self) -> str:
        return await self._writer.run(schema.by_hand)

    async def verify(self) -> None:
        await self._writer.run(schema.verify)

    async def now(self) -> datetime:
        return rows.moment(await self._writer.run(lambda _, turn: turn.now))

    async def _run(self, verb: str, given: Sequence[tuple[Any, ...]] = (), /, **named: object) -> Rows:
        """A verb's script in a transaction of the writer."""
        return await self._writer.run(
            lambda connection, turn: self._scripts.run(connection, verb, given, **turn._asdict(), **named)
        )

    async def _write(self, statement: str, /, **named: object) -> Rows:
        """A single statement in a transaction of the writer."""
        return await self._writer.run(
            lambda connection, turn: self._scripts.one(connection, statement, **turn._asdict(), **named)
        )

    async def _read(self, statement: str, /, **named: object) -> Rows:
        """A single statement beside the writer."""
        found = await self._readers.run(self._scripts.statements[statement], **named)
        return [rows.native(row) for row in found]
