"""Pauses over HTTP."""

from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType

from tenure.api.shapes import Name, PauseBody, PauseItem, Version
from tenure.core.reports.operations import PauseScope


class DefinitionScope(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which version and queue of the definition; without one, any, those that come later too."""

    version: Version | UnsetType = UNSET
    queue: Name | UnsetType = UNSET

    def of(self, key: str) -> PauseScope:
        """The scope of the definition with this key."""
        return PauseScope(
            "" if isinstance(self.queue, UnsetType) else self.queue,
            key,
            0 if isinstance(self.version, UnsetType) else self.version,
        )


class DefinitionPauseBody(PauseBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which version and queue of the definition (without one: any), until when, and why."""

    version: Version | UnsetType = UNSET
    queue: Name | UnsetType = UNSET

    def of(self, key: str) -> PauseScope:
        """The scope of the definition with this key."""
        return DefinitionScope(version=self.version, queue=self.queue).of(key)


class DefinitionPause(Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether the definition is paused in this version and queue; null means any."""

    definition_key: str
    definition_version: int | None
    queue: str | None
    paused: bool


class Pauses(Struct, frozen=True):
    """The pauses in force, by queue, definition and version."""

    items: Sequence[PauseItem]


def definition_pause(scope: PauseScope, *, paused: bool) -> DefinitionPause:
    """The answer to a pause or a resume."""
    return DefinitionPause(
        definition_key=scope.definition,
        definition_version=scope.version or None,
        queue=scope.queue or None,
        paused=paused,
    )
