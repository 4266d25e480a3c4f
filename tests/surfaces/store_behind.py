"""A store on the database of a command, for use by the test."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import UUID

from tenure.core.model.job import Job
from tenure.core.model.spec import Spec
from tenure.core.reports.operations import Definition
from tenure.core.values.documents import write
from tenure.storage.address import store_for
from tenure.storage.contract.store import Store
from tests.storage.verbs import found

T = TypeVar("T")

MAIL = Spec(
    key="mail",
    tags=("post",),
    params_schema=write(
        {"type": "object", "properties": {"to": {"type": "string"}}, "additionalProperties": False}
    ),
)
NOBODY = "00000000-0000-7000-8000-000000000000"
"""An id that no job has."""


def on(database: str, work: Callable[[Store], Awaitable[T]]) -> T:
    """Run `work` on a store, as another program beside the command would."""

    async def session() -> T:
        store = store_for(database)
        await store.open()
        try:
            await store.migrate()
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(session())


def register(database: str, *specs: Spec) -> None:
    """Register definitions, as a worker does."""
    known = [Definition(key=spec.key, version=spec.version, spec=spec.document()) for spec in specs]
    on(database, lambda store: store.put_definitions(known))


def job_of(database: str, job: str) -> Job:
    """A job that must exist."""
    return on(database, lambda store: found(store, UUID(job)))
