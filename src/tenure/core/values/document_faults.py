"""What can be wrong with a JSON document: the limits, the stable codes, and a message for each."""

from tenure.core.errors import InvalidJson
from tenure.core.values.leaves import AN_AWARE_ONE

LARGEST_DOCUMENT = 262_144
DEEPEST = 64
MOST_KEYS = 10_000
MOST_DIGITS = 308  # every integer of that many digits is within the range of a 64-bit float

_LONGEST_ECHO = 64

_ACCEPTED = (
    "dict (its keys str), list, tuple, str, int, float, bool, None, enum, datetime, date, time, timedelta, "
    "UUID, Decimal, dataclass, attrs, pydantic or msgspec.Struct"
)
_MESSAGES = {
    "malformed-json": ("is not JSON", "send one JSON value in UTF-8"),
    "duplicate-key": ("appears more than once in its object", "send each key once"),
    "too-deep": (f"is nested more than {DEEPEST} levels deep", "send a flatter document"),
    "too-many-keys": (f"is an object of more than {MOST_KEYS:,} keys", "send a list, or several documents"),
    "number-range": ("is NaN, infinite or beyond what a 64-bit float holds", "send it as a string"),
    "invalid-character": ("holds a NUL or a lone surrogate", "leave the character out, or encode the text"),
    "too-large": ("is too large", "keep large data elsewhere and pass a reference to it"),
    "no-time-zone": ("is a datetime without a time zone", AN_AWARE_ONE),
    "not-json": ("has no form in JSON", f"use {_ACCEPTED}"),
}


class DocumentFault(Exception):
    """One thing that is wrong with a document; `path` collects the way to it from the inside out."""

    def __init__(self, code: str, *path: str | int, detail: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail
        self.path: list[str | int] = list(path)

    def as_error(self) -> InvalidJson:
        """The fault as an error for the sender of the document."""
        problem, remedy = _MESSAGES[self.code]
        detail = f" ({self.detail})" if self.detail else ""
        return InvalidJson(self.code, _pointer(self.path), problem + detail, remedy)


def _pointer(path: list[str | int]) -> str:
    """The JSON pointer, cut short where it would echo too much of what was sent."""
    escaped = (str(place).replace("~", "~0").replace("/", "~1") for place in reversed(path))
    pointer = "".join(f"/{place}" for place in escaped)
    if len(pointer) > _LONGEST_ECHO:
        pointer = pointer[: _LONGEST_ECHO - 1] + "…"
    return pointer.encode(errors="replace").decode().replace("\x00", "?")
