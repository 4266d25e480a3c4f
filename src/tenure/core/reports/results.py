"""The error for a job that has no result, by its state."""

from uuid import UUID

from tenure.core.errors import JobBuried, JobCancelled, JobFailed, JobUnfinished, NoResult
from tenure.core.model.states import State
from tenure.core.values.failure import Failure


def no_result(state: State, job: UUID, definition: str, error: Failure | None) -> NoResult:
    """The error for a job in this state, which did not succeed."""
    match state:
        case State.FAILED:
            return JobFailed(job, definition, error)
        case State.CANCELLED:
            return JobCancelled(job, definition, "was cancelled")
        case State.BURIED:
            return JobBuried(
                job, definition, "was cut off, as its worker was lost or stopped, and must not run twice"
            )
        case _:
            return JobUnfinished(job, definition, f"is still {state}")
