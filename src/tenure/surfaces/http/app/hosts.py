"""Host names: how a request names its server, and which names mean this machine alone."""

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names of a server on loopback."""


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def is_local(headers: Mapping[str, str]) -> bool:
    """Whether a request names a loopback host."""
    name = _parts(headers.get("host", ""))[0]
    return name is not None and (name in LOOPBACK or is_loopback(name))


def host_name(host: str) -> str | None:
    """The name in a Host header, in lower case and without the port; None without one."""
    return _parts(host)[0]


def port_of(host: str) -> int | None:
    """The port in a Host header."""
    return _parts(host)[1]


def _parts(host: str) -> tuple[str | None, int | None]:
    try:
        parts = urlsplit(f"//{host}")
        is_bare = parts.netloc == host and "@" not in host  # no user, no path
        return (parts.hostname, parts.port) if is_bare else (None, None)
    except ValueError:
        return None, None
