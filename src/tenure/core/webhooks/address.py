"""The host of a URL, which may be shown where the whole URL may not."""

from urllib.parse import urlsplit


def host_in(url: str) -> str:
    """The host of a URL; empty if it has none. What follows it may be a secret."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
