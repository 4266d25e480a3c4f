"""Which addresses webhooks may reach: the public internet, and what the operator lists beyond it.

Python's own `is_global` is not enough: it calls 64:ff9b::7f00:1, 2002:7f00:1:: and fec0::1 global, which lead
to this machine or its network, and what it knows differs from one Python to the next.
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

Address = IPv4Address | IPv6Address

WEB_PORTS = (80, 443)
FIRST_FREE_PORT = 1024
"""Below it stand services of the system, such as mail: they are reached only where they are listed."""

_NAT64 = IPv6Network("64:ff9b::/96")
_NOT_PUBLIC = tuple(
    ip_network(text)
    for text in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        *("::/8", "64:ff9b::/32", "100::/8", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
        *("5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"),
    )
)
"""What the registries of special addresses list, whatever this Python knows of them."""

_ONLY_EXACTLY = tuple(
    ip_network(text)
    for text in (
        *("169.254.0.0/16", "fe80::/10"),
        *(
            "168.63.129.16/32",
            "100.100.100.200/32",
            "192.0.0.192/32",
            "fd00:ec2::254/128",
            "fd20:ce::254/128",
        ),
    )
)
"""Link-local addresses, and those at which clouds hand out credentials to whoever asks from the inside."""


class Reach:
    """What webhooks may reach: the public internet by https, and the networks that are listed."""

    def __init__(self, allow: Iterable[str] = ()) -> None:
        self._allow = tuple(ip_network(text) for text in allow)

    @property
    def is_widened(self) -> bool:
        """Whether anything is listed at all."""
        return bool(self._allow)

    def refusal(self, address: Address, port: int, *, is_plain: bool) -> str | None:
        """Why a connection to an address may not be made; None if it may. `is_plain` is one without TLS."""
        inner = unwrapped(address)
        if self._lists(inner):
            return None
        shown = str(address) if inner == address else f"{address}, which is {inner},"
        if not is_public(inner):
            is_within = any(_holds(network, inner) for network in self._allow)
            alone = f", and only an entry of its own allows it: {inner}" if is_within else ""
            return f"{shown} is not on the public internet{alone}"
        if is_plain:
            return f"{shown} is reached by https alone"
        if not is_free(port):
            return f"port {port} of {shown} is none of the web"
        return None

    def _lists(self, address: Address) -> bool:
        needs_own_entry = any(_holds(network, address) for network in _ONLY_EXACTLY)
        return any(
            _holds(network, address) and (network.num_addresses == 1 or not needs_own_entry)
            for network in self._allow
        )


def is_free(port: int) -> bool:
    """Whether a port may be reached without being listed."""
    return port in WEB_PORTS or port >= FIRST_FREE_PORT


def unwrapped(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, if it does: mapped, by NAT64 or by 6to4."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address


def is_public(address: Address) -> bool:
    """Whether an unwrapped address belongs to the public internet."""
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    return not any(_holds(network, address) for network in (*_NOT_PUBLIC, *_ONLY_EXACTLY))


def _holds(network: IPv4Network | IPv6Network, address: Address) -> bool:
    return address.version == network.version and address in network
