"""Encodes spans as OTLP: messages of Protocol Buffers, by hand.

A span is a few hundred bytes, most of them the same in every span of a definition: its frame. A caller with
many spans caches their frames and adds the rest of each. OpenTelemetry's SDK makes dozens of objects for a
span, which takes as long as a small attempt. The numbers are those of
`opentelemetry/proto/trace/v1/trace.proto`.
"""

from collections.abc import Iterable, Mapping
from struct import Struct

from tenure.core.values.span import Attributes, Kind, Scalar, Span, SpanEvent, SpanLink, Status

_KINDS = {
    name: bytes((0x30, number))
    for number, name in enumerate(("internal", "server", "client", "producer", "consumer"), start=1)
}
_REMOTE_PARENT = frozenset({"server", "consumer"})
"""The kinds of spans whose parent is in another process; that of a handler's other spans is not."""

_STATUSES = {"unset": b"", "ok": b"\x18\x01", "error": b"\x18\x02"}
_TIMES = Struct("<BQBQ").pack
_TIME = Struct("<BQ").pack
_DOUBLE = Struct("<Bd").pack

# Flags: sampled, and it is known whether the parent is in another process: it is not, or it is.
_LOCAL, _REMOTE = b"\x85\x01\x01\x01\x00\x00", b"\x85\x01\x01\x03\x00\x00"
_LINKED = b"\x35\x01\x01\x00\x00"


def request(resource: Attributes, scopes: Mapping[bytes, Iterable[bytes]]) -> bytes:
    """An export request: encoded spans by scope, with the resource."""
    by_scope = (_message(0x12, scope + b"".join(spans)) for scope, spans in scopes.items())
    return _message(0x0A, _message(0x0A, _attributes(0x0A, resource)) + b"".join(by_scope))


def scope(name: str, version: str | None) -> bytes:
    """A scope: the library that made spans."""
    return _message(0x0A, _text(0x0A, name) + (b"" if version is None else _text(0x12, version)))


def encode(span: Span) -> bytes:
    """A span, as an item of its scope."""
    ids = (bytes.fromhex(span.trace_id), bytes.fromhex(span.span_id), bytes.fromhex(span.parent_id or ""))
    common = frame(span.name, span.kind, span.attributes, span.status, span.message)
    rest = b"".join([*map(_event, span.events), *map(_link, span.links)])
    is_remote = span.kind in _REMOTE_PARENT
    return encode_framed(*ids, span.began_at, span.ended_at, common, rest, is_remote=is_remote)


def link(trace_id: bytes, span_id: bytes) -> bytes:
    """A link, for the rest of a span."""
    return _message(0x6A, b"".join((b"\x0a\x10", trace_id, b"\x12\x08", span_id, _LINKED)))


def frame(name: str, kind: Kind, attributes: Attributes, status: Status, message: str = "") -> bytes:
    """The part of a span that other spans may have in common with it."""
    return b"".join(
        (
            _text(0x2A, name),
            _KINDS[kind],
            _attributes(0x4A, attributes),
            _status(status, message),
        )
    )


def encode_framed(
    trace_id: bytes,
    span_id: bytes,
    parent_id: bytes,
    began_at: int,
    ended_at: int,
    common: bytes,
    rest: bytes,
    *,
    is_remote: bool = True,
) -> bytes:
    """A span of its frame (`common`) and the rest: more attributes, events, links.

    `parent_id` is empty without a parent; `is_remote` says whether the parent is in another process.
    """
    flags = _LOCAL
    if parent_id:
        rest += b"\x22\x08" + parent_id
        flags = _REMOTE if is_remote else _LOCAL
    times = _TIMES(0x39, began_at, 0x41, ended_at)
    body = b"".join((b"\x0a\x10", trace_id, b"\x12\x08", span_id, times, common, rest, flags))
    return _message(0x12, body)


def attribute(name: str, value: Scalar | list[Scalar], tag: int = 0x4A) -> bytes:
    """An attribute, of a span unless the tag says otherwise."""
    return _message(tag, _text(0x0A, name) + _message(0x12, _value(value)))


def _event(event: SpanEvent) -> bytes:
    named = _TIME(0x09, event.at) + _text(0x12, event.name)
    return _message(0x5A, named + _attributes(0x1A, event.attributes))


def _link(to: SpanLink) -> bytes:
    return link(bytes.fromhex(to.trace_id), bytes.fromhex(to.span_id))


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
