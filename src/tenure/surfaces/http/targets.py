"""Request lines: that they are those of HTTP/1.x, and which host they name.

A host in the address counts, whatever the header says.

A proxy that forwards such a request may have looked at either of the two. RFC 9112 has the address win; were
it the header here, a request for another server could come in under one of this server's names.
"""

import re

from tenure.surfaces.http.problems import Refusal

_ABSOLUTE = re.compile(rb"(?i:https?)://([^/?#@]+)/")

Headers = list[tuple[bytes, bytes]]


def check_line(method: bytes, target: bytes, raw: bytes) -> None:
    """Raise Refusal unless a request of which `raw` holds the first line is one of HTTP/1.x.

    The parser takes HTTP/0.9, HTTP/2.0 and RTSP as well, and does not tell which it was.
    """
    if b"%b %b HTTP/1." % (method, target) not in raw:
        raise Refusal("malformed-request", "the first line is not that of HTTP/1.1 or HTTP/1.0")


def take_host(target: bytes, headers: Headers) -> None:
    """Let the host of a whole address stand where the header has another. Raises Refusal for no address."""
    if target.startswith(b"/"):
        return
    if not (found := _ABSOLUTE.match(target)):
        raise Refusal("malformed-request", "the address is neither a path nor a whole one with a host")
    headers[:] = [(name, found[1] if name == b"host" else value) for name, value in headers]
