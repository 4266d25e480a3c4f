"""Saves definitions to the store, with their limits."""

from collections.abc import Collection

from tenure.core.model.spec import Spec
from tenure.core.reports.operations import Definition
from tenure.storage.contract.store import Store


async def save_definitions(
    store: Store, specs: Collection[Spec], by: str, *, replace: bool = True, resizes: bool = True
) -> list[str]:
    """Save definitions; returns those that were there before with other content.

    Those are replaced only with `replace`. With `resizes`, a limit whose size has changed in the code gets
    the new size. Otherwise it stays as it is: an operator may have changed it.
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
