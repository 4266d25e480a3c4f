"""Which variables of the worker its handlers are given, which not, and why not."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from tenure.core.model.retry import failure_of
from tenure.core.values.failure import Failure
from tenure.execution.protocol.variables import ALLOWED, BASE, NEVER, OF_THE_PROCESS, OURS, PRIVATE

EVERYTHING = "*"
"""The pattern that names every variable: what holds unless an operator says otherwise."""

IsSecret = Callable[[str, str], bool]
"""Takes the name and the value of a variable; whether the value holds what no handler may know."""

_MISSED = re.compile(r"\bKeyError: '([^'\n]+)'")
_QUOTED = re.compile(r"'([^'\n]+)'")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_LIST = 20


def _no_secret(_name: str, _value: str) -> bool:
    return False


class ChildEnvironment:
    """What the children of a worker see of its variables; `allowed` names them, or has patterns for them.

    A pattern gives nothing that is the worker's own: the variables of Tenure and PostgreSQL, those of its
    process, and those that `is_secret` finds. A name that is spelled out gives a variable whatever it holds,
    but for those in `NEVER`. `set_here` are variables that Tenure itself sets for every child.
    """

    def __init__(
        self,
        variables: Mapping[str, str],
        allowed: Sequence[str] = (EVERYTHING,),
        *,
        set_here: Mapping[str, str] | None = None,
        is_secret: IsSecret = _no_secret,
    ) -> None:
        self._variables = {**variables, **(set_here or {})}
        self._names = frozenset((*BASE, *(name for name in allowed if "*" not in name), *(set_here or {})))
        self._patterns = tuple(name for name in allowed if "*" in name)
        self._allowed = tuple(allowed)
        self._is_secret = is_secret
        self.shared = {
            name: value
            for name, value in self._variables.items()
            if name not in NEVER and (name in self._names or self._is_matched(name))
        }
        """The variables that every child is given, with their values."""

    def own(self, names: Iterable[str]) -> dict[str, str]:
        """What a child is given beyond `shared`: the variables that its definition names."""
        return {
            name: self._variables[name]
            for name in names
            if name in self._variables and name not in NEVER and name not in PRIVATE
        }

    @property
    def notice(self) -> str:
        """The line that says at the worker's start what handlers see; it has no values."""
        if EVERYTHING not in self._patterns:
            named = _listed([*self._patterns, *(name for name in self._spelled_out())])
            more = f" and, by {ALLOWED}, {named}" if named else f"; {ALLOWED} names no other"
            return f"environment: handlers see the variables {', '.join(BASE)}{more}"
        secret = sorted(name for name in self._variables if self._withheld_for(name) == _SECRET)
        found = f" ({_listed(secret)})" if secret else ""
        spelled = _listed(self._spelled_out())
        but = f"; {ALLOWED} gives them {spelled} all the same" if spelled else f"; {ALLOWED} can name fewer"
        return (
            "environment: handlers see this worker's variables, except TENURE_*, PG*, those of its service "
            f"manager, and those that hold the database's address or password{found}{but}"
        )

    def explained(self, error: Failure, given: Iterable[str] = ()) -> Failure:
        """A handler's failure; where it missed a variable that the worker has, the message says why.

        `given` are the variables that its definition names.
        """
        for name in _missed(error):
            if name in self._variables and name not in self.shared and name not in self.own(given):
                message = f"{error.message}; {self._why_missing(name)}"
                return failure_of(error.kind, message, error.traceback)
        return error

    def _spelled_out(self) -> list[str]:
        names = {name for name in self._allowed if "*" not in name and name not in BASE}
        return sorted(name for name in names if not name.startswith(OURS))

    def _is_matched(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self._patterns) and not self._withheld_for(name)

    def _withheld_for(self, name: str) -> str:
        """Why no pattern gives a variable; empty where one may."""
        if name in NEVER:
            return _FOR_GOOD
        if name.startswith(OURS):
            return _OURS
        if name in OF_THE_PROCESS:
            return _OF_THE_PROCESS
        return _SECRET if self._is_secret(name, self._variables[name]) else ""

    def _why_missing(self, name: str) -> str:
        start = f"the worker has the variable {name}, but "
        if (reason := self._withheld_for(name)) == _FOR_GOOD:
            return f"{start}{reason}"
        if not reason:
            return f"{start}{ALLOWED} does not name it, so its handlers have not"
        wide = f"{EVERYTHING}," if EVERYTHING in self._patterns else "…,"
        remedy = f"{ALLOWED}={wide}{name} gives it to them"
        return f"{start}withholds it from its handlers, because {reason}; {remedy}"


_FOR_GOOD = "no handler is ever given it: to enqueue jobs, use ctx.enqueue"
_OURS = "it is a setting of Tenure or of PostgreSQL"
_OF_THE_PROCESS = "it is for the worker's own process"
_SECRET = "its value holds the database's address or password"  # noqa: S105


def _missed(error: Failure) -> list[str]:
    """Names that were missed: that of a KeyError, also of one that led to it, or words of a message."""
    if error.kind == "KeyError":
        return _QUOTED.findall(error.message)[:1]
    if found := _MISSED.findall(f"{error.message}\n{error.traceback or ''}"):
        return list(found)
    return _WORD.findall(error.message) if "env" in error.message.lower() else []


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _LONGEST_LIST
    return ", ".join(names[:_LONGEST_LIST]) + (f" and {more} more" if more > 0 else "")
