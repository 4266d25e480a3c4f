"""Jobs that the database refuses to move, as operators see them over HTTP."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Raw, Struct

from tenure.core.aside import Aside, Met
from tenure.core.outcome import Ending, Failure
from tenure.core.states import State
from tenure.surfaces import views
from tenure.surfaces.redaction import Redaction


class AsideItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A job that is aside: what refused it, and what its attempt had reported, if it had."""

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
    """A job that is aside, without what is hidden."""
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
