"""Several servers in one address: the one that takes writes is found, whatever has become of the others."""

from urllib.parse import urlsplit

import asyncpg
import pytest

from tenure.core.errors import StoreUnavailable
from tenure.storage.postgres.wire import servers, wakeups
from tests import canaries
from tests.ports import free_port
from tests.storage.backends import PostgresBackend
from tests.storage.faults.conftest import Opener
from tests.storage.faults.outages import outage, recovered
from tests.storage.postgres.relay import Relay
from tests.storage.verbs import enqueue_one
from tests.until import until


def joined(*dsns: str) -> str:
    """One address for the servers of several."""
    first, *_ = parts = [urlsplit(dsn) for dsn in dsns]
    hosts = ",".join(f"{part.hostname}:{part.port}" for part in parts)
    return first._replace(netloc=f"{first.username}:{first.password}@{hosts}").geturl()


def nowhere(dsn: str) -> str:
    """The same address, on a port where nothing listens."""
    return urlsplit(dsn)._replace(netloc=f"postgres:pw@127.0.0.1:{free_port()}").geturl()


async def test_a_server_that_is_gone_is_passed_over(backend: PostgresBackend, opened: Opener) -> None:
    store = await opened(joined(nowhere(backend.dsn), backend.dsn))
    await enqueue_one(store)


async def test_a_server_that_does_not_answer_leaves_time_for_the_next(
    backend: PostgresBackend, relay: Relay, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that has lost its power refuses nothing; what answered last is asked first from then on."""
    monkeypatch.setattr(servers, "_PART", 0.5)
    relay.stall()
    store = await opened(joined(relay.dsn, backend.dsn))
    await enqueue_one(store)
    assert store._pool._servers._order[0].port == urlsplit(backend.dsn).port


async def test_an_outage_of_all_servers_names_them_and_no_password(
    backend: PostgresBackend, opened: Opener
) -> None:
    gone = [nowhere(backend.dsn).replace("pw@", f"{canaries.PASSWORD}@") for _ in range(2)]
    address = joined(*gone)
    with pytest.raises(StoreUnavailable) as caught:
        await opened(address)
    for one in gone:
        assert f"127.0.0.1:{urlsplit(one).port}/" in str(caught.value)
    assert canaries.PASSWORD not in str(caught.value)


@pytest.mark.parametrize("form", ["{0}", "{0}?target_session_attrs=read-write"])
async def test_a_server_that_only_reads_is_an_outage_until_it_writes_again(
    backend: PostgresBackend, opened: Opener, form: str
) -> None:
    """Never an error of data: the same store goes on as soon as a server takes writes."""
    store = await opened(form.format(backend.dsn))
    name = urlsplit(backend.dsn).path[1:]
    looker = await asyncpg.connect(backend.dsn)
    try:
        await store._pool.execute("SET default_transaction_read_only = on")
        end = await outage(enqueue_one(store))
        assert not end.unknown
        await looker.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
        store._pool.connections.expire()
        assert not (await outage(enqueue_one(store))).unknown
    finally:
        await looker.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')
        await looker.close()
    await recovered(store)


async def test_of_several_servers_only_one_that_writes_will_do(
    backend: PostgresBackend, opened: Opener
) -> None:
    """Also where the address does not say so."""
    store = await opened(joined(nowhere(backend.dsn), backend.dsn))
    name = urlsplit(backend.dsn).path[1:]
    looker = await asyncpg.connect(backend.dsn)
    try:
        await looker.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
        store._pool.connections.expire()
        assert "takes no writes now" in str(await outage(store.now()))
    finally:
        await looker.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')
        await looker.close()


async def test_hints_are_not_awaited_from_a_server_that_is_gone_without_a_word(
    relay: Relay, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is sent there but hints: a statement that finds the server silent has it looked at."""
    monkeypatch.setattr(wakeups, "_ANSWERS_WITHIN", 0.5)
    store = await opened(relay.dsn, notify=True)
    async with store.listen() as hints:
        await until(lambda: hints.is_live)
        relay.stall()
        await outage(store.now())
        await until(lambda: not hints.is_live)
        relay.flow()
        await until(lambda: hints.is_live)
