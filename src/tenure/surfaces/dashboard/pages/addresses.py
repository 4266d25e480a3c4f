"""Where pages are, as they link to each other."""

from collections.abc import Sequence
from urllib.parse import quote, urlencode
from uuid import UUID

from tenure.core.states import State

JOBS = "/ui/jobs"


def list_address(*, q: str = "", status: Sequence[State] = (), **more: str | int | None) -> str:
    """The list of jobs that are sought with these words and are in these states."""
    words = {name: value for name, value in {"q": q, **more}.items() if value not in {None, ""}}
    query = urlencode({**words, "status": list(status)}, doseq=True, quote_via=quote, safe=":")
    return f"{JOBS}?{query}" if query else JOBS


def job_address(job: UUID) -> str:
    """One job."""
    return f"{JOBS}/{job}"
