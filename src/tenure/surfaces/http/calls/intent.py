"""The intent API, `/jobs`: a client submits what it wants done, and asks what became of it."""

from msgspec import Raw, UnsetType

from tenure.api.dialects.intent import INTENT
from tenure.api.dialects.orchestrator import ORCHESTRATOR
from tenure.api.shapes import Intent, IntentAccepted, NewIntent
from tenure.core.errors import InvalidInput, InvalidJson, NoRoom, UnknownDefinition
from tenure.core.model.spec import Spec
from tenure.core.values.documents import EMPTY, Document, check
from tenure.engine.client.client import JobClient
from tenure.surfaces.http.app.caller import Caller
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal, invalid

FIELDS = ORCHESTRATOR.fields
SCOPE = ""
"""The scope of this API's idempotency keys: no definition has this name, so all of them share it."""


async def submit(context: AppContext, request: Request) -> Response:
    """Record a job, or return the one that has the key; the answer does not say which of the two."""
    body: NewIntent = request.body
    spec = await spec_of(context.client, request.caller, body.job_type)
    job = spec.new_job(
        document(body.payload, "/payload"), idempotency_key=body.idempotency_key, **request.marks
    )
    try:
        answer = await context.client.submit(job, scope=SCOPE)
    except NoRoom:
        raise no_room() from None
    if (
        not answer.fresh
        and request.caller.is_namespaced
        and not request.caller.sees(await context.client.get(answer.id))
    ):
        message = "was used before by another caller; send a new key"
        raise invalid("idempotency-key-reused", message, pointer="/idempotencyKey")
    return Response(202, IntentAccepted(job_id=answer.id, status=INTENT[answer.state]))


async def status(context: AppContext, request: Request) -> Response:
    """What became of a job, without how."""
    job = await context.client.get(request.job)
    return Response(
        200,
        Intent(
            job_id=job.id,
            job_type=job.definition,
            status=INTENT[job.state],
            created_at=job.created_at,
            updated_at=job.updated_at,
        ),
    )


def no_room() -> Refusal:
    """The refusal of a job for which there is no room; clients do not learn the queue."""
    return Refusal("quota", "as many jobs wait as may; nothing was recorded, try again later")


async def spec_of(client: JobClient, caller: Caller, key: str, version: int | None = None) -> Spec:
    """The definition of a new job. Errors about its key name the field `definition`."""
    if not caller.knows(key):
        raise UnknownDefinition(key, version)
    try:
        return await client.spec(key, version)
    except UnknownDefinition:
        raise
    except InvalidInput as error:
        raise InvalidInput("definition", error.problem, error.remedy) from None


def document(raw: Raw | UnsetType, pointer: str) -> Document:
    """A document inside a body that passed the strict check; it may still be too large by itself."""
    if isinstance(raw, UnsetType):
        return EMPTY
    try:
        return check(bytes(raw))
    except InvalidJson as error:
        raise invalid("validation", error.problem, pointer=pointer + error.pointer) from None
