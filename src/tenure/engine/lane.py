"""What the engine asks of lanes: ways to run attempts."""

from typing import Protocol

from tenure.execution.lanes import Lane, Terms

__all__ = ["Lane", "Lanes", "Terms"]


class Lanes(Protocol):
    """Every lane of one app."""

    def named(self, name: str) -> Lane:
        """The lane that a definition asks for."""

    async def ready(self) -> None:
        """Return when attempts can be started; raises `AppFailed` when the app can no longer be imported."""
