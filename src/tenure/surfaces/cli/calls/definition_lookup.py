"""Finds a registered definition by the key and version that people type."""

import difflib
from collections.abc import Sequence

from tenure.core.errors import UnknownDefinition
from tenure.core.reports.operations import Definition
from tenure.engine.client.client import JobClient


async def definition_named(client: JobClient, key: str, version: int | None) -> Definition:
    """The definition of a key and a version, by default the newest; raises UnknownDefinition with a hint."""
    known = await client.definitions()
    found = [one for one in known if one.key == key and version in {None, one.version}]
    if not found:
        raise unknown(key, version, known)
    return max(found, key=lambda one: one.version)


def unknown(key: str, version: int | None, known: Sequence[Definition]) -> UnknownDefinition:
    """The error for a definition that is not registered, with the one that may be meant."""
    versions = [str(definition.version) for definition in known if definition.key == key]
    near = difflib.get_close_matches(key, {definition.key for definition in known}, n=1)
    if versions:
        remedy = f"known versions: {', '.join(versions)}"
    elif near:
        remedy = f"did you mean {near[0]}?"
    else:
        remedy = "start a worker for it on this database: workers register their definitions"
    return UnknownDefinition(key, version, remedy)
