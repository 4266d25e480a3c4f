"""Where the jobs of a product are while it is measured. Every round begins with a home that is empty."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import asyncpg

from bench.peers.redis_server import RedisServer
from bench.postgres import Postgres, ask

_names = count(1)


class Home(Protocol):
    """A database, a Redis or a file, of one product alone."""

    address: str

    def renew(self) -> None:
        """Make it empty."""

    def tidy(self) -> None:
        """Do now what filling has left for later."""

    def count(self, question: str) -> int:
        """The answer to a question of the product's."""

    def cpu(self) -> float | None:
        """CPU seconds of its server so far; None where there is none."""

    def close(self) -> None:
        """Let go of it."""


class PostgresHome:
    """Databases on the bench's own server, each a copy of one in which the product has made its tables."""

    def __init__(self, postgres: Postgres, prepare: Callable[[str], None]) -> None:
        self._postgres = postgres
        self._template = f"peer_{next(_names)}"
        self.address = postgres.server.create_database(self._template)
        self._copy: str | None = None
        self._runner = asyncio.Runner()
        self._connection: Any = None
        prepare(self.address)

    def renew(self) -> None:
        self._drop()
        self._copy = f"{self._template}_{next(_names)}"
        self._ask(f"ALTER DATABASE {self._template} ALLOW_CONNECTIONS false")
        self._ask(f"CREATE DATABASE {self._copy} TEMPLATE {self._template}")
        self.address = self._postgres.server.dsn(self._copy)
        self._connection = self._runner.run(asyncpg.connect(self.address))

    def tidy(self) -> None:
        for statement in ("VACUUM ANALYZE", "CHECKPOINT"):
            self._runner.run(self._connection.execute(statement))

    def count(self, question: str) -> int:
        return int(self._runner.run(self._connection.fetchval(question)))

    def cpu(self) -> float | None:
        return self._postgres.cpu()

    def close(self) -> None:
        self._drop()
        self._runner.close()

    def _drop(self) -> None:
        if self._connection is not None:
            self._runner.run(self._connection.close())
            self._connection = None
        if self._copy is not None:
            self._ask(f"DROP DATABASE {self._copy} WITH (FORCE)")
            self._copy = None

    def _ask(self, statement: str) -> None:
        ask(self._postgres.server.dsn("postgres"), statement)


class RedisHome:
    """The bench's own Redis, which one product has at a time."""

    def __init__(self, redis: RedisServer) -> None:
        self._redis = redis
        self.address = redis.url

    def renew(self) -> None:
        self._redis.clear()

    def tidy(self) -> None:
        """Nothing is left for later."""

    def count(self, question: str) -> int:
        return self._redis.count(question)

    def cpu(self) -> float | None:
        return self._redis.cpu()

    def close(self) -> None:
        self._redis.clear()


class FileHome:
    """An SQLite file. What is done there is in the worker's own CPU."""

    def __init__(self, folder: Path, prepare: Callable[[str], None]) -> None:
        self._folder = folder / f"peer-{next(_names)}"
        self._prepare = prepare
        self.address = ""

    def renew(self) -> None:
        self.close()
        self._folder.mkdir()
        self.address = str(self._folder / "jobs.db")
        self._prepare(self.address)

    def tidy(self) -> None:
        """Nothing is left for later."""

    def count(self, question: str) -> int:
        with closing(sqlite3.connect(self.address)) as connection:
            return int(connection.execute(question).fetchone()[0])

    def cpu(self) -> None:
        return None

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
