"""Signatures of webhooks, as version 1 of Standard Webhooks has them: secrets, headers, and what is signed.

    webhook-id: msg_...
    webhook-timestamp: 1700000000
    webhook-signature: v1,<base64> v1,<base64>

There is a signature for each secret that is valid: two while a secret is replaced by a new one.
"""

import hmac
import re
import secrets
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from tenure.core.errors import InvalidInput

PREFIX = "whsec_"
ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
"""The names of the headers."""

KEY_LENGTH = (24, 64)
"""How many bytes a secret has: the bounds of the standard."""

MOST_SIGNATURES = 32
"""How many signatures of one message are looked at: what a stranger sends costs a bounded amount of work."""

ANY_TEXT = "surrogatepass"
"""How text of a stranger is encoded: some servers give bytes that are no text as lone surrogates."""

_VERSION = "v1,"
_SECONDS = re.compile(r"[0-9]{1,11}")


class SignedMessage(NamedTuple):
    """What a signature stands for: a message, when it was sent in whole seconds, and its body."""

    id: str
    seconds: int
    body: bytes


def random_secret() -> str:
    """A new secret that nobody can guess."""
    return _written(secrets.token_bytes(32))


def derived_secret(key: str, webhook: UUID, rotation: int) -> str:
    """The secret of a webhook that follows from a key, so that it need not be stored."""
    return _written(_mac(key.encode(), f"tenure webhook {webhook} {rotation}".encode()))


def key_of(secret: str) -> bytes:
    """The bytes of a secret. Raises InvalidInput, which does not show it."""
    try:
        key = b64decode(secret.removeprefix(PREFIX).encode(), validate=True)
    except (Error, ValueError):
        key = b""
    least, most = KEY_LENGTH
    if not least <= len(key) <= most:
        remedy = f"give {PREFIX} and {least} to {most} bytes in base64, as the webhook's creation has told it"
        raise InvalidInput("secret", "is no secret of a webhook", remedy)
    return key


def signed_headers(message: str, at: datetime, body: bytes, secrets_: Iterable[str]) -> dict[str, str]:
    """The headers of a message that is sent now, with a signature for each secret."""
    signed = SignedMessage(message, int(at.timestamp()), body)
    return {
        ID: message,
        TIMESTAMP: str(signed.seconds),
        SIGNATURE: " ".join(signature(signed, key_of(secret)) for secret in secrets_),
    }


def signature(signed: SignedMessage, key: bytes) -> str:
    """The signature of a message with one key."""
    head = f"{signed.id}.{signed.seconds}.".encode(errors=ANY_TEXT)
    return _VERSION + b64encode(_mac(key, head + signed.body)).decode()


def is_signed(signed: SignedMessage, signatures: str, keys: Iterable[bytes]) -> bool:
    """Whether one of the signatures was made with one of the keys. The time it takes does not tell which."""
    given = signatures.split(" ", MOST_SIGNATURES)[:MOST_SIGNATURES]
    expected = [signature(signed, key).encode() for key in keys]
    found = [hmac.compare_digest(own, one.encode(errors=ANY_TEXT)) for own in expected for one in given]
    return any(found)


def seconds_of(text: str) -> int | None:
    """The time in a header; None if it is none."""
    return int(text) if _SECONDS.fullmatch(text) else None


def _mac(key: bytes, said: bytes) -> bytes:
    return hmac.digest(key, said, "sha256")


def _written(key: bytes) -> str:
    return PREFIX + b64encode(key).decode()
