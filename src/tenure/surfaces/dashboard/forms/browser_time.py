"""Reads times from fields of browsers, which know no zones: they are in UTC."""

import re
from collections.abc import Callable
from datetime import datetime

from tenure.api import inputs
from tenure.core.errors import InvalidInput

_WITHOUT_ZONE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2})(:[0-9]{2}(\.[0-9]{1,3})?)?")


def browser_time(field: str, text: str, read: Callable[[str], datetime] = inputs.moment) -> datetime:
    """The time in a field, read by `read`. Raises InvalidInput that names the field."""
    found = _WITHOUT_ZONE.fullmatch(text)
    try:
        return read(f"{found[1]}{found[2] or ':00'}Z" if found else text)
    except InvalidInput as error:
        raise InvalidInput(field, error.problem, error.remedy) from None
