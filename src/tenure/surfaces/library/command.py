"""A program as a definition: checks what `app.command` is given, and makes the code that runs it."""

import os
from collections.abc import Collection, Sequence
from typing import Any

from tenure.core.errors import InvalidInput
from tenure.core.values.bounds import whole
from tenure.core.values.documents import Document, read
from tenure.engine.client.registry import Code
from tenure.execution.handler.program import Program
from tenure.surfaces.library.params import params_of

_AS_A_LIST = 'give the program and its arguments as a list: ["ffprobe", "-v", "quiet"]'


def command_of(
    arguments: Sequence[str | os.PathLike[str]],
    params: Any,
    fatal_codes: Collection[int],
    *,
    keeps_state: bool,
) -> tuple[Document, Code]:
    """The schema of a program's params, and the code that runs it. Raises InvalidInput."""
    program = Program(_texts(arguments), _codes(fatal_codes), keeps_state=keeps_state)
    is_free = params is dict or params is Any or params is None
    typed = params_of(dict[str, Any] if is_free else params)
    _refuse_placeholders(program.arguments, read(typed.schema).get("properties", {}))
    origin = f"the program {program.arguments[0]}"
    return typed.schema, Code(program.run, typed.decode, origin, is_program=True)


def _texts(arguments: Sequence[str | os.PathLike[str]]) -> list[str]:
    if isinstance(arguments, str | bytes):
        raise InvalidInput("arguments", "are one text, and there is no shell to split it", _AS_A_LIST)
    try:
        texts: list[Any] = [os.fspath(argument) for argument in arguments]
    except TypeError:
        raise InvalidInput("arguments", f"are {arguments!r:.64}", _AS_A_LIST) from None
    if not texts or not texts[0]:
        raise InvalidInput("arguments", "name no program", _AS_A_LIST)
    for text in texts:
        if not isinstance(text, str) or "\x00" in text:
            raise InvalidInput("arguments", f"hold {text!r:.64}", "give texts without NUL")
    return texts


def _refuse_placeholders(arguments: Sequence[str], fields: Collection[str]) -> None:
    for name in fields:
        if f"{{{name}}}" in arguments:
            problem = f"hold {{{name}}}, but params are never put into arguments"
            raise InvalidInput("arguments", problem, "let the program read JSON from standard input")


def _codes(given: Collection[int]) -> Collection[int]:
    try:
        codes = frozenset(given)
    except TypeError:
        raise InvalidInput("fatal_codes", f"are {given!r:.64}", "give a list of exit codes") from None
    for code in codes:
        whole("fatal_codes", code, 1, 255)
    return codes
