"""Putting definitions on record, with the limits that they bring."""

from collections.abc import Collection

from tenure.core.operations import Definition
from tenure.core.spec import Spec
from tenure.storage.contract import Store


async def register(
    store: Store, specs: Collection[Spec], by: str, *, replace: bool = True, resizes: bool = True
) -> list[str]:
    """Put definitions on record; answers with those that were there before and said something else.

    Those stay as they were unless `replace`. With `resizes`, a limit whose size the code has changed is set
    to it. Otherwise it stays as it is: an operator may have changed it.
    """
    by_name = {(spec.key, spec.version): spec for spec in specs}
    written = [
        Definition(key=spec.key, version=spec.version, spec=spec.document(), registered_by=by)
        for spec in specs
    ]
    changed = await store.put_definitions(written, replace=replace)
    for old in changed if replace and resizes else ():
        before = {limit.name: limit.size for limit in Spec.read(old.spec).all_limits}
        for limit in by_name[old.key, old.version].all_limits:
            if before.get(limit.name) != limit.size:
                await store.set_limit(limit.name, limit.size)
    return [f"{old.key}@{old.version}" for old in changed]
