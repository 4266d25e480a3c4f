"""Definitions that workers have registered, by what people write of them."""

import difflib
from collections.abc import Sequence

from tenure.core.errors import UnknownDefinition
from tenure.core.operations import Definition
from tenure.engine.client import Client


async def definition_named(client: Client, key: str, version: int | None) -> Definition:
    """The definition of a key and version, or of the newest one; raises UnknownDefinition with a hint."""
    known = await client.definitions()
    found = [one for one in known if one.key == key and version in {None, one.version}]
    if not found:
        raise unknown(key, version, known)
    return max(found, key=lambda one: one.version)


def unknown(key: str, version: int | None, known: Sequence[Definition]) -> UnknownDefinition:
    """That nobody has registered it, and what may have been meant."""
    versions = [str(definition.version) for definition in known if definition.key == key]
    near = difflib.get_close_matches(key, {definition.key for definition in known}, n=1)
    if versions:
        remedy = f"its versions here: {', '.join(versions)}"
    elif near:
        remedy = f"did you mean {near[0]}?"
    else:
        remedy = "start a worker that serves it on this database; it registers what it serves"
    return UnknownDefinition(key, version, remedy)
