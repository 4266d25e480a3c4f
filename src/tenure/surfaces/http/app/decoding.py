"""Decodes requests: bodies by a strict check and their type, parameters by their readers."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from tenure.core.errors import InvalidInput
from tenure.core.values.documents import read
from tenure.core.values.pointers import pointer_to
from tenure.surfaces.http.app.forms import Form, form_of
from tenure.surfaces.http.app.problems import (
    MOST_ERRORS,
    OF_FIELD,
    Refusal,
    invalid,
    problem_and_remedy,
    together,
)
from tenure.surfaces.http.app.routes import Parameter, Route

MOST_PARAMETERS = 50
MOST_REPEATS = 30
"""How often a parameter that takes many values may be given."""

_PLACE = re.compile(r"^(.*) - at `(?:key in )?\$(.*)`$", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_FIELD = re.compile(r"^Object (missing required|contains unknown) field `(.*)`$", re.DOTALL)


def read_body(route: Route, raw: bytes) -> Any:
    """The body as the route's type. Raises InvalidJson, or Refusal with a pointer."""
    read(raw, limit=route.body_limit)
    try:
        return msgspec.json.decode(raw, type=route.body)
    except msgspec.ValidationError as error:
        refusal = _misfit(str(error))
        if route.each is not None:
            refusal = _every_misfit(raw, *route.each) or refusal
        raise refusal from None


def read_form(form: type[Form], fields: Mapping[str, list[str]]) -> Form:
    """The fields of a form as its type. Raises Refusal that names a field."""
    try:
        return form_of(form, fields)
    except msgspec.ValidationError as error:
        raise _misfit(str(error)) from None


def read_query(parameters: Iterable[Parameter], query: bytes) -> dict[str, Any]:
    """The parameters by name; those that take many values as lists. Raises Refusal that names one."""
    known = {parameter.name: parameter for parameter in parameters}
    found: dict[str, Any] = {}
    for name, text in _pairs(query):
        if name not in known:
            raise invalid("unknown-field", "is not a parameter of this path", parameter=name[:64])
        parameter = known[name]
        try:
            value = parameter.read(text)
        except InvalidInput as error:
            raise invalid("validation", problem_and_remedy(error), parameter=name) from None
        if parameter.many:
            found.setdefault(name, []).append(value)
            if len(found[name]) > MOST_REPEATS:
                raise invalid(
                    "validation", f"is given too often; give it at most {MOST_REPEATS} times", parameter=name
                )
        elif name in found:
            raise invalid("validation", "is given twice; give it once", parameter=name)
        else:
            found[name] = value
    for name, parameter in known.items():
        if parameter.is_required and name not in found:
            raise invalid("validation", "is missing; give it in the address", parameter=name)
    return found


def _every_misfit(raw: bytes, field: str, form: Any) -> Refusal | None:
    """What is wrong with each item of a list; None when something else is wrong."""
    try:
        many = msgspec.json.decode(raw, type=dict[str, list[msgspec.Raw]])[field]
    except (msgspec.ValidationError, KeyError):
        return None
    refused: list[Refusal] = []
    for place, one in enumerate(many):
        try:
            msgspec.json.decode(one, type=form)
        except msgspec.ValidationError as error:
            refused.append(_misfit(str(error), (field, str(place))))
        if len(refused) == MOST_ERRORS:
            break
    return together(refused) if refused else None


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            query.decode("ascii"), keep_blank_values=True, max_num_fields=MOST_PARAMETERS, errors="strict"
        )
    except ValueError:
        raise Refusal(
            "validation", f"the query is not UTF-8, or has more than {MOST_PARAMETERS} parameters"
        ) from None


def _misfit(error: str, within: Sequence[str] = ()) -> Refusal:
    placed = _PLACE.match(error)
    text, path = (placed[1], placed[2]) if placed else (error, "")
    steps = [*within, *(name or index for name, index in _STEP.findall(path))]
    if field := _FIELD.match(text):
        steps.append(field[2])
        text = "is missing" if field[1].startswith("missing") else "is not a field of this request"
        if not field[1].startswith("missing"):
            return invalid("unknown-field", text, pointer=pointer_to(steps))
    kind = OF_FIELD.get(steps[-1], "validation") if steps else "validation"
    return invalid(kind, text, pointer=pointer_to(steps))
