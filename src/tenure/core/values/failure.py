"""What went wrong in an attempt, as data; a leaf module, since errors and outcomes both carry it."""

from msgspec import Struct

from tenure.core.values.plain_fields import PlainFields

MOST_EXCERPTS = 8
MOST_EXCERPT_LINES = 5
LONGEST_EXCERPT_LINE = 200
LONGEST_EXCERPT_FILE = 500


class Excerpt(PlainFields, Struct, frozen=True):
    """The source around a frame of a traceback: its file and line, and the lines from number `first` on."""

    file: str
    line: int
    first: int
    text: tuple[str, ...]


class Failure(PlainFields, Struct, frozen=True, omit_defaults=True):
    """What went wrong in an attempt. `source` has the lines around the frames of the user's own code."""

    kind: str
    message: str
    traceback: str | None = None
    source: tuple[Excerpt, ...] = ()
