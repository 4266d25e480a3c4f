"""Where settings come from: defaults < tenure.toml < environment < arguments.

An unknown name is an error that suggests the nearest one: a setting that is silently ignored is worse than a
program that does not start. Nothing is read at import.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from tenure.core.errors import InvalidInput
from tenure.settings.settings import PREFIX, Settings

if TYPE_CHECKING:
    from pathlib import Path

FILE = "tenure.toml"
FILE_VARIABLE = "TENURE_CONFIG"
"""Names a file to read in place of the one in the current folder."""

ATTEMPT_VARIABLES = frozenset(
    {"TENURE_JOB_ID", "TENURE_ATTEMPT", "TENURE_FENCE", "TENURE_DEFINITION", "TENURE_RESULT", "TENURE_STATE"}
)
"""Given to a program that runs as a job. They are not settings: the program may use Tenure itself."""

_ADDRESS = r"[0-9A-Fa-f:.]+"
_LINK = rf"(?:tcp|udp|sctp)://(?:{_ADDRESS}|\[{_ADDRESS}\]):[0-9]+"
KUBERNETES_VARIABLE = re.compile(
    rf"""{PREFIX}(?:[A-Z0-9_]+_)?(?:
        SERVICE_HOST={_ADDRESS}
      | SERVICE_PORT(?:_[A-Z0-9_]+)?=[0-9]+
      | PORT(?:_[0-9]+_(?:TCP|UDP|SCTP))?={_LINK}
      | PORT_[0-9]+_(?:TCP|UDP|SCTP)_(?:PROTO=(?:tcp|udp|sctp)|PORT=[0-9]+|ADDR={_ADDRESS})
    )""",
    re.VERBOSE,
)
"""Kubernetes sets these in every pod for a Service whose name begins with `tenure`: not settings either."""


class Alias(NamedTuple):
    """Another name of a setting, from a design that Tenure unites; values are multiplied by `unit`."""

    name: str
    unit: float = 1


ALIASES = {
    "max_concurrent_executions": Alias("slots"),
    "cancel_grace_ms": Alias("grace_seconds", 0.001),
    "job_buffer_size": Alias("buffer"),
    "task_timeout": Alias("timeout_seconds"),
    "delta": Alias("lost_margin_seconds"),
    "max_retries": Alias("max_attempts"),
    "lock_timeout": Alias("lock_timeout_seconds"),
}


class Given(NamedTuple):
    """A value as written, with its name and where it stands."""

    name: str
    value: object
    source: str


class Loaded(NamedTuple):
    """The settings in force, and the source of each that is not a default."""

    settings: Settings
    sources: Mapping[str, str]


def load(
    arguments: Mapping[str, object] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    file: "Path | None" = None,
) -> Loaded:
    """Read every source. Raises InvalidInput, which names the setting as written and its source.

    An argument of None counts as not given. `environment` defaults to the process's own.
    """
    environment = os.environ if environment is None else environment
    given = {name: value for name, value in (arguments or {}).items() if value is not None}
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for source in (
        _from_file(file, environment),
        _from_environment(environment),
        (Given(name, value, name) for name, value in given.items()),
    ):
        for name, found in _resolved(source).items():
            values[name] = _converted(name, found)
            sources[name] = found.source
    try:
        return Loaded(Settings(**values), sources)
    except InvalidInput as error:
        raise InvalidInput(sources.get(error.field, error.field), error.problem, error.remedy) from None


def _from_file(file: "Path | None", environment: Mapping[str, str]) -> Iterator[Given]:
    chosen = file or environment.get(FILE_VARIABLE)
    path = chosen or FILE
    try:
        with open(path, "rb") as opened:  # noqa: PTH123
            text = opened.read().decode()
        import tomllib

        table = tomllib.loads(text)
    except FileNotFoundError:
        if chosen is None:
            return
        raise InvalidInput(str(path), "does not exist", "name a file that can be read") from None
    except OSError as error:
        raise InvalidInput(str(path), f"cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InvalidInput(str(path), f"is not TOML: {error}") from None
    for name, value in table.items():
        yield Given(name, value, f"{path}: {name}")


def _from_environment(environment: Mapping[str, str]) -> Iterator[Given]:
    for variable, value in sorted(environment.items()):
        if variable in ATTEMPT_VARIABLES or _is_for_tests(variable) or _is_from_kubernetes(variable, value):
            continue
        if variable.startswith(PREFIX) and variable != FILE_VARIABLE:
            yield Given(variable.removeprefix(PREFIX).lower(), value, variable)


def _is_from_kubernetes(variable: str, value: str) -> bool:
    return KUBERNETES_VARIABLE.fullmatch(f"{variable}={value}") is not None


def _is_for_tests(variable: str) -> bool:
    return variable.startswith(f"{PREFIX}TEST_")


def _resolved(given: Iterator[Given]) -> dict[str, Given]:
    """Values by the setting's own name. Setting one thing under two names is refused."""
    found: dict[str, Given] = {}
    for one in given:
        name = ALIASES[one.name].name if one.name in ALIASES else one.name
        if name not in Settings.__struct_fields__:
            raise InvalidInput(one.source, "is not a setting", _nearest(one))
        if name in found:
            problem = f"is the same setting as {found[name].source}"
            raise InvalidInput(one.source, problem, "set only one of the two")
        found[name] = one
    return found


def _nearest(one: Given) -> str:
    import difflib

    known = [*Settings.__struct_fields__, *ALIASES]
    close = difflib.get_close_matches(one.name.lower(), known, n=1, cutoff=0.5)
    if not close:
        return "docs/reference/settings.md lists all settings"
    written = f"{PREFIX}{close[0].upper()}" if one.source.startswith(PREFIX) else close[0]
    return f"did you mean {written}?"


def _converted(name: str, given: Given) -> object:
    kind = {field.name: field.type for field in structs.fields(Settings)}[name]
    unit = ALIASES[given.name].unit if given.name in ALIASES else 1
    match kind:
        case _ if kind in {int, int | None}:
            return _number(given, int, "a whole number")
        case type() if kind is str:
            if not isinstance(given.value, str) or not given.value.strip():
                problem = "is not a text" if not isinstance(given.value, str) else "is empty"
                raise InvalidInput(given.source, problem, "give a text, or leave the setting out")
            return given.value
        case _ if kind in {float, float | None}:
            return _number(given, float, "a number") * unit
        case _:
            return _names(given)


def _number(given: Given, kind: Callable[[str], float], words: str) -> float:
    value = given.value
    if isinstance(value, int | float) and not isinstance(value, bool):
        if isinstance(value, int) or kind is float:
            return value
    elif isinstance(value, str):
        try:
            # int() and float() also accept 1_000, full-width digits and nan.
            if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value.strip()):
                return kind(value)
        except ValueError:
            pass
    raise InvalidInput(given.source, f"is {value!r:.64}", f"give {words}")


def _names(given: Given) -> tuple[str, ...]:
    value = given.value
    if isinstance(value, str):
        return tuple(name.strip() for name in value.split(",") if name.strip())
    if isinstance(value, list | tuple) and all(isinstance(name, str) for name in value):
        return tuple(value)
    raise InvalidInput(given.source, f"is {value!r:.64}", "give a list of texts, or one text with commas")
