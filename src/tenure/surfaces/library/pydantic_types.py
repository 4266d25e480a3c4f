"""Types of pydantic: their JSON Schema, and how JSON is read into them.

This module is imported only where a type is pydantic's: other programs do not need it.
"""

import re
from collections.abc import Callable
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from tenure.core.errors import ParamsProblem
from tenure.core.values.misfits import Misfit, refuse_naive
from tenure.core.values.pointers import pointer_to

_TEXTS = {"missing": "is missing", "extra_forbidden": "is not known"}
_BEHIND = "Value error, "
# The validator's engine matches in linear time, and refuses these. Pydantic checks them itself.
_LOOKING_AROUND = re.compile(r"\(\?<?[=!]")


class OpenSchema(GenerateJsonSchema):
    """Marks models that ignore unknown names because their author said so, and not by default."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """The schema of a model."""
        made = super().model_schema(schema)
        if schema["cls"].model_config.get("extra") == "ignore":
            made.setdefault("additionalProperties", True)
        return made


def adapter_schema(hint: Any) -> dict[str, Any]:
    """The JSON Schema of a type. Raises TypeError or NameError if it has none."""
    try:
        schema: dict[str, Any] = _adapter(hint).json_schema(schema_generator=OpenSchema)
    except PydanticUserError as error:
        raise TypeError(_first_line(error)) from None
    allowed: dict[str, Any] = _without_looking_around(schema)
    return allowed


def adapter_reader(hint: Any) -> Callable[[str], Any]:
    """The function that reads values of a type. Raises TypeError or NameError."""
    adapter = _adapter(hint)

    def read(text: str) -> Any:
        try:
            value = adapter.validate_json(text)
        except ValidationError as error:
            raise Misfit(_problems(error)) from None
        except PydanticUserError as error:  # a part of the type is not there at run time
            raise TypeError(_first_line(error)) from None
        refuse_naive(adapter.dump_python(value, by_alias=True, round_trip=True, warnings=False))
        return value

    return read


def _adapter(hint: Any) -> TypeAdapter[Any]:
    try:
        if hasattr(hint, "model_rebuild"):
            hint.model_rebuild()  # names the type that is not there
        return TypeAdapter(hint)
    except PydanticUndefinedAnnotation as error:
        raise NameError(_first_line(error)) from None
    except PydanticUserError as error:
        raise TypeError(_first_line(error)) from None


def _problems(error: ValidationError) -> list[ParamsProblem]:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return [
        ParamsProblem(pointer_to(one["loc"]), _TEXTS.get(one["type"]) or one["msg"].removeprefix(_BEHIND))
        for one in found
    ]


def _without_looking_around(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_looking_around(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _without_looking_around(part)
        for name, part in schema.items()
        if name != "pattern" or not isinstance(part, str) or not _LOOKING_AROUND.search(part)
    }


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
