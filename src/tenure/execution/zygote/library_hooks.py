"""Lets the zygote fork without the standard library's hooks at fork.

`threading`, `logging` and `concurrent.futures` make their locks anew in every forked process, since another
thread might have held one, and forget the other threads. A zygote has one thread and forks outside of any
lock, so there is nothing to make anew; yet their hooks write to a hundred pages, and each child copies what
it writes to. `random` is seeded anew in every forked process. The zygote does that itself, before each fork:
every child begins with another state, and nothing of it remains in the zygote.

Python cannot unregister a hook. So `install` puts a function in front of `os.register_at_fork` before the app
loads those modules, and registers their hooks as one, which does nothing where the zygote forks. When a
handler forks, they run as ever. Hooks of all others are registered as ever, too.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

_register = os.register_at_fork

_NEWEST = (3, 13)
"""The newest Python whose hooks were read; those of a newer one run at every fork."""

_HOOKED = ("threading.py", "logging/__init__.py", "concurrent/futures/thread.py")
_SEEDED = "random.py"


class LibraryHooks:
    """The standard library's hooks at fork, which run at all forks but those that `fork` makes."""

    def __init__(self) -> None:
        folder = os.path.dirname(os.__file__)  # noqa: PTH120
        self._hooked = frozenset(f"{folder}/{file}" for file in _HOOKED)
        self._seeded = f"{folder}/{_SEEDED}"
        self._before: list[Callable[[], object]] = []
        self._in_parent: list[Callable[[], object]] = []
        self._in_child: list[Callable[[], object]] = []
        self._seeds: list[Callable[[], object]] = []
        self._are_left_out = False

    def install(self) -> None:
        """Take in the hooks of modules that are loaded from now on."""
        if sys.version_info[:2] > _NEWEST:
            return
        _register(
            before=self._run_before, after_in_parent=self._run_in_parent, after_in_child=self._run_in_child
        )
        os.register_at_fork = self._take_in

    def fork(self) -> int:
        """Fork, from a process of one thread that holds no lock."""
        self._are_left_out = True
        try:
            return os.fork()
        finally:
            self._are_left_out = False

    def _take_in(self, **hooks: Any) -> None:
        module = sys._getframe(1).f_code.co_filename
        if module not in self._hooked and module != self._seeded:
            _register(**hooks)
            return
        for when, known in (
            ("before", self._before),
            ("after_in_parent", self._in_parent),
            ("after_in_child", self._seeds if module == self._seeded else self._in_child),
        ):
            if when in hooks:
                known.append(hooks[when])

    def _run_before(self) -> None:
        if self._are_left_out:
            for seed in self._seeds:
                seed()
            return
        for hook in reversed(self._before):
            hook()

    def _run_in_parent(self) -> None:
        if not self._are_left_out:
            for hook in self._in_parent:
                hook()

    def _run_in_child(self) -> None:
        if not self._are_left_out:
            for hook in (*self._in_child, *self._seeds):
                hook()
