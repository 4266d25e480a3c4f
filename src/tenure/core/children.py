"""The keys by which a job's children are known: a handler that is run again finds those it has made.

A handler marks what it enqueues; its worker, which knows the parent and counts, makes the key.
"""

from typing import Protocol
from uuid import UUID

from msgspec.structs import force_setattr

from tenure.core.job import NewJob

CHILDREN = "(child)"
"""The scope of such keys. Nobody can send it: what comes from outside begins as a definition's name does."""


class Keyed(Protocol):
    """A job of which a key and a parent are known."""

    @property
    def key(self) -> str | None:
        """Its key."""

    @property
    def parent(self) -> UUID | None:
        """Its parent."""


def marked(job: NewJob) -> NewJob:
    """The job as one that is to be known among its parent's children, unless it has a key of its own."""
    return job if job.key is not None else _with(job, "scope", CHILDREN)


def known_as(job: NewJob, key: str) -> NewJob:
    """The job with a key of our making."""
    return _with(job, "key", key)


def child_of(parent: UUID, job: NewJob) -> NewJob:
    """The job as a child of another one."""
    return _with(job, "parent", parent)


def _with(job: NewJob, field: str, value: str | UUID) -> NewJob:
    # A thousand children are common: all but this was checked when the job was made.
    other: NewJob = job.__copy__()  # type: ignore[attr-defined]  # as every struct has it
    force_setattr(other, field, value)
    return other


def given_key(job: Keyed) -> str | None:
    """The key that whoever asked for a job has given it; none where it was made for a child."""
    made = job.key is not None and job.parent is not None and job.key.startswith(f"{job.parent}/")
    return None if made else job.key
