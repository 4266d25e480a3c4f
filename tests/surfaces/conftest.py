"""Databases for the command line: empty ones of each kind, and those that cannot be used."""

import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from tests.postgres_server import PostgresServer
from tests.storage.migrated_databases import create_migrated
from tests.surfaces.command import COMMAND, environment
from tests.surfaces.store_behind import on

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts commands that run beside the test, and kills them at its end."""
    with ExitStack() as ends:

        def one(*arguments: str, **changed: str) -> "subprocess.Popen[str]":
            running = subprocess.Popen(
                [*COMMAND, *arguments],
                cwd=tmp_path,
                env=environment(**changed),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
            )
            ends.enter_context(running)
            ends.callback(running.kill)
            return running

        yield one


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'jobs.db'}"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.create_database(f"cli_{uuid4().hex}")


@pytest.fixture(params=["sqlite", "postgres"])
def migrated(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database of each kind with the schema, and nothing in it."""
    if request.param == "sqlite":
        address = f"sqlite:///{tmp_path / 'jobs.db'}"
        on(address, lambda store: store.verify())
        return address
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return create_migrated(server, f"cli_{uuid4().hex}")


@pytest.fixture
def postgres_database(postgres_server: PostgresServer) -> str:
    """The address of an empty PostgreSQL database."""
    return postgres_server.create_database(f"cli_{uuid4().hex}")


@pytest.fixture(params=["sqlite", "postgres"])
def unreachable(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An address of each kind with nothing behind it."""
    if request.param == "sqlite":
        (tmp_path / "file").touch()
        yield f"sqlite:///{tmp_path / 'file' / 'jobs.db'}"
        return
    with socket.socket() as taken:
        # Bound but not listening: no other process can take the port, and connections are refused.
        taken.bind(("127.0.0.1", 0))
        yield f"postgresql://tenure:s3cret@127.0.0.1:{taken.getsockname()[1]}/tenure"


@pytest.fixture
def silent_server() -> Iterator[socket.socket]:
    """A server that accepts connections and never sends anything."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        yield server
