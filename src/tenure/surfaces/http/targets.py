"""Requests that name their host in the address: it counts there, whatever the header says.

A proxy that forwards such a request may have looked at either of the two. RFC 9112 has the address win; were
it the header here, a request for another server could come in under one of this server's names.
"""

import re

from tenure.surfaces.http.problems import Refusal

_ABSOLUTE = re.compile(rb"(?i:https?)://([^/?#@]+)/")

Headers = list[tuple[bytes, bytes]]


def take_host(target: bytes, headers: Headers) -> None:
    """Let the host of a whole address stand where the header has another. Raises Refusal for no address."""
    if target.startswith(b"/"):
        return
    if not (found := _ABSOLUTE.match(target)):
        raise Refusal("malformed-request", "the address is neither a path nor a whole one with a host")
    headers[:] = [(name, found[1] if name == b"host" else value) for name, value in headers]
