"""What a run stands on: an empty database of its own, how workers reach it, and how everybody else does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit
from uuid import uuid4

from chaos import charges
from tenure.storage.address import store_for
from tests.storage.faults.own_server import OwnServer
from tests.storage.postgres.relay import Relay

Kind = Literal["sqlite", "postgres"]


@dataclass(frozen=True)
class Ground:
    """A database. `address` leads there by the way that faults may harm, `direct` by one that they do not."""

    kind: Kind
    address: str
    direct: str
    path: Path | None = None
    server: OwnServer | None = None
    relay: Relay | None = None
    shop: str = ""
    """On PostgreSQL, what jobs with transactions of their own are given: the way that faults may harm."""


@asynccontextmanager
async def prepared(
    kind: Kind, folder: Path, server: OwnServer | None = None, password: str = ""
) -> AsyncIterator[Ground]:
    """An empty, migrated database; PostgreSQL on a server that was started for such runs, behind a relay.

    Everybody tells PostgreSQL the password, which it does not ask for.
    """
    if kind == "sqlite":
        path = folder / "jobs.db"
        address = f"sqlite:///{path}"
        await _migrate(address)
        yield Ground(kind, address, address, path=path)
        return
    if server is None:
        raise ValueError("a run on PostgreSQL needs a server")
    plain = urlsplit(await asyncio.to_thread(server.create_database, f"chaos_{uuid4().hex}"))
    user, _, host = plain.netloc.rpartition("@")
    direct = plain._replace(netloc=f"{user}:{password}@{host}").geturl() if password else plain.geturl()
    await _migrate(direct)
    await charges.make_table(direct)
    relay = Relay(direct)
    try:
        address = await relay.open()
        shop = address.replace(f":{password}@", "@") if password else address
        yield Ground(kind, address, direct, server=server, relay=relay, shop=shop)
    finally:
        await relay.cut()


async def _migrate(address: str) -> None:
    store = store_for(address)
    await store.open()
    try:
        await store.migrate()
    finally:
        await store.close()
