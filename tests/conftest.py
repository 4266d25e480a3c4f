"""What every folder of tests may ask for: servers, and a store of each kind on an empty database."""

import gc
import os
import signal
import sys
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tenure.storage.contract.store import Store
from tests import server_files
from tests.postgres_server import DSN_VARIABLE, PostgresServer
from tests.postgres_versions import NEWEST, USUAL, binaries_of
from tests.storage.backends import Backend, SqliteBackend, server_for
from tests.storage.clock import Clock
from tests.storage.shared_connections import Kept

pytest_plugins = ["tests.contract_counts", "tests.costs", "tests.whole", "tests.order", "tests.wiretap"]

# A slow machine is no failure, and the same tree passes or fails the same way each time.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")

# A shell starts what it puts in the background deaf to Ctrl-C, and every program that tests start would be.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The HTTP client looks for it several times a request, on every path, and in vain: it is no dependency.
if find_spec("sniffio") is None:
    sys.modules["sniffio"] = None  # type: ignore[assignment]


def pytest_configure(config: pytest.Config) -> None:
    """Before processes are started that run tests: they share what is kept."""
    keeping = ExitStack()
    keeping.enter_context(server_files.kept())
    config.add_cleanup(keeping.close)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the garbage collector thousands of tests: they live until the end, and some garbage with them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One PostgreSQL for the whole run, started when the first test asks for it."""
    with PostgresServer(None if os.environ.get(DSN_VARIABLE) else binaries_of(USUAL)) as server:
        yield server


@pytest.fixture(scope="session")
def newest_postgres_server() -> Iterator[PostgresServer]:
    """A second one, of the newest version that is supported."""
    with PostgresServer(binaries_of(NEWEST)) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def database_kind(request: pytest.FixtureRequest) -> str:
    """Each kind of store; a folder may name others."""
    named: str = request.param
    return named


@pytest.fixture(scope="session")
async def kept() -> AsyncIterator[Kept]:
    """The connections that outlive a test."""
    keeping = Kept()
    yield keeping
    keeping.drop()


@pytest.fixture
async def backend(
    request: pytest.FixtureRequest, database_kind: str, tmp_path: Path, kept: Kept
) -> AsyncIterator[Backend]:
    """An empty, migrated database of each kind, its clock in the test's hands."""
    made: Backend
    if database_kind == "sqlite":
        made = SqliteBackend(tmp_path / "tenure.db")
    else:
        made = kept.backend(server_for(request, database_kind))
    await made.prepare()
    yield made
    await made.dispose()


@pytest.fixture
async def store(backend: Backend, kept: Kept) -> AsyncIterator[Store]:
    """A store opened on the backend."""
    opened = kept.store(backend)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def clock(backend: Backend) -> Clock:
    """The store's time, which stands still until a test advances it."""
    return backend.clock
