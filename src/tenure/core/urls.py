"""Addresses of databases: the one that nobody need name, and what may be shown of any."""

import re

DEFAULT = "sqlite:///tenure.db"
"""Where jobs are when nobody says otherwise."""

_USER_INFO = re.compile(r"^((?:[\w+.-]*://)?+[^:@]*:).*@", re.DOTALL)
_PARAMETER = re.compile(r"(password=)[^&\s]*", re.IGNORECASE)
_WITHIN = re.compile(r"(\w://[^\s:@/]*:)(\S*)")


def masked(url: str) -> str:
    """The address with every password in it replaced by `***`; hides rather too much than too little."""
    return _PARAMETER.sub(r"\1***", _USER_INFO.sub(r"\1***@", url))


def masked_in(text: str) -> str:
    """A text with the passwords of all addresses in it replaced in the same way."""
    return _PARAMETER.sub(r"\1***", users_masked_in(text))


def users_masked_in(text: str) -> str:
    """A text with the passwords that stand before a host replaced, and those in parameters left."""
    return _WITHIN.sub(_without_password, text)


def _without_password(found: re.Match[str]) -> str:
    # A word is looked at once, to its end: a long text must not take time by the square of its length.
    _, at, host = found[2].rpartition("@")
    return f"{found[1]}***@{host}" if at else found[0]
