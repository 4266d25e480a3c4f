"""Addresses of databases: the default one, and how to show one without its password."""

import re

DEFAULT = "sqlite:///tenure.db"
"""The database that is used unless another one is named."""

_USER_INFO = re.compile(r"^((?:[\w+.-]*://)?+[^:@]*:).*@", re.DOTALL)
# Each letter of the name may be percent-encoded: the driver decodes it.
_NAME = "".join(f"(?:{one}|%{ord(one):02x}|%{ord(one.upper()):02x})" for one in "password")
_PARAMETER = re.compile(rf"({_NAME}=)[^&\s]*", re.IGNORECASE)
_WITHIN = re.compile(r"(\w://[^\s:@/]*:)(\S*)")


def masked(url: str) -> str:
    """The address with every password in it replaced by `***`; in doubt it hides too much."""
    return _PARAMETER.sub(r"\1***", _USER_INFO.sub(r"\1***@", url))


def masked_argument(argument: str) -> str:
    """An argument of a command, its value masked; hides rather too much, since nothing reads it."""
    option, equals, value = argument.partition("=") if argument.startswith("--") else ("", "", argument)
    return f"{option}{equals}{masked(value)}"


def masked_in(text: str) -> str:
    """A text with the passwords of all addresses in it replaced in the same way."""
    return _PARAMETER.sub(r"\1***", users_masked_in(text))


def users_masked_in(text: str) -> str:
    """A text with the passwords before a host replaced, and those in parameters left."""
    return _WITHIN.sub(_without_password, text)


def _without_password(found: re.Match[str]) -> str:
    # Each word is scanned once: a long text must not take time quadratic in its length.
    _, at, host = found[2].rpartition("@")
    return f"{found[1]}***@{host}" if at else found[0]
