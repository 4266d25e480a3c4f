"""The text of an access key: `tnr_<id>_<secret>`, with a checksum at its end.

The secret has 196 random bits. The last six characters are a checksum of all before them, so that a key that
was mistyped, cut short or made up is refused without a look at the store.
"""

import re
import secrets
import string
from hashlib import sha256
from typing import NamedTuple
from zlib import crc32

PREFIX = "tnr_"
PATTERN = re.compile(r"tnr_([0-9A-Za-z]{10})_([0-9A-Za-z]{39})")
"""A key, anywhere in a text."""

_LETTERS = string.digits + string.ascii_letters
_ID, _SECRET, _CHECK = 10, 33, 6


class PresentedKey(NamedTuple):
    """A key that a caller presents: its id and its hash."""

    id: str
    digest: bytes


class Minted(NamedTuple):
    """A new key: its text is for its owner alone, the rest is stored."""

    text: str
    id: str
    digest: bytes


def mint() -> Minted:
    """Make a key."""
    key = _random(_ID)
    secret = _random(_SECRET)
    text = f"{PREFIX}{key}_{secret}{_check(key, secret)}"
    return Minted(text, key, _digest(text))


def read(text: str) -> PresentedKey | None:
    """The key in a text; None if it cannot be one."""
    found = PATTERN.fullmatch(text)
    if not found or _check(found[1], found[2][:-_CHECK]) != found[2][-_CHECK:]:
        return None
    return PresentedKey(found[1], _digest(text))


def _random(length: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(length))


def _digest(text: str) -> bytes:
    return sha256(text.encode()).digest()


def _check(key: str, secret: str) -> str:
    rest = crc32(f"{PREFIX}{key}_{secret}".encode())
    letters = []
    for _ in range(_CHECK):
        rest, place = divmod(rest, len(_LETTERS))
        letters.append(_LETTERS[place])
    return "".join(letters)
