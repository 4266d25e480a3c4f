"""Servers as a store: what the client of a run asks of one, asked over HTTP of any server that is there.

Whoever hears nothing cannot know what was done; a server that says 503 does not promise that nothing was.
"""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import httpx
import msgspec

from chaos.evidence import Reply
from tenure.core.errors import StoreRefused, StoreUnavailable
from tenure.core.model.durable import Delivered, Signal, Signalled
from tenure.core.model.job import Enqueued, JobStanding, NewJob
from tenure.core.model.states import State
from tenure.core.reports.operations import Replayed

PATIENCE = 60.0
ACCEPTED = "application/json, text/plain, text/html"
"""No streams: they have no end to wait for."""


class HttpStore:
    """The verbs of a store that the client of a run has need of. Whether a job was new is nowhere told."""

    def __init__(
        self,
        door: Callable[[], str],
        *,
        key: str | None = None,
        namespace: str | None = None,
        tags: Sequence[str] = (),
        heard: Callable[[Reply], None] = lambda _: None,
    ) -> None:
        """`door` says where to ask next, `heard` is told of every answer; jobs bear `tags`."""
        self._door = door
        self._namespace = namespace
        self._tags = list(tags)
        self._heard = heard
        bearing = {} if key is None else {"authorization": f"Bearer {key}"}
        bearing["accept"] = ACCEPTED
        # Nothing is encrypted here, and to read the certificates takes a while.
        self._client = httpx.AsyncClient(timeout=PATIENCE, trust_env=False, verify=False, headers=bearing)  # noqa: S501

    async def close(self) -> None:
        """Hang up."""
        await self._client.aclose()

    async def enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """One job by itself, several in a batch."""
        bodies = [{**_body(job), "tags": self._tags} for job in jobs]
        if len(bodies) == 1:
            answers = [await self._told("POST", "/v1/jobs", bodies[0])]
        else:
            answer = await self._told("POST", "/v1/jobs/batch", {"jobs": bodies})
            if "errors" in answer:
                raise StoreRefused(f"{answer['errors'][0]['code']}: {answer['errors'][0]['message']}")
            answers = answer["items"]
        return [Enqueued(UUID(one["jobId"]), State(one["status"]), fresh=False) for one in answers]

    async def cancel(self, ids: Sequence[UUID]) -> list[JobStanding]:
        """Ask jobs to stop, one by one."""
        return [await self._move(job, "cancel") for job in ids]

    async def accept(self, ids: Sequence[UUID]) -> list[JobStanding]:
        """Let held jobs go, one by one."""
        return [await self._move(job, "release") for job in ids]

    async def replay(self, ids: Sequence[UUID]) -> list[Replayed]:
        """Run finished jobs again, one by one."""
        answers = [(job, await self._told("POST", f"/v1/jobs/{job}/replay")) for job in ids]
        return [Replayed(job, None, UUID(answer["jobId"]), fresh=False) for job, answer in answers]

    async def signal(self, job: UUID, signal: Signal) -> Signalled:
        """Tell a job something. Whether it was told the same before is nowhere said."""
        body = {"payload": msgspec.Raw(signal.body.encode())}
        answer = await self._told("POST", f"/v1/jobs/{job}/signals/{signal.name}", body)
        if "jobStatus" in answer:
            return Signalled(Delivered.FINISHED, State(answer["jobStatus"]))
        return Signalled(Delivered.KEPT, State(answer["status"]))

    async def get(self, job: UUID) -> JobStanding:
        """Where a job stands."""
        answer = await self._told("GET", f"/v1/jobs/{job}")
        return JobStanding(job, State(answer["status"]), moved=False)

    async def ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """One request, whatever the answer. Raises StoreUnavailable when there is none."""
        content = None if body is None else msgspec.json.encode(body)
        headers = {} if body is None else {"content-type": "application/json"}
        try:
            reply = await self._client.request(method, self._door() + path, content=content, headers=headers)
        except httpx.TransportError as error:
            unknown = not isinstance(error, httpx.ConnectError)
            raise StoreUnavailable(f"no answer: {error!r}", unknown=unknown) from error
        head = "".join(f"{name}: {value}\n" for name, value in reply.headers.items())
        self._heard(
            Reply(
                namespace=self._namespace,
                asked=f"{method} {path.partition('?')[0]}",
                status=reply.status_code,
                text=f"{head}\n{reply.text}",
            )
        )
        return reply

    async def _move(self, job: UUID, verb: str) -> JobStanding:
        answer = await self._told("POST", f"/v1/jobs/{job}/{verb}")
        return JobStanding(job, State(answer.get("jobStatus", answer["status"])), moved=False)

    async def _told(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """What was answered. Raises StoreRefused or StoreUnavailable where that is a problem."""
        reply = await self.ask(method, path, body)
        answer: dict[str, Any] = reply.json()
        if reply.status_code == 503:
            raise StoreUnavailable(answer["detail"], unknown=True)
        if reply.is_success or "jobStatus" in answer:
            return answer
        raise StoreRefused(f"{answer['type'].removeprefix('/docs#')}: {answer['detail']}")


def _body(job: NewJob) -> dict[str, Any]:
    body: dict[str, Any] = {
        "definitionKey": job.definition,
        "params": msgspec.Raw(job.params.encode()),
        "priority": job.priority,
        "hold": job.hold,
        "idempotencyKey": job.key,
    }
    if job.delay is not None:
        body["delaySeconds"] = job.delay.total_seconds()
    return body
