"""Whom a connection comes from: an address, or what a proxy that is trusted says of it."""

import ipaddress
from collections.abc import Iterable, Sequence
from functools import lru_cache

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_FORWARDED = b"x-forwarded-for"


@lru_cache(maxsize=1024)
def neighbourhood(peer: str) -> str:
    """Whom addresses are taken to belong to: of IPv6 somebody has a whole network."""
    address = _address(peer)
    if address is None or address.version == 4:
        return peer if address is None else str(address)
    return str(ipaddress.ip_network((address.packed[:8] + bytes(8), 64)))


class Proxies:
    """The proxies that are trusted: each adds to a request the address from which that came to it."""

    def __init__(self, networks: Iterable[str] = ()) -> None:
        self._networks = [ipaddress.ip_network(network) for network in networks]

    def hold(self, peer: str) -> bool:
        """Whether this is one of them."""
        if not self._networks:
            return False
        address = _address(peer)
        return address is not None and any(address in network for network in self._networks)

    def client(self, headers: Sequence[tuple[bytes, bytes]]) -> str | None:
        """Who has sent a request that came by them; None where that cannot be told.

        The last address that is none of theirs: what stands before it was written by who knows whom.
        """
        told = b",".join(value for name, value in headers if name == _FORWARDED).decode("latin-1")
        for text in reversed(told.split(",")):
            address = _address(_bare(text.strip()))
            if address is None:
                return None
            if not self.hold(str(address)):
                return str(address)
        return None


def _bare(text: str) -> str:
    """An address without the port that some proxies write behind it."""
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text


def _address(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if address.version == 6 else None
    return mapped or address
