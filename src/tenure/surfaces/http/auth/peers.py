"""Where a connection comes from: its address, or the one that a trusted proxy reports."""

import ipaddress
from collections.abc import Iterable, Sequence
from functools import lru_cache

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_FORWARDED = b"x-forwarded-for"


@lru_cache(maxsize=1024)
def peer_network(peer: str) -> str:
    """What counts as one peer: an IPv4 address, or an IPv6 /64, which one customer usually has whole."""
    address = _address(peer)
    if address is None or address.version == 4:
        return peer if address is None else str(address)
    return str(ipaddress.ip_network((address.packed[:8] + bytes(8), 64)))


class Proxies:
    """The trusted proxies: each appends the address that a request came from to `X-Forwarded-For`."""

    def __init__(self, networks: Iterable[str] = ()) -> None:
        self._networks = [ipaddress.ip_network(network) for network in networks]

    def include(self, peer: str) -> bool:
        """Whether a peer is a trusted proxy."""
        if not self._networks:
            return False
        address = _address(peer)
        return address is not None and any(address in network for network in self._networks)

    def client(self, headers: Sequence[tuple[bytes, bytes]]) -> str | None:
        """The address of the client behind the proxies; None when the headers do not tell it.

        It is the last address that is not a trusted proxy's: anyone may have written those before it.
        """
        forwarded = b",".join(value for name, value in headers if name == _FORWARDED).decode("latin-1")
        for text in reversed(forwarded.split(",")):
            address = _address(_bare(text.strip()))
            if address is None:
                return None
            if not self.include(str(address)):
                return str(address)
        return None


def _bare(text: str) -> str:
    """An address without the port that some proxies append."""
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
