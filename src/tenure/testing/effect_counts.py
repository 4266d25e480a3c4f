"""Counts the effects that a test tells of, in whatever form it keeps them."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from inspect import iscoroutinefunction
from typing import Any

from tenure.core.errors import InvalidInput

Effects = Iterable[object] | Callable[[], Iterable[object]]
"""Everything that has happened so far: a list that grows, or a function that looks."""

_REMEDY = "give a list that the code under test adds to, or a function that returns all effects so far"


class EffectCounts:
    """How often each effect has happened since `begin`, but for what the unwinding of a crash did."""

    def __init__(self, effects: Effects) -> None:
        is_kept = isinstance(effects, Iterable) and not isinstance(effects, str | bytes)
        if not (is_kept or callable(effects)) or iscoroutinefunction(effects):
            raise InvalidInput("effects", f"is {effects!r:.64}", _REMEDY)
        self._effects = effects
        self.begin()

    def begin(self) -> None:
        """Count from now on."""
        self._before = self._look()
        self._at_crash: Counter[Hashable] | None = None
        self._unwinding: Counter[Hashable] = Counter()

    def crash(self) -> None:
        """Note what has happened up to a crash."""
        self._at_crash = self._look()

    def unwound(self) -> None:
        """Leave out what has happened since the crash: a process that is killed would not have done it."""
        if self._at_crash is not None:
            self._unwinding = self._look() - self._at_crash

    def since(self) -> Counter[Hashable]:
        """What has happened since the beginning."""
        return self._look() - self._before - self._unwinding

    def _look(self) -> Counter[Hashable]:
        found: Any = self._effects() if callable(self._effects) else self._effects
        if isinstance(found, Mapping):
            found = found.items()
        if not isinstance(found, Iterable) or isinstance(found, str | bytes):
            raise InvalidInput("effects", f"returned {found!r:.64}", _REMEDY)
        return Counter(map(_counted, found))


class Unhashed(str):
    """What cannot be counted by itself, such as a dict: counted, and shown, by its text."""

    __slots__ = ()
    __repr__ = str.__str__


def _counted(effect: object) -> Hashable:
    try:
        hash(effect)
    except TypeError:
        return Unhashed(repr(effect))
    return effect
