"""Job ids: UUIDs of version 7 (RFC 9562), which sort by the time they were made."""

from uuid import UUID, SafeUUID

from tenure.core.errors import InvalidInput

RANDOM_BYTES = 10

_VERSION = 0x7 << 76
_VARIANT = 0b10 << 62


def uuid7(unix_ms: int, random: bytes) -> UUID:
    """The id for a time in milliseconds since 1970 and ten random bytes, of which 74 bits are used."""
    if not 0 <= unix_ms < 1 << 48:
        raise InvalidInput("unix_ms", f"is {unix_ms}", "give milliseconds since 1970, below 2^48")
    if len(random) != RANDOM_BYTES:
        raise InvalidInput("random", f"is {len(random)} bytes", f"give {RANDOM_BYTES}")
    bits = int.from_bytes(random, "big")
    first, rest = bits >> 62 & 0xFFF, bits & (1 << 62) - 1
    return numbered(unix_ms << 80 | _VERSION | first << 64 | _VARIANT | rest)


def numbered(number: int) -> UUID:
    """The UUID of a 128-bit number, without the checks of `UUID()`, which take long."""
    made = object.__new__(UUID)
    object.__setattr__(made, "int", number)
    object.__setattr__(made, "is_safe", SafeUUID.unknown)
    return made
