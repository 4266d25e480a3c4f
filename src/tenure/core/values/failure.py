"""What went wrong in an attempt, as data; a leaf module, since errors and outcomes both carry it."""

from msgspec import Struct

from tenure.core.values.plain_fields import PlainFields


class Failure(PlainFields, Struct, frozen=True, omit_defaults=True):
    """What went wrong in an attempt."""

    kind: str
    message: str
    traceback: str | None = None
