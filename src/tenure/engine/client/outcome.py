"""The result of a job, or the error that says why it has none."""

import json
from typing import Any

from tenure.core.model.job import Job
from tenure.core.model.states import State
from tenure.core.reports.results import no_result


def result_of(job: Job) -> Any:
    """What a job's handler returned; without a result, raises the error that fits the job's state."""
    if job.state is State.SUCCEEDED:
        return None if job.result is None else json.loads(job.result)
    raise no_result(job.state, job.id, job.definition, job.error)
