"""What to raise where a job has no result, by how it stands."""

from uuid import UUID

from tenure.core.errors import JobBuried, JobCancelled, JobFailed, JobUnfinished, NoResult
from tenure.core.outcome import Failure
from tenure.core.states import State


def no_result(state: State, job: UUID, definition: str, error: Failure | None) -> NoResult:
    """The error for a job that is in this state, and did not succeed."""
    match state:
        case State.FAILED:
            return JobFailed(job, definition, error)
        case State.CANCELLED:
            return JobCancelled(job, definition, "was cancelled")
        case State.BURIED:
            return JobBuried(job, definition, "lost its worker and must not run twice")
        case _:
            return JobUnfinished(job, definition, f"is still {state}")
