"""Forms of pages: what a browser sends as fields of text, strictly read, as a value of the form's type."""

from collections.abc import Mapping
from typing import Any, TypeVar, get_origin
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct

from tenure.surfaces.http.problems import Refusal, invalid

MOST_FIELDS = 1000


class Form(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields of a form. One of a list may stand often; what was left blank is as if it were not there."""


class NoFields(Form, frozen=True, kw_only=True):
    """The form of a button that needs no more than to be pressed."""


F = TypeVar("F", bound=Form)


def read_fields(raw: bytes) -> dict[str, list[str]]:
    """What was filled in, by the names of the fields. Raises Refusal for what no browser sends."""
    try:
        pairs = parse_qsl(raw.decode("ascii"), max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError:
        raise Refusal("validation", f"the form is not UTF-8, or has more than {MOST_FIELDS} fields") from None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        if "\0" in value:
            raise invalid("invalid-character", "holds a character that cannot be kept", pointer=f"/{name}")
        fields.setdefault(name, []).append(value)
    return fields


def form_of(kind: type[F], fields: Mapping[str, list[str]]) -> F:
    """The fields as a value of their form. Raises Refusal that names one; msgspec.ValidationError else."""
    types = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    values: dict[str, Any] = {}
    for name, given in fields.items():
        if get_origin(types.get(name)) in {list, tuple}:
            values[name] = given
        elif len(given) > 1:
            raise invalid("validation", "is given twice", pointer=f"/{name}")
        else:
            values[name] = given[0]
    return msgspec.convert(values, type=kind, strict=False)
