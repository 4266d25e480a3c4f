"""Forms of pages: the text fields that a browser sends, strictly read as the form's type."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, get_origin
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct

from tenure.surfaces.http.app.problems import Refusal, invalid

MOST_FIELDS = 1000


class Form(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields of a form. A list's field may be given often; a blank field counts as absent."""


class NoFields(Form, frozen=True, kw_only=True):
    """The form of a button without fields."""


class AnyFields(Form, frozen=True, kw_only=True):
    """A form whose fields depend on data: texts by name. Its handler says what is wrong, beside the field."""

    fields: Mapping[str, Sequence[str]] = {}


F = TypeVar("F", bound=Form)


def read_fields(raw: bytes) -> dict[str, list[str]]:
    """The values by field. Raises Refusal for what no browser sends."""
    try:
        pairs = parse_qsl(raw.decode("ascii"), max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError:
        raise Refusal("validation", f"the form is not UTF-8, or has more than {MOST_FIELDS} fields") from None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        if "\0" in value:
            raise invalid(
                "invalid-character", "holds the character NUL, which cannot be stored", pointer=f"/{name}"
            )
        fields.setdefault(name, []).append(value)
    return fields


def form_of(kind: type[F], fields: Mapping[str, list[str]]) -> F:
    """The fields as their form's type. Raises Refusal that names a field, or msgspec.ValidationError."""
    if issubclass(kind, AnyFields):
        return kind(fields=fields)
    types = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    values: dict[str, Any] = {}
    for name, given in fields.items():
        if get_origin(types.get(name)) in {list, tuple}:
            values[name] = given
        elif len(given) > 1:
            raise invalid("validation", "is given twice; give it once", pointer=f"/{name}")
        else:
            values[name] = given[0]
    return msgspec.convert(values, type=kind, strict=False)
