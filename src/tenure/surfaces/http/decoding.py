"""From what was sent to values: bodies by the strict check and their type, parameters by their readers."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from tenure.core.documents import read
from tenure.core.errors import InvalidInput
from tenure.engine.params import pointer_to
from tenure.surfaces.http.forms import Form, form_of
from tenure.surfaces.http.problems import MOST_ERRORS, OF_FIELD, Refusal, invalid, together
from tenure.surfaces.http.routes import Parameter, Route

MOST_PARAMETERS = 50
MOST_REPEATS = 30
"""How often one parameter may be given that may be given often."""

_PLACE = re.compile(r"^(.*) - at `(?:key in )?\$(.*)`$", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_FIELD = re.compile(r"^Object (missing required|contains unknown) field `(.*)`$", re.DOTALL)


def read_body(route: Route, raw: bytes) -> Any:
    """The body as a value of the route's type. Raises InvalidJson, or Refusal with a pointer."""
    read(raw, limit=route.body_limit)
    try:
        return msgspec.json.decode(raw, type=route.body)
    except msgspec.ValidationError as error:
        refusal = _misfit(str(error))
        if route.each is not None:
            refusal = _every_misfit(raw, *route.each) or refusal
        raise refusal from None


def read_form(form: type[Form], fields: Mapping[str, list[str]]) -> Form:
    """The fields of a form as a value of its type. Raises Refusal that names one."""
    try:
        return form_of(form, fields)
    except msgspec.ValidationError as error:
        raise _misfit(str(error)) from None


def read_query(parameters: Iterable[Parameter], query: bytes) -> dict[str, Any]:
    """The parameters by name; those that may stand often as lists. Raises Refusal that names one."""
    known = {parameter.name: parameter for parameter in parameters}
    found: dict[str, Any] = {}
    for name, text in _pairs(query):
        if name not in known:
            raise invalid("unknown-field", "is not a parameter of this path", parameter=name[:64])
        parameter = known[name]
        try:
            value = parameter.read(text)
        except InvalidInput as error:
            said = f"{error.problem}; {error.remedy}" if error.remedy else error.problem
            raise invalid("validation", said, parameter=name) from None
        if parameter.many:
            found.setdefault(name, []).append(value)
            if len(found[name]) > MOST_REPEATS:
                raise invalid("validation", f"is given more than {MOST_REPEATS} times", parameter=name)
        elif name in found:
            raise invalid("validation", "is given twice", parameter=name)
        else:
            found[name] = value
    return found


def _every_misfit(raw: bytes, field: str, form: Any) -> Refusal | None:
    """What is wrong with each of many things; None when it is something else that is wrong."""
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
        raise Refusal("validation", f"the parameters are not UTF-8, or more than {MOST_PARAMETERS}") from None


def _misfit(said: str, within: Sequence[str] = ()) -> Refusal:
    placed = _PLACE.match(said)
    text, path = (placed[1], placed[2]) if placed else (said, "")
    steps = [*within, *(name or index for name, index in _STEP.findall(path))]
    if field := _FIELD.match(text):
        steps.append(field[2])
        text = "is missing" if field[1].startswith("missing") else "is not a field of this request"
        if not field[1].startswith("missing"):
            return invalid("unknown-field", text, pointer=pointer_to(steps))
    kind = OF_FIELD.get(steps[-1], "validation") if steps else "validation"
    return invalid(kind, text, pointer=pointer_to(steps))
