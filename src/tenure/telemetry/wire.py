"""Spans as OTLP writes them: messages of Protocol Buffers, by hand.

A span is a few hundred bytes, and most of them are the same in every span of a definition: its frame. Who has
many spans to tell of keeps their frames, and adds what is each one's own. OpenTelemetry's SDK makes dozens of
objects for a span, which takes as long as a small attempt does. The numbers are those of
`opentelemetry/proto/trace/v1/trace.proto`.
"""

from collections.abc import Iterable, Mapping
from struct import Struct

from tenure.core.span import Attributes, Kind, Scalar, Span, SpanEvent, SpanLink, Status

_KINDS = {
    name: bytes((0x30, number))
    for number, name in enumerate(("internal", "server", "client", "producer", "consumer"), start=1)
}
_ASKED = frozenset({"server", "consumer"})
"""The kinds of spans that follow from somebody elsewhere; a handler's other ones from what is around them."""

_STATUSES = {"unset": b"", "ok": b"\x18\x01", "error": b"\x18\x02"}
_TIMES = Struct("<BQBQ").pack
_TIME = Struct("<BQ").pack
_DOUBLE = Struct("<Bd").pack

# Sampled, and whether what it follows from is in another process is known: it is not, or it is.
_LOCAL, _REMOTE = b"\x85\x01\x01\x01\x00\x00", b"\x85\x01\x01\x03\x00\x00"
_LINKED = b"\x35\x01\x01\x00\x00"


def request(resource: Attributes, scopes: Mapping[bytes, Iterable[bytes]]) -> bytes:
    """What a collector is sent: encoded spans, under who has made them, and where."""
    by_scope = (_message(0x12, scope + b"".join(spans)) for scope, spans in scopes.items())
    return _message(0x0A, _message(0x0A, _attributes(0x0A, resource)) + b"".join(by_scope))


def scope(name: str, version: str | None) -> bytes:
    """Who has made spans."""
    return _message(0x0A, _text(0x0A, name) + (b"" if version is None else _text(0x12, version)))


def encoded(span: Span) -> bytes:
    """A span, as one of those under its scope."""
    ids = (bytes.fromhex(span.trace_id), bytes.fromhex(span.span_id), bytes.fromhex(span.parent_id or ""))
    said = frame(span.name, span.kind, span.attributes, span.status, span.message)
    rest = b"".join([*map(_event, span.events), *map(_link, span.links)])
    return framed(*ids, span.began_at, span.ended_at, said, rest, is_remote=span.kind in _ASKED)


def linked(trace_id: bytes, span_id: bytes) -> bytes:
    """A link, for the rest of a span."""
    return _message(0x6A, b"".join((b"\x0a\x10", trace_id, b"\x12\x08", span_id, _LINKED)))


def frame(name: str, kind: Kind, attributes: Attributes, status: Status, message: str = "") -> bytes:
    """What a span says of itself that others may say as well."""
    return b"".join(
        (
            _text(0x2A, name),
            _KINDS[kind],
            _attributes(0x4A, attributes),
            _status(status, message),
        )
    )


def framed(
    trace_id: bytes,
    span_id: bytes,
    parent_id: bytes,
    began_at: int,
    ended_at: int,
    said: bytes,
    rest: bytes,
    *,
    is_remote: bool = True,
) -> bytes:
    """A span with what it says, and the rest of it: more attributes, events, links.

    `parent_id` is empty where it follows from nothing; `is_remote` says of the other whether it is elsewhere.
    """
    flags = _LOCAL
    if parent_id:
        rest += b"\x22\x08" + parent_id
        flags = _REMOTE if is_remote else _LOCAL
    times = _TIMES(0x39, began_at, 0x41, ended_at)
    body = b"".join((b"\x0a\x10", trace_id, b"\x12\x08", span_id, times, said, rest, flags))
    return _message(0x12, body)


def attribute(name: str, value: Scalar | list[Scalar], tag: int = 0x4A) -> bytes:
    """An attribute, of a span unless the tag says otherwise."""
    return _message(tag, _text(0x0A, name) + _message(0x12, _value(value)))


def _event(event: SpanEvent) -> bytes:
    named = _TIME(0x09, event.at) + _text(0x12, event.name)
    return _message(0x5A, named + _attributes(0x1A, event.attributes))


def _link(link: SpanLink) -> bytes:
    return linked(bytes.fromhex(link.trace_id), bytes.fromhex(link.span_id))


def _status(status: Status, message: str) -> bytes:
    if status == "unset" and not message:
        return b""
    return _message(0x7A, (_text(0x12, message) if message else b"") + _STATUSES[status])


def _attributes(tag: int, given: Attributes) -> bytes:
    return b"".join([attribute(name, value, tag) for name, value in given.items()])


def _value(value: Scalar | list[Scalar]) -> bytes:
    match value:
        case str():
            return _text(0x0A, value)
        case bool():
            return bytes((0x10, value))
        case int():
            return b"\x18" + _varint(value & 0xFFFFFFFFFFFFFFFF)
        case float():
            return _DOUBLE(0x21, value)
        case _:
            return _message(0x2A, b"".join([_message(0x0A, _value(each)) for each in value]))


def _text(tag: int, text: str) -> bytes:
    return _message(tag, text.encode(errors="replace"))


def _message(tag: int, body: bytes) -> bytes:
    """A field with its length in front of it; every tag here is one byte."""
    size = len(body)
    if size < 0x80:
        return bytes((tag, size)) + body
    if size < 0x4000:
        return bytes((tag, size & 0x7F | 0x80, size >> 7)) + body
    return bytes((tag,)) + _varint(size) + body


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
