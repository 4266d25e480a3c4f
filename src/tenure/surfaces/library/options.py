"""Reads options of a definition as people write them: exceptions by class or name, sizes such as 512M."""

import re
from collections.abc import Iterable

from tenure.api.job_options import Duration, duration
from tenure.core.errors import InvalidInput
from tenure.core.model.policy import RetryPolicy
from tenure.core.model.retry import qualified_name

_SIZE = re.compile(r"([0-9]+) ?([KMG])(?:i?B)?")
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


def backoff(base: Duration = 1, cap: Duration = 300) -> RetryPolicy:
    """Waits before further attempts: about `base` times 2, 4, 8 … with some jitter, at most `cap`."""
    return RetryPolicy(base=duration("base", base), cap=duration("cap", cap))


def memory_size(value: int | str | None) -> int | None:
    """Bytes, from a number or a text such as 512M."""
    if not isinstance(value, str):
        return value
    if not (found := _SIZE.fullmatch(value.strip())):
        raise InvalidInput("memory", f"is {value!r:.64}", 'give bytes, or a text such as "512M"')
    return int(found[1]) * _UNITS[found[2]]


def exception_names(
    field: str, kinds: Iterable[type[BaseException] | str] | type[BaseException] | str
) -> tuple[str, ...]:
    """The names by which a policy knows exceptions; names are kept as they are."""
    if isinstance(kinds, type | str):
        kinds = (kinds,)
    names = []
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, BaseException):
            names.append(qualified_name(kind))
        elif isinstance(kind, str):
            names.append(kind)
        else:
            raise InvalidInput(field, f"holds {kind!r:.64}", "give exception classes or their names")
    return tuple(dict.fromkeys(names))
