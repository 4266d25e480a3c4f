"""From the texts that a browser sends for the fields of a schema to the document of the params."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Raw, Struct

from tenure.core.errors import InvalidInput, InvalidJson
from tenure.core.values.document_faults import MOST_DIGITS
from tenure.core.values.documents import EMPTY, Document, check, read
from tenure.surfaces.dashboard.forms.browser_time import browser_time
from tenure.surfaces.dashboard.forms.schema_fields import FieldGroup, FieldKind, FormField, Part, flat

PREFIX = "p"
"""Begins the names of fields for params: what follows is a pointer."""

AS_JSON = "params"
"""The name of the one field that has all params as JSON."""

_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WITH_COMMA = re.compile(r"-?[0-9]+,[0-9]+")
_GROUPED = re.compile(r"-?[0-9]{1,3}([,' \u00a0\u2009][0-9]{3})+")


class Posted(Struct, frozen=True, kw_only=True):
    """What a form was sent with: the params, or what is wrong with them by the names of fields.

    `values` are the texts as they were sent. What is wrong with no field of the form stands under "".
    """

    document: Document | None
    values: Mapping[str, str]
    problems: Mapping[str, str]


def from_fields(parts: Sequence[Part], values: Mapping[str, str]) -> Posted:
    """Read the fields of a form; a blank one is left out of the params."""
    problems: dict[str, str] = {}
    known = names_of(parts)
    if others := sorted(values.keys() - known):
        problems[""] = f"{others[0][:64]} is not a field of this definition any more: look at the form again"
    params = _members(parts, values, problems)
    if problems:
        return Posted(document=None, values=values, problems=problems)
    return _checked(msgspec.json.encode(params), values, known)


def from_json(text: str) -> Posted:
    """Read params that were written as JSON."""
    return _checked(text.encode() if text.strip() else EMPTY.encode(), {AS_JSON: text}, {AS_JSON})


def as_json(parts: Sequence[Part], values: Mapping[str, str]) -> str:
    """What the fields hold, as JSON to go on with; what is wrong in them is left as text."""
    params = _members(parts, values, {}, keeps_bad=True)
    return msgspec.json.format(msgspec.json.encode(params), indent=2).decode()


def names_of(parts: Sequence[Part] | None) -> set[str]:
    """The names of the fields of a form; None is the form of one field."""
    return {AS_JSON} if parts is None else {name_of(field) for field in flat(parts)}


def name_of(field: FormField) -> str:
    """The name of a field in the form: a pointer in plain characters, whatever the schema calls it."""
    return _named(field.name)


def place_of(pointer: str, known: Collection[str]) -> str:
    """The field beside which a problem stands: that of the pointer, or of what holds it, or none."""
    if AS_JSON in known:
        return AS_JSON
    while pointer and _named(pointer) not in known:
        pointer = pointer.rpartition("/")[0]
    return _named(pointer) if pointer else ""


def _named(pointer: str) -> str:
    return PREFIX + quote(pointer, safe="/~")


def _checked(encoded: bytes, values: Mapping[str, str], known: Collection[str]) -> Posted:
    try:
        return Posted(document=check(encoded), values=values, problems={})
    except InvalidJson as error:
        problem = f"{error.problem}; {error.remedy}" if error.remedy else error.problem
        return Posted(document=None, values=values, problems={place_of(error.pointer, known): problem})


def _members(
    parts: Sequence[Part], values: Mapping[str, str], problems: dict[str, str], *, keeps_bad: bool = False
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in parts:
        if isinstance(part, FieldGroup):
            is_filled = any(values.get(name_of(field), "").strip() for field in flat(part.parts))
            if is_filled or part.is_required:
                found[part.label] = _members(part.parts, values, problems, keeps_bad=keeps_bad)
            continue
        name = name_of(part)
        text = values.get(name, "")
        if not text.strip() and (part.kind is not FieldKind.TEXT or not text):
            if part.is_required and part.is_nullable:
                found[part.label] = None
            elif part.is_required:
                problems[name] = f"is missing; {_REMEDIES[part.kind]}"
            continue
        try:
            found[part.label] = _value(part, text)
        except InvalidInput as error:
            problems[name] = f"{error.problem}; {error.remedy}"
            if keeps_bad:
                found[part.label] = text
    return found


def _value(field: FormField, text: str) -> Any:
    """The value of one field. Raises InvalidInput with what to write instead."""
    short = text.strip()
    match field.kind:
        case FieldKind.TEXT:
            return text
        case FieldKind.WHOLE:
            return _number(short, _WHOLE, "is not a whole number", "42")
        case FieldKind.DECIMAL:
            return _number(short, _DECIMAL, "is not a decimal number", "129.90")
        case FieldKind.MOMENT:
            at = browser_time(field.name, short)
            return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case FieldKind.CHOICE | FieldKind.YES_NO:
            if short not in dict(field.choices):
                raise InvalidInput(field.name, "is none of the choices", "choose one of them")
            return Raw(short.encode())
        case FieldKind.JSON:
            return _json(field.name, short)


def _number(text: str, pattern: re.Pattern[str], problem: str, example: str) -> Raw:
    # The spelling stays as it is: through a float some digits would be lost.
    if pattern.fullmatch(text):
        if len(text) > MOST_DIGITS:
            raise InvalidInput("number", "is too long", f"write at most {MOST_DIGITS} digits")
        if math.isinf(float(text)):
            raise InvalidInput("number", "is too large", "write one below 1e308")
        return Raw(text.encode())
    meant = text
    if _GROUPED.fullmatch(text):
        meant = re.sub(r"[^0-9-]", "", text)
    elif _WITH_COMMA.fullmatch(text):
        meant = text.replace(",", ".")
    elif text.startswith("+"):
        meant = text[1:]
    is_better = meant != text and pattern.fullmatch(meant)
    raise InvalidInput("number", problem, f"write {meant}" if is_better else f"write such as {example}")


def _json(name: str, text: str) -> Raw:
    try:
        read(text)
    except InvalidJson as error:
        raise InvalidInput(name, error.problem, 'write such as ["a", 1], with texts in quotes') from None
    return Raw(text.encode())


_REMEDIES = {
    FieldKind.WHOLE: "write digits, such as 42",
    FieldKind.DECIMAL: "write a number, such as 129.90",
    FieldKind.TEXT: "write a text",
    FieldKind.CHOICE: "choose one",
    FieldKind.YES_NO: "choose yes or no",
    FieldKind.MOMENT: "write a time, such as 2026-01-31T09:30",
    FieldKind.JSON: "write JSON, such as []",
}
