"""The values that clients return: jobs and events of the server, with documents as Python values."""

from typing import Any
from uuid import UUID

from tenure.api import inputs, views
from tenure.api.durable_shapes import StepItem
from tenure.core.errors import InvalidInput


class RemoteJob(views.JobDetail, frozen=True, kw_only=True, rename="camel"):
    """One job in full; the server hides the values of secret names in params and result."""

    params: Any
    result: Any


class RemoteEvent(views.EventItem, frozen=True, kw_only=True, rename="camel"):
    """Something that happened to a job.

    `events(after=position)` goes on behind this event. Only events of all jobs have the namespace, definition
    and queue of their job.
    """

    payload: Any
    namespace: str | None = None
    definition_key: str | None = None
    definition_version: int | None = None
    queue: str | None = None
    position: str = ""


class RemoteStep(StepItem, frozen=True, kw_only=True, rename="camel"):
    """A step that a job has kept; the server hides the values of secret names in its result."""

    result: Any


JobId = UUID | str | views.Accepted | views.JobItem
"""What identifies a job: its id, or any value that a client returned for it."""


def id_of(job: JobId) -> UUID:
    """The id of a job. Raises InvalidInput if there is none."""
    match job:
        case UUID():
            return job
        case str():
            return inputs.job_id(job)
        case views.Accepted() | views.JobItem():
            return job.job_id
        case _:
            raise InvalidInput(
                "job", f"is a {type(job).__name__}", "give the id of a job, or what create() returned"
            )
