"""What came of a job."""

import json
from typing import Any

from tenure.core.errors import JobBuried, JobCancelled, JobFailed, JobUnfinished
from tenure.core.job import Job
from tenure.core.states import State


def result_of(job: Job) -> Any:
    """What a job's handler returned; raises, by how the job stands, when there is nothing of the kind."""
    match job.state:
        case State.SUCCEEDED:
            return None if job.result is None else json.loads(job.result)
        case State.FAILED:
            raise JobFailed(job.id, job.definition, job.error)
        case State.CANCELLED:
            raise JobCancelled(job.id, job.definition, "was cancelled")
        case State.BURIED:
            raise JobBuried(job.id, job.definition, "lost its worker and must not run twice")
        case _:
            raise JobUnfinished(job.id, job.definition, f"is still {job.state}")
