"""By which names a server is called, and which of them lead to this machine alone."""

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names by which a server on loopback is called."""


def is_loopback(address: str) -> bool:
    """Whether an address is reached from this machine alone."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def is_local(headers: Mapping[str, str]) -> bool:
    """Whether a request was made by a name of loopback."""
    name = _parts(headers.get("host", ""))[0]
    return name is not None and (name in LOOPBACK or is_loopback(name))


def host_name(host: str) -> str | None:
    """The name, in lower case and without a port, in what a request says of its host; None without one."""
    return _parts(host)[0]


def port_of(host: str) -> int | None:
    """The port in what a request says of its host."""
    return _parts(host)[1]


def _parts(host: str) -> tuple[str | None, int | None]:
    try:
        parts = urlsplit(f"//{host}")
        is_bare = parts.netloc == host and "@" not in host  # else it names somebody, or a path, as well
        return (parts.hostname, parts.port) if is_bare else (None, None)
    except ValueError:
        return None, None
