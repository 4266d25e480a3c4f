"""Cursors: where a list continues, as text that fits only the list it was given for.

A cursor holds a place and a checksum of the place and of the list. It protects nothing: it only detects that
a client mixed up two lists or cut a cursor short. Anyone can make one, so its content is checked like any
other input.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from struct import calcsize, unpack
from uuid import UUID

from tenure.surfaces.http.app.problems import Refusal

_CHECKSUM = 8
_LONGEST = 512


def write(place: bytes, list_id: bytes) -> str:
    """The cursor for a place in a list."""
    return urlsafe_b64encode(place + _checksum(place, list_id)).rstrip(b"=").decode()


def read(text: str, list_id: bytes) -> bytes:
    """The place in the list. Raises Refusal unless the cursor was given for this list."""
    try:
        raw = urlsafe_b64decode(text[:_LONGEST].encode("ascii") + b"=" * (-len(text) % 4))
    except ValueError:
        raw = b""
    place = raw[:-_CHECKSUM]
    # Base64 has more than one spelling of the same bytes: only ours counts.
    if not place or write(place, list_id) != text:
        raise _invalid()
    return place


def read_job(text: str, list_id: bytes) -> UUID:
    """The job after which the list continues. Raises Refusal as `read` does."""
    place = read(text, list_id)
    if len(place) != len(UUID(int=0).bytes):
        raise _invalid()
    return UUID(bytes=place)


def read_numbers(text: str, list_id: bytes, form: str) -> tuple[int, ...]:
    """The numbers after which the list continues, packed as `form` says. Raises Refusal as `read` does."""
    place = read(text, list_id)
    if len(place) != calcsize(form):
        raise _invalid()
    numbers: tuple[int, ...] = unpack(form, place)
    if min(numbers) < 0:
        raise _invalid()
    return numbers


def _invalid() -> Refusal:
    return Refusal(
        "invalid-cursor",
        "send a cursor only with the list and filter that it was given for, or start again without one",
    )


def _checksum(place: bytes, list_id: bytes) -> bytes:
    return blake2b(len(place).to_bytes(2) + place + list_id, digest_size=_CHECKSUM).digest()
