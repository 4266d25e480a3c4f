"""Text that every store accepts, text that prints as one line, and lengths of time in words."""

import re
from datetime import timedelta

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""NUL and lone surrogates."""


def storable(text: str) -> str:
    """The text with every character that no store accepts replaced by U+FFFD."""
    return UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def plain(text: str) -> str:
    """The text on one line, with an escape for each character that cannot be printed."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape", "surrogatepass").decode() for one in text
    )


def length_text(length: timedelta) -> str:
    """A length of time to the microsecond, such as "1 day 2 h" or "0.5 s"."""
    if length < timedelta():
        return f"-{length_text(-length)}"
    hours, rest = divmod(length.seconds, 3_600)
    minutes, seconds = divmod(rest, 60)
    parts = [
        f"{length.days:,} day{'s' * (length.days > 1)}" if length.days else "",
        f"{hours} h" if hours else "",
        f"{minutes} min" if minutes else "",
        f"{seconds + length.microseconds / 1e6:.6f}".rstrip("0").rstrip(".") + " s",
    ]
    return " ".join(part for part in parts if part and part != "0 s") or "0 s"
