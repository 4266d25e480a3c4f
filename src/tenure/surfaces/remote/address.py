"""Where a server is and by which key it is asked, checked before anything is sent."""

import httpx

from tenure.core import key_text
from tenure.core.errors import InvalidInput

_REMEDY = "give one such as https://jobs.example.com"


def checked_url(url: str) -> str:
    """The address of a server, without a slash at its end. Raises InvalidInput, which repeats none of it."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        raise InvalidInput("url", "is not an address", _REMEDY) from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise InvalidInput("url", "is no address of http or https", _REMEDY)
    if parsed.userinfo:
        raise InvalidInput("url", "holds a user or a password", "give the key as `key`")
    if parsed.query or parsed.fragment:
        raise InvalidInput("url", "holds more than host, port and path", _REMEDY)
    return str(parsed).rstrip("/")


def checked_key(key: str | None) -> str | None:
    """A key as it was handed out. Raises InvalidInput, which repeats none of it."""
    if key is not None and key_text.read(str(key)) is None:
        raise InvalidInput(
            "key", "is not one, or not a whole one", "give it as `tenure keys create` showed it"
        )
    return key
