"""Calls of the worker protocol, as a worker over HTTP makes them."""

from typing import Any, NamedTuple

from tenure.core.model.job import NewJob
from tenure.storage.contract.store import Store
from tests.surfaces.http.http_server import Api, Reply

MAIL = {"definitionKey": "mail"}
BOOM = {"type": "SmtpError", "message": "no route", "traceback": "at send (mail.js:7)"}


class Leased(NamedTuple):
    """A job that a worker has claimed, and the calls about it."""

    api: Api
    lease: dict[str, Any]
    extra: dict[str, Any]

    @property
    def job(self) -> str:
        return str(self.lease["jobId"])

    async def call(self, verb: str, **body: Any) -> Reply:
        """One call of the protocol; the token is the lease's own unless another one is given."""
        sent = {"token": self.lease["token"], **body}
        return await self.api.post(f"/v1/leases/{self.job}/{verb}", sent, **self.extra)


async def ask(
    api: Api, worker: str = "node-1", *, wait: float | None = None, extra: Any = None, **body: Any
) -> Reply:
    """Ask for jobs, waiting `wait` seconds for one; of `mail` unless the body names others."""
    kinds = {} if {"definitions", "queues"} & body.keys() else {"definitions": [MAIL]}
    path = "/v1/leases" if wait is None else f"/v1/leases?waitSeconds={wait}"
    return await api.post(path, {"workerId": worker, **kinds, **body}, **(extra or {}))


async def lease(api: Api, worker: str = "node-1", *, extra: Any = None, **body: Any) -> list[Leased]:
    """Claim jobs."""
    reply = await ask(api, worker, extra=extra, **body)
    assert reply.status == 200, reply
    return [Leased(api, item, extra or {}) for item in reply.json["leases"]]


async def add(api: Api, *, extra: Any = None, **body: Any) -> str:
    """Record a job of `mail`; returns its id."""
    reply = await api.post("/v1/jobs", {**MAIL, **body}, **(extra or {}))
    assert reply.status == 202, reply
    return str(reply.json["jobId"])


def is_lost(reply: Reply) -> bool:
    """Whether the answer is that the lease is lost."""
    return reply.status == 409 and reply.kind == "lease-lost"


async def one(api: Api, store: Store, **options: object) -> Leased:
    """A job with a policy, as a worker over HTTP holds it."""
    await store.enqueue([NewJob(definition="mail", **options)])  # type: ignore[arg-type]
    [held] = await lease(api)
    return held
