"""The params of a definition: their JSON Schema, and how they are read for the handler."""

from typing import Any, NamedTuple

from tenure.core.errors import InvalidInput
from tenure.core.values.documents import Document, write
from tenure.surfaces.library.type_readers import UNREADABLE, Read, Shape, cause_of, reader_of
from tenure.surfaces.library.type_schemas import is_object, schema_of

_REMEDY = "use a dataclass, a pydantic model, an attrs class, a msgspec.Struct, a TypedDict or a dict"
_AT_RUN_TIME = "import the type at run time, not only for type checkers"


class Params(NamedTuple):
    """The schema of a definition's params, and the function that decodes them for its handler."""

    schema: Document
    decode: Read


def params_of(hint: Any) -> Params:
    """The params of a type hint. Raises InvalidInput for a type that is not a JSON object."""
    try:
        shape = Shape.of(hint)
        schema, read = schema_of(shape), reader_of(shape)
    except UNREADABLE as error:
        remedy = _REMEDY if isinstance(error, TypeError) else _AT_RUN_TIME
        problem = f"have a type that JSON cannot be read into: {cause_of(error)}"
        raise InvalidInput("params", problem, remedy) from None
    if not is_object(schema, schema.get("$defs", {})):
        raise InvalidInput("params", f"are {_name(hint)}, which is no JSON object", _REMEDY)
    return Params(write(schema), read)


NO_PARAMS = Params(
    write({"type": "object", "properties": {}, "additionalProperties": False}), lambda _text: None
)
"""For a handler that takes neither params nor a context."""


def _name(hint: Any) -> str:
    return getattr(hint, "__name__", None) or str(hint)
