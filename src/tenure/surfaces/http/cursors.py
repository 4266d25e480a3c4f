"""Where a list goes on, as text that fits only the list it was given for.

A cursor holds a place and a few bytes that come of the place and of what was asked. It protects nothing: it
tells a client that mixed up two lists, or cut a cursor short, that it did. So what it holds is looked at like
anything else that was sent: whoever wants to can make one.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from struct import calcsize, unpack
from uuid import UUID

from tenure.surfaces.http.problems import Refusal

_SIGN = 8
_LONGEST = 512


def write(place: bytes, asked: bytes) -> str:
    """The cursor for a place in the list that was asked for."""
    return urlsafe_b64encode(place + _sign(place, asked)).rstrip(b"=").decode()


def read(text: str, asked: bytes) -> bytes:
    """The place in the list. Raises Refusal unless the cursor was given for what is asked."""
    try:
        raw = urlsafe_b64decode(text[:_LONGEST].encode("ascii") + b"=" * (-len(text) % 4))
    except ValueError:
        raw = b""
    place = raw[:-_SIGN]
    # Written again it must be the same, to the letter: there is more than one spelling of the same bytes.
    if not place or write(place, asked) != text:
        raise _invalid()
    return place


def read_job(text: str, asked: bytes) -> UUID:
    """The job behind which the list goes on. Raises Refusal as `read` does."""
    place = read(text, asked)
    if len(place) != len(UUID(int=0).bytes):
        raise _invalid()
    return UUID(bytes=place)


def read_numbers(text: str, asked: bytes, form: str) -> tuple[int, ...]:
    """The numbers behind which the list goes on, packed as `form` says. Raises Refusal as `read` does."""
    place = read(text, asked)
    if len(place) != calcsize(form):
        raise _invalid()
    numbers: tuple[int, ...] = unpack(form, place)
    if min(numbers) < 0:
        raise _invalid()
    return numbers


def _invalid() -> Refusal:
    return Refusal("invalid-cursor", "begin again without a cursor, or with the list it was given for")


def _sign(place: bytes, asked: bytes) -> bytes:
    return blake2b(len(place).to_bytes(2) + place + asked, digest_size=_SIGN).digest()
