"""Ids of jobs as people give them to commands: in full, or by the last eight characters that are shown."""

import re
from uuid import UUID

from tenure.api import inputs
from tenure.core.errors import InvalidInput, TenureError
from tenure.core.values.bounds import MOST_LOOKED_AT
from tenure.engine.client.client import JobClient

JobName = UUID | str
"""A full id, or the last characters of one."""

MOST_CANDIDATES = 10
_ENDING = re.compile(r"[0-9a-f]{8,12}", re.IGNORECASE | re.ASCII)


class NoSuchEnding(TenureError):
    """None of the newest jobs has an id that ends so."""


class SeveralEndings(InvalidInput):
    """Several of the newest jobs have ids that end so."""


def read(text: str) -> JobName:
    """The full id of a job, or the eight characters at its end, up to twelve. Raises InvalidInput."""
    if _ENDING.fullmatch(text):
        return text.lower()
    try:
        return inputs.job_id(text)
    except InvalidInput as error:
        remedy = "give the full id of a job, 36 characters, or its last 8"
        raise InvalidInput(error.field, error.problem, remedy) from None


async def full_id(client: JobClient, name: JobName) -> UUID:
    """The full id; raises NoSuchEnding, or SeveralEndings with the candidates."""
    if isinstance(name, UUID):
        return name
    found = await client.ending_in(name, limit=MOST_CANDIDATES)
    if not found:
        raise NoSuchEnding(
            f"none of the newest {MOST_LOOKED_AT:,} jobs has an id that ends in {name}; give the last 8 "
            "characters, not the first, and of an older job the full id"
        )
    if len(found) > 1:
        problem = f"is {name}, and several jobs have ids that end so: {', '.join(map(str, found))}"
        raise SeveralEndings("job", problem, "give one of them in full")
    return found[0]
