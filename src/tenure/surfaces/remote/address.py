"""Checks the address of a server and the key for it, before anything is sent."""

import httpx

from tenure.core.errors import InvalidInput
from tenure.core.values import key_text

_REMEDY = "give one such as https://jobs.example.com"


def checked_url(url: str) -> str:
    """The address of a server, without a final slash. Raises InvalidInput, which does not quote it."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        raise InvalidInput("url", "is not a URL", _REMEDY) from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise InvalidInput("url", "is not an http or https address with a host", _REMEDY)
    if parsed.userinfo:
        raise InvalidInput("url", "contains a user name or a password", "give the key as `key`")
    if parsed.query or parsed.fragment:
        raise InvalidInput("url", "contains a query or a fragment", _REMEDY)
    return str(parsed).rstrip("/")


def checked_key(key: str | None) -> str | None:
    """The key, if it is complete. Raises InvalidInput, which does not quote it."""
    if key is not None and key_text.read(str(key)) is None:
        raise InvalidInput("key", "is not a complete key", "give it as `tenure keys create` printed it")
    return key
