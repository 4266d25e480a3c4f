"""The strict check of every JSON document that comes in, by whatever surface.

Both databases can store what passes, and it means the same to every reader. Python's own parser is too
lenient for that (NaN, repeated keys, numbers out of range), and a document that a database refuses only
when its job is settled would leave the job hanging.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, NewType, NoReturn

import msgspec

from tenure.core.values.document_faults import (
    DEEPEST,
    LARGEST_DOCUMENT,
    MOST_DIGITS,
    MOST_KEYS,
    DocumentFault,
)
from tenure.core.values.python_types import json_types_of
from tenure.core.values.text import UNSTORABLE

Document = NewType("Document", str)
"""JSON text that has passed the strict check below."""

EMPTY = Document("{}")
NULL = Document("null")

_BEYOND = 10**MOST_DIGITS
_LONG = 2**63
_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder().decode
_SUSPECT_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
# An unclosed string matches to the end of the text: nothing is scanned twice, whatever the input.
_STRING_OR_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)


def read(raw: str | bytes, *, limit: int = LARGEST_DOCUMENT) -> Any:
    """The value of a JSON text that passes the strict check; raises `InvalidJson` otherwise."""
    try:
        return _decoded(_text(raw, limit))
    except DocumentFault as fault:
        raise fault.as_error() from None


def check(raw: str | bytes, *, limit: int = LARGEST_DOCUMENT) -> Document:
    """The JSON text without its white space, if it passes the strict check; raises `InvalidJson` otherwise.

    The order of keys and the spelling of numbers and strings stay as they were sent.
    """
    try:
        text = _text(raw, limit)
        _decoded(text)
    except DocumentFault as fault:
        raise fault.as_error() from None
    return Document(msgspec.json.format(text, indent=-1))


def write(value: object, *, limit: int = LARGEST_DOCUMENT) -> Document:
    """The JSON text of a Python value; raises `InvalidJson` if it has none that passes the strict check.

    Beside JSON's own types it accepts what msgspec writes as one of them: structs, dataclasses, enums, times,
    UUIDs; and models of pydantic. Bytes and sets outside a struct are refused: nothing would say how to read
    them back. A datetime without a time zone is refused: it would mean another moment to each reader.
    """
    try:
        encoded = _encode(value) if _is_simple(value) else _COMPACT.encode(_plain(value, 0)).encode()
        _check_size(len(encoded), limit)
    except DocumentFault as fault:
        raise fault.as_error() from None
    return Document(encoded.decode())


def canonical_hash(document: Document) -> bytes:
    """Sixteen bytes, the same for documents that differ only in white space and the order of keys."""
    value = _decode(document)
    if _is_simple(value):
        return _digest()(_encode_sorted(value))
    # Stored hashes outlive releases: the standard library's spelling of numbers does not change with them.
    return _digest()(_SORTED.encode(json.loads(document)).encode())


@cache
def _digest() -> Callable[[bytes], bytes]:
    try:
        from _blake2 import blake2b  # hashlib loads OpenSSL as well
    except ImportError:
        from hashlib import blake2b

    return lambda content: blake2b(content, digest_size=16).digest()


def _text(raw: str | bytes, limit: int) -> str:
    _check_size(len(raw), limit)
    try:
        if isinstance(raw, str):
            _check_size(len(raw.encode()), limit)
            text = raw
        else:
            text = raw.decode()
    except UnicodeDecodeError as error:
        raise DocumentFault("malformed-json", detail=f"no UTF-8 at byte {error.start}") from None
    except UnicodeEncodeError as error:
        raise DocumentFault("invalid-character", detail=f"at character {error.start}") from None
    if text.startswith("\ufeff"):
        raise DocumentFault("malformed-json", detail="it begins with a byte order mark")
    return text


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise DocumentFault("too-large", detail=f"at most {limit} bytes are taken")


def _decoded(text: str) -> Any:
    # Only a text with many opening brackets can be too deep; one that is would exhaust the parser's stack.
    if text.count("[") + text.count("{") > DEEPEST:
        _check_depth(text)
    try:
        try:
            value = _STRICT.decode(text)
            if not _SUSPECT_ESCAPE.search(text):
                return value
        except DocumentFault:
            value = _MARKING.decode(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise DocumentFault("malformed-json", detail=f"{error.msg}: {where}") from None
    return _plain(value, 0)


def _check_depth(text: str) -> None:
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        match found[0]:
            case "[" | "{":
                depth += 1
                if depth > DEEPEST:
                    raise DocumentFault("too-deep")
            case "]" | "}":
                depth -= 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(pairs) > MOST_KEYS:
        raise DocumentFault("too-many-keys")
    if len(members) < len(pairs):
        [(key, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise DocumentFault("duplicate-key", key)
    return members


def _integer(spelling: str) -> int:
    if len(spelling) > MOST_DIGITS and len(spelling.removeprefix("-")) > MOST_DIGITS:
        raise DocumentFault("number-range")
    return int(spelling)


def _real(spelling: str) -> float:
    value = float(spelling)
    if math.isinf(value) or len(spelling) > MOST_DIGITS:
        raise DocumentFault("number-range")
    if value == 0.0:
        mantissa, _, exponent = spelling.lower().partition("e")
        if mantissa.strip("-.0") or abs(int(exponent or 0)) > MOST_DIGITS:
            raise DocumentFault("number-range")
    return value


def _constant(spelling: str) -> NoReturn:
    raise DocumentFault("malformed-json", detail=f"{spelling} is not a JSON number")


def _marking(hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The hook, but with a fault left in its place in the value, where a walk finds the path to it."""

    def mark(piece: Any) -> Any:
        try:
            return hook(piece)
        except DocumentFault as fault:
            return fault

    return mark


_STRICT = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_real, parse_constant=_constant
)
_MARKING = json.JSONDecoder(
    object_pairs_hook=_marking(_object),
    parse_int=_marking(_integer),
    parse_float=_marking(_real),
    parse_constant=_constant,
)
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_SORTED = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _plain(value: Any, depth: int) -> Any:
    """The value in JSON's own types; raises the first fault in it, with its path."""
    match value:
        case str():
            _check_characters(value)
        case int():
            if not -_BEYOND < value < _BEYOND:
                raise DocumentFault("number-range")
        case float():
            if not math.isfinite(value):
                raise DocumentFault("number-range")
        case None:
            pass
        case dict() | list() | tuple() if depth == DEEPEST:
            raise DocumentFault("too-deep")
        case dict():
            _check_keys(value)
            return dict(_plain_items(value.items(), depth))
        case list() | tuple():
            return [item for _, item in _plain_items(enumerate(value), depth)]
        case DocumentFault():
            raise value
        case _:
            return _plain(json_types_of(value), depth)
    return value


def _is_simple(value: object) -> bool:
    """Whether a value is as simple as most params: then a faster encoder writes the same text."""
    if type(value) is not dict or len(value) > MOST_KEYS:
        return False
    for key, item in value.items():
        if type(key) is not str or not key.isprintable():
            return False
        kind = type(item)
        if kind is str:
            if not item.isprintable():
                return False
        elif kind is int:
            if not -_LONG <= item < _LONG:
                return False
        elif kind is not bool and item is not None:
            return False
    return True


def _plain_items(items: Iterable[tuple[Any, Any]], depth: int) -> Iterator[tuple[Any, Any]]:
    for place, item in items:
        try:
            yield place, _plain(item, depth + 1)
        except DocumentFault as fault:
            fault.path.append(place)
            raise


def _check_keys(members: dict[Any, Any]) -> None:
    if len(members) > MOST_KEYS:
        raise DocumentFault("too-many-keys")
    for key in members:
        if not isinstance(key, str):
            raise DocumentFault("not-json", detail=f"a key of type {type(key).__name__}")
        _check_characters(key, key)


def _check_characters(text: str, *path: str) -> None:
    # Printable text, the usual kind, cannot contain either of them, and this check is faster.
    if not text.isprintable() and UNSTORABLE.search(text):
        raise DocumentFault("invalid-character", *path)
