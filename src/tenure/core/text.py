"""Which characters text may hold so that every store takes it and gives it back."""

import re

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""NUL and lone surrogates."""


def storable(text: str) -> str:
    """The text with every character that no store takes replaced by U+FFFD."""
    return UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)
