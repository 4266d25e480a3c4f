"""The text of a session, which only its browser has: 256 random bits; the store keeps their hash."""

import re
import secrets
from hashlib import sha256

_TEXT = re.compile(r"[A-Za-z0-9_-]{43}")


def mint() -> str:
    """Make a session's text."""
    return secrets.token_urlsafe(32)


def is_session(text: str) -> bool:
    """Whether a text can be a session's."""
    return _TEXT.fullmatch(text) is not None


def digest(text: str) -> bytes:
    """The hash that the store keeps."""
    return sha256(text.encode()).digest()
