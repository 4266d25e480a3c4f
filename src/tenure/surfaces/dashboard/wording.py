"""How times, sizes and documents are written on pages."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from msgspec import Raw, Struct

from tenure.core.documents import Document
from tenure.surfaces.redaction import Redaction

LONGEST_PREVIEW = 16_384
"""Characters of a document that a page shows; the rest is a click away."""

LONGEST_LINE = 4_000
"""Characters of a log line, or of what an event says, that a page shows."""

# Escape sequences, marks that turn the direction of what follows, and half characters that no page can hold.
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_AGES = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_SIZES = ("B", "KiB", "MiB", "GiB", "TiB")


class Preview(Struct, frozen=True):
    """A document for the eye; `is_cut` says that there is more of it than is shown."""

    text: str
    size: int
    is_cut: bool


def age(seconds: float) -> str:
    """A length of time in its largest unit, rounded down. The script of the pages writes it alike."""
    unit, name = next((known for known in _AGES if seconds >= known[0]), (1, "s"))
    return f"{int(seconds // unit)} {name}"


def ago(at: datetime) -> str:
    """How long ago, or how far ahead. For the eye alone: nothing is decided by this clock."""
    seconds = (datetime.now(UTC) - at).total_seconds()
    return f"in {age(-seconds)}" if seconds < 0 else f"{age(seconds)} ago"


def exact(at: datetime) -> str:
    """A moment to the millisecond, in UTC."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + " UTC"


def clock(at: datetime) -> str:
    """The time of day of a moment, in UTC."""
    return at.astimezone(UTC).strftime("%H:%M:%S.%f")[:-3]


def span(length: timedelta | float | None) -> str:
    """A length of time, with as much of it as says something."""
    if length is None:
        return ""
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{int(seconds * 10) / 10:g} s"
    place = next(place for place, (unit, _) in enumerate(_AGES) if seconds >= unit)
    (large, name), (small, part) = _AGES[place], _AGES[place + 1]
    rest = int(seconds % large // small)
    return f"{int(seconds // large)} {name} {rest} {part}" if rest else f"{int(seconds // large)} {name}"


def figure(number: float, digits: int = 2) -> str:
    """A number with so many digits that count; of a large one, all before the point."""
    return f"{number:,.0f}" if number >= 10**digits - 0.5 else f"{number:.{digits}g}"


def size(count: int) -> str:
    """So many bytes, in a unit that keeps the number short."""
    value, unit = float(count), 0
    while value >= 1024 and unit < len(_SIZES) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.0f} {_SIZES[unit]}" if value >= 100 or not unit else f"{value:.1f} {_SIZES[unit]}"


def preview(document: Document, redaction: Redaction) -> Preview:
    """A document without its secrets, laid out for reading, as much of it as a page can hold."""
    shown = redaction.document(document)
    # One that is long is not laid out first: that would make it longer, for nothing.
    text = _laid_out(shown) if len(shown) <= LONGEST_PREVIEW else shown
    return Preview(text[:LONGEST_PREVIEW], len(document.encode()), len(text) > LONGEST_PREVIEW)


def spelled_out(value: Any) -> Any:
    """A text that looks like no more than it is: what nobody would see, but for its effect, is spelled out.

    Every text on a page goes through this, so that an error cannot pass for another by turning itself around.
    """
    # Of text in a narrower sense: what is markup was made of texts that went through this before.
    return _UNSEEN.sub(_as_code, value) if type(value) is str else value


def one_line(text: str) -> str:
    """A text that makes no line of its own."""
    shown = _UNSEEN.sub(_as_code, text[:LONGEST_LINE]).replace("\n", "\\n")
    return shown + "…" if len(text) > LONGEST_LINE else shown


def raw(document: Raw) -> str:
    """A document on one line."""
    return one_line(bytes(document).decode())


def as_json(value: Any) -> str:
    """A value for the script of the pages to read."""
    return msgspec.json.encode(value).decode()


def _as_code(found: re.Match[str]) -> str:
    return repr(found[0])[1:-1]


def _laid_out(document: Document) -> str:
    return json.dumps(json.loads(document), indent=2, ensure_ascii=False)


FILTERS: Mapping[str, Callable[..., Any]] = {
    "ago": ago,
    "clock": clock,
    "exact": exact,
    "span": span,
    "figure": figure,
    "size": size,
    "number": lambda count: f"{count:,}",
    "one_line": one_line,
    "raw": raw,
    "as_json": as_json,
}
"""By their names in templates."""
