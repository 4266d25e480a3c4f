"""Formats times, sizes and documents for pages."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from msgspec import Raw, Struct

from tenure.api.redaction import Redaction
from tenure.core.values.documents import Document

LONGEST_PREVIEW = 16_384
"""Characters of a document that a page shows; the rest is a click away."""

LONGEST_COLOURED = 4_096
"""Characters of a document whose tokens are told apart by colour."""

LONGEST_LINE = 4_000
"""Characters of a log line, or of an event's payload, that a page shows."""

# Control characters, marks that change the direction of text, and surrogates, which no page can contain.
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_TOKEN = re.compile(
    r'(?P<k>"(?:[^"\\]|\\.)*":)|(?P<s>"(?:[^"\\]|\\.)*")|(?P<n>-?\b[0-9][0-9.eE+-]*|\btrue\b|\bfalse\b|\bnull\b)'
)
_AGES = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_SIZES = ("B", "KiB", "MiB", "GiB", "TiB")


class Preview(Struct, frozen=True):
    """A document as a page shows it; `is_cut` if that is not all of it."""

    text: str
    size: int
    is_cut: bool


def age(seconds: float) -> str:
    """A duration in its largest unit, rounded down. The script of the pages does the same."""
    unit, name = next((known for known in _AGES if seconds >= known[0]), (1, "s"))
    return f"{int(seconds // unit)} {name}"


def ago(at: datetime) -> str:
    """How long ago, or how far ahead. For display only: no decision depends on this clock."""
    seconds = (datetime.now(UTC) - at).total_seconds()
    return f"in {age(-seconds)}" if seconds < 0 else f"{age(seconds)} ago"


def since(at: datetime) -> str:
    """How long ago, without saying that it is ago."""
    return age(max((datetime.now(UTC) - at).total_seconds(), 0))


def running_for(at: datetime) -> str:
    """How long it has lasted, in one or two units."""
    return span(max((datetime.now(UTC) - at).total_seconds(), 0))


def percent(share: float, digits: int = 0) -> str:
    """A part of a whole."""
    return f"{100 * share:.{digits}f} %"


def took(seconds: float) -> str:
    """A duration with two digits, or in minutes and more."""
    if seconds >= 60:
        return age(seconds)
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def moment(at: datetime, period: str) -> str:
    """When a part of a period began; of a week with its day."""
    return at.astimezone(UTC).strftime("%a %H:%M" if period == "week" else "%H:%M")


def exact(at: datetime) -> str:
    """A time to the millisecond, in UTC."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + " UTC"


def second(at: datetime) -> str:
    """A time to the second, in UTC."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def short(at: datetime) -> str:
    """A time to the second; with its day unless that is today, both in UTC."""
    there = at.astimezone(UTC)
    is_today = there.date() == datetime.now(UTC).date()
    return there.strftime("%H:%M:%S" if is_today else "%a %-d %b %H:%M:%S")


def minute(at: datetime) -> str:
    """The hour and minute, in UTC."""
    return at.astimezone(UTC).strftime("%H:%M")


def about(count: int) -> str:
    """A number; a large one in millions, with its first digits."""
    for unit, name in ((10**9, "G"), (10**6, "M")):
        if count >= unit:
            return f"{int(count / unit * 10) / 10:g} {name}"
    return f"{count:,}"


def clock(at: datetime) -> str:
    """The time of day, in UTC."""
    return at.astimezone(UTC).strftime("%H:%M:%S.%f")[:-3]


def span(length: timedelta | float | None) -> str:
    """A duration in one or two units."""
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
    """A number with so many significant digits; a large one with all digits before the point."""
    return f"{number:,.0f}" if number >= 10**digits - 0.5 else f"{number:.{digits}g}"


def size(count: int) -> str:
    """A number of bytes, in a unit that keeps it short."""
    value, unit = float(count), 0
    while value >= 1024 and unit < len(_SIZES) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.0f} {_SIZES[unit]}" if value >= 100 or not unit else f"{value:.1f} {_SIZES[unit]}"


def preview(document: Document, redaction: Redaction) -> Preview:
    """A redacted document, indented, and cut to what a page shows."""
    shown = redaction.document(document)
    # A long one is not indented first: it would be cut anyway.
    text = _indented(shown) if len(shown) <= LONGEST_PREVIEW else shown
    return Preview(text[:LONGEST_PREVIEW], len(document.encode()), len(text) > LONGEST_PREVIEW)


def spelled_out(value: Any) -> Any:
    """The text with invisible control characters written as escapes.

    Every text on a page goes through this, so that an error text cannot disguise itself as another.
    """
    # Not for subclasses of str: Markup was made of texts that went through this before.
    return _UNSEEN.sub(_as_escape, value) if type(value) is str else value


def typed(text: str) -> Any:
    """A text in a field, as it was typed: written with escapes, it would come back as another text."""
    from markupsafe import escape

    return escape(text)


def one_line(text: str) -> str:
    """A text on one line, cut if it is long."""
    shown = _UNSEEN.sub(_as_escape, text[:LONGEST_LINE]).replace("\n", "\\n")
    return shown + "…" if len(text) > LONGEST_LINE else shown


def raw(document: Raw) -> str:
    """A document on one line."""
    return one_line(bytes(document).decode())


def as_json(value: Any) -> str:
    """A value as JSON, for the script of the pages."""
    return msgspec.json.encode(value).decode()


def json_tokens(text: str) -> list[tuple[str, str]]:
    """The tokens of a document: names `k`, texts `s`, numbers and words `n`; a long one stays whole."""
    if len(text) > LONGEST_COLOURED:
        return [("", text)]
    parts = []
    at = 0
    for found in _TOKEN.finditer(text):
        parts.append(("", text[at : found.start()]))
        parts.append((found.lastgroup or "", found[0]))
        at = found.end()
    return [part for part in (*parts, ("", text[at:])) if part[1]]


def _as_escape(found: re.Match[str]) -> str:
    return repr(found[0])[1:-1]


def _indented(document: Document) -> str:
    return json.dumps(json.loads(document), indent=2, ensure_ascii=False)


FILTERS: Mapping[str, Callable[..., Any]] = {
    "ago": ago,
    "clock": clock,
    "exact": exact,
    "second": second,
    "short": short,
    "since": since,
    "running_for": running_for,
    "percent": percent,
    "took": took,
    "moment": moment,
    "minute": minute,
    "about": about,
    "span": span,
    "figure": figure,
    "size": size,
    "number": lambda count: f"{count:,}",
    "one_line": one_line,
    "typed": typed,
    "raw": raw,
    "tokens": json_tokens,
    "as_json": as_json,
}
"""The filters of templates, by name."""
