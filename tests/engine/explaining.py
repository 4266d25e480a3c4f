"""Asks a real store why a job does not run."""

from typing import Any
from uuid import UUID

from tenure.core.model.lease import Pulse
from tenure.core.reports.operations import WorkerInfo
from tenure.core.reports.why import Why, WhyCode
from tenure.engine.why import explain
from tenure.storage.contract.store import Store
from tests.storage.verbs import MAIL

AT = "2030-01-01 12"
"""The hour of the tests' clock, in sentences."""


async def why(store: Store, job: UUID, *, namespace: str | None = None) -> Why:
    """The answer about a job that exists."""
    found = await store.obstacles(job)
    assert found is not None
    return explain(found, await store.flows(), namespace=namespace)


async def serve(store: Store, id_: str = "a", *, ready: bool = True, **info: Any) -> None:
    """A live worker."""
    given = {"id": id_, "host": "here", "pid": 7, "version": "1", "slots": 4, "lines": (MAIL,), **info}
    await store.enlist(WorkerInfo(**given))
    await store.heartbeat(Pulse(worker=id_, leases=[], ready=ready))


def also(answer: Why) -> list[WhyCode]:
    return [one.code for one in answer.data.also]
