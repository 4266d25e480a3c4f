"""Validates params by the JSON Schema of their definition, for every surface.

A schema may come from another process or from an operator. So nothing is ever fetched for it, and patterns
match in linear time: the engine refuses patterns that cannot.
"""

import json
from collections.abc import Iterable, Iterator
from functools import reduce
from operator import getitem
from typing import TYPE_CHECKING, Any

import msgspec

from tenure.core.errors import InvalidInput, ParamsProblem
from tenure.core.values.documents import Document
from tenure.core.values.misfits import MOST_PROBLEMS
from tenure.core.values.pointers import pointer_to

if TYPE_CHECKING:
    import jsonschema_rs

_SHOWN_AS = "the value"  # params may hold secrets, so no message repeats a value
_NO_MOMENT = 'is no date and time with a time zone, such as "2026-01-31T09:30:00Z"'
_ONE_OBJECT = 'give one object with all params, such as {"to": …} in JSON'
_NO_NAMES = ["additionalProperties"], ["propertyNames"]
"""What ends the path to a `false` that allows an object no property: there is none that it knows."""

_decode = msgspec.json.Decoder().decode


class InvalidSchema(InvalidInput):
    """An invalid schema; `pointer` says where."""

    def __init__(self, reason: str, pointer: str = "") -> None:
        where = f" (at {pointer})" if pointer else ""
        super().__init__("params_schema", f"is no JSON Schema that can be used: {reason}{where}")
        self.pointer = pointer


class ParamsCheck:
    """A compiled schema. Raises InvalidSchema if it is invalid."""

    def __init__(self, schema: Document) -> None:
        import jsonschema_rs

        try:
            self._validator = jsonschema_rs.Draft202012Validator(
                json.loads(schema),
                validate_formats=True,
                retriever=_refuse,
                mask=_SHOWN_AS,
                pattern_options=jsonschema_rs.RegexOptions(),
            )
        except jsonschema_rs.ValidationError as error:
            raise InvalidSchema(_first_line(error), pointer_to(error.instance_path)) from None
        except (jsonschema_rs.ReferencingError, ValueError) as error:
            raise InvalidSchema(_first_line(error)) from None

    def problems(self, params: Document) -> list[ParamsProblem]:
        """What is wrong with the params; empty if they fit."""
        value = _decode(params)
        if self._validator.is_valid(value):
            return []
        found = _problems_of(self._validator.iter_errors(value), value)
        return [problem for problem, _ in zip(dict.fromkeys(found), range(MOST_PROBLEMS), strict=False)]


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _refuse(uri: str) -> Any:
    raise ValueError(f"nothing is fetched for a schema: {uri:.100}")


def _problems_of(errors: "Iterable[jsonschema_rs.ValidationError]", params: Any) -> Iterator[ParamsProblem]:
    from jsonschema_rs import ValidationErrorKind as Kind

    for error in errors:
        match error.kind:
            case Kind.Required(name):
                yield ParamsProblem(pointer_to([*error.instance_path, str(name)]), "is missing")
            case Kind.AdditionalProperties(names) | Kind.UnevaluatedProperties(names):
                for name in names:
                    yield ParamsProblem(pointer_to([*error.instance_path, name]), "is not known")
            case Kind.AnyOf(branches) | Kind.OneOfNotValid(branches) if likely := _likely(
                branches, len(error.instance_path)
            ):
                yield from _problems_of(likely, params)
            case Kind.FalseSchema() if error.schema_path[-1:] in _NO_NAMES:
                for name in reduce(getitem, error.instance_path, params):
                    yield ParamsProblem(pointer_to([*error.instance_path, name]), "is not known")
            case Kind.FalseSchema():
                yield ParamsProblem(pointer_to(error.instance_path), "is not allowed")
            case Kind.Type() if not error.instance_path and '"object"' in error.message:
                yield ParamsProblem("", f"{_shortened(error.message)}; {_ONE_OBJECT}")
            case Kind.Format("date-time"):
                yield ParamsProblem(pointer_to(error.instance_path), _NO_MOMENT)
            case _:
                yield ParamsProblem(pointer_to(error.instance_path), _shortened(error.message))


def _likely(
    branches: "list[list[jsonschema_rs.ValidationError]]", depth: int
) -> "list[jsonschema_rs.ValidationError]":
    """The errors of the one branch that has the right type and tag; none if none or several have."""
    from jsonschema_rs import ValidationErrorKind as Kind

    def is_other(error: "jsonschema_rs.ValidationError") -> bool:
        steps = len(error.instance_path) - depth
        if isinstance(error.kind, Kind.Type):
            return steps <= 0
        return isinstance(error.kind, Kind.Constant | Kind.Enum) and steps <= 1

    fitting = [branch for branch in branches if not any(map(is_other, branch))]
    return fitting[0] if len(fitting) == 1 else []


def _shortened(message: str) -> str:
    return message.removeprefix(f"{_SHOWN_AS} ")
