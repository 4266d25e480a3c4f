"""Request lines: whether they are HTTP/1.x, and which host they name.

A host in the target counts, whatever the header Host says. A proxy that forwards such a request may have
checked either of the two. RFC 9112 lets the target win; if the header won here, a request for another server
could come in under one of this server's names.
"""

import re

from tenure.surfaces.http.app.problems import Refusal

_ABSOLUTE = re.compile(rb"(?i:https?)://([^/?#@]+)/")

Headers = list[tuple[bytes, bytes]]


def check_line(method: bytes, target: bytes, raw: bytes) -> None:
    """Raise Refusal unless the first line of `raw` is one of HTTP/1.x.

    The parser also accepts HTTP/0.9, HTTP/2.0 and RTSP, and does not say which it was.
    """
    if b"%b %b HTTP/1." % (method, target) not in raw:
        raise Refusal("malformed-request", "the request line is not HTTP/1.1 or HTTP/1.0")


def apply_target_host(target: bytes, headers: Headers) -> None:
    """Put the host of an absolute target into the header Host. Raises Refusal for a malformed target."""
    if target.startswith(b"/"):
        return
    if not (found := _ABSOLUTE.match(target)):
        raise Refusal("malformed-request", "the request target is neither a path nor a URL with a host")
    headers[:] = [(name, found[1] if name == b"host" else value) for name, value in headers]
