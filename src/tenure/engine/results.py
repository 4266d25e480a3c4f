"""What came of a job."""

import json
from typing import Any

from tenure.core.job import Job
from tenure.core.results import no_result
from tenure.core.states import State


def result_of(job: Job) -> Any:
    """What a job's handler returned; raises, by how the job stands, when there is nothing of the kind."""
    if job.state is State.SUCCEEDED:
        return None if job.result is None else json.loads(job.result)
    raise no_result(job.state, job.id, job.definition, job.error)
