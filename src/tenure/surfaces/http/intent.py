"""The intent API, `/jobs`: a client says what it wants done, and asks what has become of it."""

from msgspec import Raw, UnsetType

from tenure.core.documents import EMPTY, Document, check
from tenure.core.errors import InvalidInput, InvalidJson, NoRoom, UnknownDefinition
from tenure.core.spec import Spec
from tenure.engine.client import Client
from tenure.surfaces.dialects.intent import INTENT
from tenure.surfaces.dialects.orchestrator import ORCHESTRATOR
from tenure.surfaces.http.caller import Caller
from tenure.surfaces.http.desk import Answer, Asked, Desk
from tenure.surfaces.http.problems import Refusal, invalid
from tenure.surfaces.http.shapes import Intent, IntentAccepted, NewIntent

FIELDS = ORCHESTRATOR.fields
SCOPE = ""
"""Where the keys of this API are unique: no definition has this name, so all of them share it."""


async def submit(desk: Desk, asked: Asked) -> Answer:
    """Record a job, or answer with the one that has the key: which of the two is not told."""
    body: NewIntent = asked.body
    spec = await spec_of(desk.client, asked.caller, body.job_type)
    job = spec.new_job(
        document(body.payload, "/payload"), idempotency_key=body.idempotency_key, **asked.marks
    )
    try:
        answer = await desk.client.submit(job, scope=SCOPE)
    except NoRoom:
        raise no_room() from None
    if (
        not answer.fresh
        and asked.caller.is_fenced
        and not asked.caller.sees(await desk.client.get(answer.id))
    ):
        message = "was used before by somebody else"
        raise invalid("idempotency-key-reused", message, pointer="/idempotencyKey")
    return Answer(202, IntentAccepted(job_id=answer.id, status=INTENT[answer.state]))


async def status(desk: Desk, asked: Asked) -> Answer:
    """What has become of a job, and nothing of how."""
    job = await desk.client.get(asked.job)
    return Answer(
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
    """There is no room for a job; in which queue it would stand is nothing that clients are told."""
    return Refusal("quota", "as much waits as may; nothing was recorded, try again later")


async def spec_of(client: Client, caller: Caller, key: str, version: int | None = None) -> Spec:
    """The definition of a job to be; whatever is wrong with its key is told of that field."""
    if not caller.knows(key):
        raise UnknownDefinition(key, version)
    try:
        return await client.spec(key, version)
    except UnknownDefinition:
        raise
    except InvalidInput as error:
        raise InvalidInput("definition", error.problem, error.remedy) from None


def document(raw: Raw | UnsetType, pointer: str) -> Document:
    """A document inside of a body that has passed the strict check; it may still be too large by itself."""
    if isinstance(raw, UnsetType):
        return EMPTY
    try:
        return check(bytes(raw))
    except InvalidJson as error:
        raise invalid("validation", error.problem, pointer=pointer + error.pointer) from None
