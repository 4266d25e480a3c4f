"""Jobs that the database refuses to move, as operators see them over HTTP."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Raw, Struct

from tenure.api import views
from tenure.api.redaction import Redaction
from tenure.core.model.aside import Aside, Met
from tenure.core.model.outcome import Ending
from tenure.core.model.states import State
from tenure.core.values.failure import Failure


class AsideItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A job that is aside: what refused it, and what its attempt had reported, if anything."""

    job_id: UUID
    namespace: str
    definition_key: str
    definition_version: int
    queue: str
    status: State
    since: datetime
    by: str
    verb: Met
    code: str | None
    reason: str
    fence: int
    outcome: Ending | None
    result: Raw | None
    error: Failure | None


class Asides(Struct, frozen=True, rename="camel"):
    """The latest jobs that are aside, and how many there are, counted up to a thousand."""

    items: Sequence[AsideItem]
    in_all: int


def aside_item(aside: Aside, redaction: Redaction) -> AsideItem:
    """A job that is aside, redacted."""
    return AsideItem(
        job_id=aside.job,
        namespace=aside.namespace,
        definition_key=aside.line.definition,
        definition_version=aside.line.version,
        queue=aside.line.queue,
        status=aside.state,
        since=aside.since,
        by=aside.by,
        verb=aside.verb,
        code=aside.code,
        reason=redaction.text(aside.text),
        fence=aside.fence,
        outcome=aside.ending,
        result=None if aside.result is None else Raw(redaction.document(aside.result)),
        error=None if aside.error is None else views.failure(aside.error, redaction),
    )
