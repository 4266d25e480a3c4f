"""Which characters text may contain: so that every store accepts it, and so that it prints as one line."""

import re

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
