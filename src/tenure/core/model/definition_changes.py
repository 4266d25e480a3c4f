"""What differs between two definitions of one key and version, and what to do about it."""

from tenure.core.model.spec import Spec
from tenure.core.values.schema_changes import MOST, schema_changes

_PARAMS = "params_schema"


def definition_changes(before: Spec, after: Spec) -> str:
    """How a definition differs from one of the same key and version; empty where it does not."""
    parts = []
    if others := [name for name in _fields() if getattr(before, name) != getattr(after, name)]:
        parts.append(f"in {', '.join(others)}")
    if changes := schema_changes(before.params_schema, after.params_schema):
        more = f", and {len(changes) - MOST} more" if len(changes) > MOST else ""
        parts.append(f"in its params: {', '.join(change.text for change in changes[:MOST])}{more}")
    return " and ".join(parts)


def advice_on(before: Spec, after: Spec) -> str:
    """What to do where params differ; empty where they do not."""
    changes = schema_changes(before.params_schema, after.params_schema)
    if not changes:
        return ""
    version = after.version
    if any(change.breaks for change in changes):
        return (
            f"jobs that wait under version {version} may not fit: raise version= to {version + 1}, and keep "
            f"a function with version={version} until they are done, for no worker runs them otherwise"
        )
    return f"jobs that wait still fit; raise version= to {version + 1} if the meaning has changed, too"


def _fields() -> list[str]:
    return [name for name in Spec.__struct_fields__ if name not in {"key", "version", _PARAMS}]
