"""A worker that speaks HTTP, in the hands of a test."""

from typing import Any, NamedTuple

from tenure.core.job import NewJob
from tenure.storage.contract import Store
from tests.surfaces.http.serving import Api, Reply

MAIL = {"definitionKey": "mail"}
BOOM = {"type": "SmtpError", "message": "no route", "traceback": "at send (mail.js:7)"}


class Leased(NamedTuple):
    """A job that a worker has claimed, and the way to speak of it."""

    api: Api
    told: dict[str, Any]
    extra: dict[str, Any]

    @property
    def job(self) -> str:
        return str(self.told["jobId"])

    async def say(self, verb: str, **body: Any) -> Reply:
        """One call of the protocol; the token is the lease's own unless another one is given."""
        sent = {"token": self.told["token"], **body}
        return await self.api.post(f"/v1/leases/{self.job}/{verb}", sent, **self.extra)


async def ask(
    api: Api, worker: str = "node-1", *, wait: float | None = None, extra: Any = None, **body: Any
) -> Reply:
    """Ask for jobs, waiting for one so many seconds; of `mail`, unless something else is asked for."""
    kinds = {} if {"definitions", "queues"} & body.keys() else {"definitions": [MAIL]}
    path = "/v1/leases" if wait is None else f"/v1/leases?waitSeconds={wait}"
    return await api.post(path, {"workerId": worker, **kinds, **body}, **(extra or {}))


async def lease(api: Api, worker: str = "node-1", *, extra: Any = None, **body: Any) -> list[Leased]:
    """Claim jobs."""
    reply = await ask(api, worker, extra=extra, **body)
    assert reply.status == 200, reply
    return [Leased(api, told, extra or {}) for told in reply.json["leases"]]


async def add(api: Api, *, extra: Any = None, **body: Any) -> str:
    """Record a job of `mail`, and answer with its id."""
    reply = await api.post("/v1/jobs", {**MAIL, **body}, **(extra or {}))
    assert reply.status == 202, reply
    return str(reply.json["jobId"])


def is_lost(reply: Reply) -> bool:
    """Whether the worker is told that the job is not its own."""
    return reply.status == 409 and reply.kind == "lease-lost"


async def one(api: Api, store: Store, **asked: object) -> Leased:
    """A job with a policy, as a worker over HTTP holds it."""
    await store.enqueue([NewJob(definition="mail", **asked)])  # type: ignore[arg-type]
    [held] = await lease(api)
    return held
