"""The body of a message: the id of a job, and of the store that has it."""

from uuid import UUID

import msgspec
from msgspec import Struct


class JobMessage(Struct, frozen=True, rename="camel"):
    """A message that names a job. Workers of another store leave it alone."""

    job_id: UUID
    store: UUID


_decode = msgspec.json.Decoder(JobMessage).decode


def written(job: UUID, store: UUID) -> bytes:
    """The body of a message, as JSON."""
    return msgspec.json.encode(JobMessage(job, store))


def read(body: bytes) -> JobMessage | None:
    """What a message says; None if it is none of ours. Fields that are not known are passed over."""
    try:
        return _decode(body)
    except msgspec.MsgspecError:
        return None
    except UnicodeDecodeError:
        return None
