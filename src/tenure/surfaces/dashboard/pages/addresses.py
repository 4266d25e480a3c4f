"""The addresses by which pages link to each other."""

from collections.abc import Sequence
from urllib.parse import quote, urlencode
from uuid import UUID

from tenure.core.model.states import State
from tenure.core.schedule.schedule import ScheduleName

JOBS = "/ui/jobs"
DEAD = "/ui/dead-letters"
SCHEDULES = "/ui/schedules"
WEBHOOKS = "/ui/webhooks"


def list_address(*, q: str = "", status: Sequence[State] = (), **more: str | int | None) -> str:
    """The list of jobs that match a search and are in these states."""
    return with_words(JOBS, status, q=q, **more)


def with_words(path: str, status: Sequence[State] = (), /, **words: str | int | None) -> str:
    """A page with what its address says of it; what is blank is left out."""
    given = {name: value for name, value in words.items() if value not in {None, ""}}
    query = urlencode({**given, "status": list(status)}, doseq=True, quote_via=quote, safe=":")
    return f"{path}?{query}" if query else path


def job_address(job: UUID) -> str:
    """The page of a job."""
    return f"{JOBS}/{job}"


def schedule_address(name: ScheduleName) -> str:
    """The page of a schedule."""
    return f"{SCHEDULES}/{quote(name.namespace, safe='')}/{quote(name.name, safe='')}"


def webhook_address(webhook: UUID) -> str:
    """The page of a webhook."""
    return f"{WEBHOOKS}/{webhook}"
