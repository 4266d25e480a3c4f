"""Saves definitions to the store, with their limits."""

from collections.abc import Collection

from tenure.core.model.definition_changes import advice_on, definition_changes
from tenure.core.model.spec import Spec
from tenure.core.reports.operations import Definition
from tenure.storage.contract.store import Store


async def save_definitions(
    store: Store, specs: Collection[Spec], by: str, *, replace: bool = True, resizes: bool = True
) -> list[str]:
    """Save definitions; returns what has changed, in words, of those that were there before.

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
    return [_told(Spec.read(old.spec), by_name[old.key, old.version]) for old in changed]


def _told(before: Spec, after: Spec) -> str:
    changes = definition_changes(before, after) or "in how it is written"
    advice = advice_on(before, after)
    text = f"{after.key}@{after.version} differs from what was registered before, {changes}"
    return f"{text}; {advice}" if advice else text
