"""Holds params against the JSON Schema of their definition: one judge for every door that a job comes by.

A schema may come from another process, or from an operator. So nothing is ever fetched for one, and its
patterns are matched in linear time, by an engine that refuses those it could not.
"""

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from tenure.core.documents import Document
from tenure.core.errors import InvalidInput, Problem

if TYPE_CHECKING:
    import jsonschema_rs

MOST_PROBLEMS = 20
"""How many problems of one document are told."""

_SHOWN_AS = "the value"  # params may hold secrets, so that no message repeats a value
_LONGEST_NAME = 64
_decode = msgspec.json.Decoder().decode


class InvalidSchema(InvalidInput):
    """A schema that is none; `pointer` says where."""

    def __init__(self, said: str, pointer: str = "") -> None:
        where = f" (at {pointer})" if pointer else ""
        super().__init__("params_schema", f"is no JSON Schema that can be used: {said}{where}")
        self.pointer = pointer


class ParamsCheck:
    """A compiled schema. Raises InvalidSchema when it is none."""

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

    def problems(self, params: Document) -> list[Problem]:
        """What is wrong with the params; nothing when they fit."""
        value = _decode(params)
        if self._validator.is_valid(value):
            return []
        found = _told(self._validator.iter_errors(value))
        return [problem for problem, _ in zip(dict.fromkeys(found), range(MOST_PROBLEMS), strict=False)]


def pointer_to(path: Iterable[str | int]) -> str:
    """The JSON pointer for a path, each name cut short where it would echo too much."""
    names = (str(step)[:_LONGEST_NAME].replace("~", "~0").replace("/", "~1") for step in path)
    return "".join(f"/{name}" for name in names)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _refuse(uri: str) -> Any:
    raise ValueError(f"nothing is fetched for a schema: {uri:.100}")


def _told(errors: "Iterable[jsonschema_rs.ValidationError]") -> Iterator[Problem]:
    from jsonschema_rs import ValidationErrorKind as Kind

    for error in errors:
        match error.kind:
            case Kind.Required(name):
                yield Problem(pointer_to([*error.instance_path, str(name)]), "is missing")
            case Kind.AdditionalProperties(names):
                for name in names:
                    yield Problem(pointer_to([*error.instance_path, name]), "is not known")
            case Kind.AnyOf(branches) if likely := _likely(branches, len(error.instance_path)):
                yield from _told(likely)
            case _:
                yield Problem(pointer_to(error.instance_path), _words(error.message))


def _likely(
    branches: "list[list[jsonschema_rs.ValidationError]]", depth: int
) -> "list[jsonschema_rs.ValidationError]":
    """The errors of the one branch that has the right type; none when that cannot be told."""
    from jsonschema_rs import ValidationErrorKind as Kind

    fitting = [
        branch
        for branch in branches
        if not any(
            isinstance(error.kind, Kind.Type) and len(error.instance_path) <= depth for error in branch
        )
    ]
    return fitting[0] if len(fitting) == 1 else []


def _words(message: str) -> str:
    return message.removeprefix(f"{_SHOWN_AS} ")
