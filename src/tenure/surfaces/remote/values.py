"""What a client hands out: what the server shows of jobs and events, with documents as Python values."""

from typing import Any
from uuid import UUID

from tenure.core.errors import InvalidInput
from tenure.surfaces import inputs, views


class RemoteJob(views.JobDetail, frozen=True, kw_only=True, rename="camel"):
    """All that the server tells of one job; values of secret names are left out of params and result."""

    params: Any
    result: Any


class RemoteEvent(views.EventItem, frozen=True, kw_only=True, rename="camel"):
    """Something that happened to a job.

    `position` is the place behind it: `events(after=position)` goes on there. The definition and the queue of
    the job are told where the events of all jobs are followed.
    """

    payload: Any
    namespace: str | None = None
    definition_key: str | None = None
    definition_version: int | None = None
    queue: str | None = None
    position: str = ""


JobId = UUID | str | views.Accepted | views.JobItem
"""What names a job: its id, or anything that was answered about it."""


def id_of(job: JobId) -> UUID:
    """The id of a job. Raises InvalidInput for what can be none."""
    match job:
        case UUID():
            return job
        case str():
            return inputs.job_id(job)
        case views.Accepted() | views.JobItem():
            return job.job_id
        case _:
            raise InvalidInput(
                "job", f"is a {type(job).__name__}", "give the id of a job, or what create gave"
            )
