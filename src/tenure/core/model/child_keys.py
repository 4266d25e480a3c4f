"""Idempotency keys of a job's children: a handler that runs again finds the children it made before.

A handler marks what it enqueues; its worker, which knows the parent and counts, makes the key.
"""

from typing import Protocol
from uuid import UUID

from msgspec.structs import force_setattr

from tenure.core.model.job import NewJob

CHILDREN = "(child)"
"""The scope of such keys. No caller can send it: a scope from outside begins like a definition's name."""


class Keyed(Protocol):
    """A job with a key and a parent."""

    @property
    def key(self) -> str | None:
        """Its key."""

    @property
    def parent(self) -> UUID | None:
        """Its parent."""


def marked(job: NewJob) -> NewJob:
    """The job, marked to get a key among its parent's children, unless it has a key of its own."""
    return job if job.key is not None else _with(job, "scope", CHILDREN)


def known_as(job: NewJob, key: str) -> NewJob:
    """The job with a key that its worker made."""
    return _with(job, "key", key)


def child_of(parent: UUID, job: NewJob) -> NewJob:
    """The job as a child of `parent`."""
    return _with(job, "parent", parent)


def _with(job: NewJob, field: str, value: str | UUID) -> NewJob:
    # A thousand children are common: everything else was checked when the job was made.
    other: NewJob = job.__copy__()  # type: ignore[attr-defined]  # as every struct has it
    force_setattr(other, field, value)
    return other


def given_key(job: Keyed) -> str | None:
    """The key that the caller gave; None if a worker made it for a child."""
    made = job.key is not None and job.parent is not None and job.key.startswith(f"{job.parent}/")
    return None if made else job.key
