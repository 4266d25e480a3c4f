"""The address of a receiver: how it may be written, and what can be judged before a name is resolved."""

import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from tenure.core.errors import InvalidInput
from tenure.core.webhooks.reach import FIRST_FREE_PORT, Reach, is_free

LONGEST_URL = 2048
PORTS = {"https": 443, "http": 80}

_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
_LISTED = "list the network in TENURE_WEBHOOK_ALLOW if it is yours, or give another address"
_FORM = "give an address such as https://example.com/hooks"


class Endpoint(NamedTuple):
    """The parts of a receiver's address. `host` has no brackets; `target` is path and query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def is_plain(self) -> bool:
        """Whether it is reached without TLS."""
        return self.scheme == "http"

    @property
    def authority(self) -> str:
        """Host and port as a request names them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def check_url(url: str, allow: Iterable[str] = ()) -> Endpoint:
    """The parts of an address that a webhook may have; raises InvalidInput with the field `url`.

    An address in numbers is judged now; a name by what it resolves to, each time it is connected to.
    """
    endpoint, reach = read_url(url), Reach(allow)
    for text in _addresses(endpoint.host):
        problem = reach.refusal(ip_address(text), endpoint.port, is_plain=endpoint.is_plain)
        if problem is not None:
            named = "" if text == endpoint.host else f"{endpoint.host} leads to a refused address: "
            raise InvalidInput("url", f"{named}{problem}", _LISTED)
    if endpoint.is_plain and not reach.is_widened:
        raise InvalidInput("url", "begins with http://", f"use https://, or {_LISTED}")
    if not is_free(endpoint.port) and not reach.is_widened:
        remedy = f"give 443 or one from {FIRST_FREE_PORT} on, or {_LISTED}"
        raise InvalidInput("url", f"has port {endpoint.port}, which is none of the web", remedy)
    return endpoint


def read_url(url: str) -> Endpoint:
    """The parts of an address; raises InvalidInput if it is none, or one that could be read in two ways."""
    if not url.isascii() or not url.isprintable() or set(url) & set(' "<>\\^`{|}'):
        remedy = "write other letters as %XX, and those of a name as xn--…"
        raise InvalidInput("url", "has characters that no address has", remedy)
    if len(url) > LONGEST_URL:
        raise InvalidInput("url", f"has {len(url)} characters", f"give {LONGEST_URL} at most")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidInput("url", f"is no address: {error}", _FORM) from None
    if parts.scheme not in PORTS:
        raise InvalidInput("url", f"begins with {parts.scheme or url!r:.20}", "give an address with https://")
    if "@" in parts.netloc:
        raise InvalidInput("url", "has a user or a password", "leave it out: the signature proves the sender")
    if parts.fragment or url.endswith("#"):
        raise InvalidInput("url", "has a part behind #", "leave it out: it is never sent")
    if port == 0:
        raise InvalidInput("url", "has port 0", _FORM)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Endpoint(parts.scheme, _host(parts), port or PORTS[parts.scheme], target)


def _host(parts: SplitResult) -> str:
    host = (parts.hostname or "").lower().removesuffix(".")
    if "[" in parts.netloc:
        if "%" in host or not parts.netloc.startswith("["):
            raise InvalidInput("url", "has a host that is none", _FORM)
        return str(ip_address(host))
    if _NUMBER.fullmatch(host):
        try:
            return str(ip_address(host))
        except ValueError:
            remedy = "write it as four decimal numbers, such as 192.0.2.1"
            raise InvalidInput("url", f"has {host!r:.64} for a host: a number", remedy) from None
    if len(host) > 253 or not _NAME.fullmatch(host):
        raise InvalidInput("url", f"has {host!r:.64} for a host", _FORM)
    return host


def _addresses(host: str) -> tuple[str, ...]:
    """What a host is known to mean without asking anybody; empty for other names."""
    if host == "localhost" or host.endswith(".localhost"):
        return ("127.0.0.1",)
    return (host,) if ":" in host or _NUMBER.fullmatch(host) else ()
