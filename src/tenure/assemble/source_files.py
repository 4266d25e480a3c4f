"""Watches the source files of an app, for `--reload`: compares their times and sizes, twice a second.

The worker never imports the app, so it does not know the app's modules. It watches every `.py` file below
the current folder, and below the folder of the app if that is elsewhere, except in virtual environments,
hidden folders and `node_modules`.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from importlib.machinery import PathFinder
from pathlib import Path

EVERY = 0.5
"""Seconds between two looks, and for how long files must stay as they are before they are imported."""

_PASSED_OVER = frozenset({"__pycache__", "node_modules", "site-packages"})
_Stamps = dict[str, tuple[int, int]]


class SourceFiles:
    """The source files below some folders."""

    def __init__(self, folders: list[Path]) -> None:
        self.folders = folders
        self._stamps = self._look()

    @classmethod
    def of(cls, app: str) -> "SourceFiles":
        """The files of an app, given as module:attribute, which is found but not imported."""
        here = Path.cwd()
        package = app.partition(":")[0].partition(".")[0]
        spec = PathFinder.find_spec(package, [str(here), *sys.path])
        places = [*(spec.submodule_search_locations or ()), spec.origin or ""] if spec is not None else []
        folder = next((Path(place).parent.absolute() for place in places if place), here)
        return cls([here] if folder.is_relative_to(here) else [here, folder])

    async def changes(self) -> AsyncIterator[list[str]]:
        """The files that were changed, added or removed, each time that some were and are now at rest."""
        while True:
            await asyncio.sleep(EVERY)
            before, now = self._stamps, await asyncio.to_thread(self._look)
            if now == before:
                continue
            while True:  # an editor, or git, may still be writing others
                await asyncio.sleep(EVERY)
                latest = await asyncio.to_thread(self._look)
                if latest == now:
                    break
                now = latest
            self._stamps = now
            yield sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))

    def _look(self) -> _Stamps:
        return dict(entry for folder in self.folders for entry in _stamps_in(str(folder)))


def _stamps_in(folder: str) -> Iterator[tuple[str, tuple[int, int]]]:
    try:
        entries = list(os.scandir(folder))
    except OSError:  # removed meanwhile, or closed to us
        return
    if any(entry.name == "pyvenv.cfg" for entry in entries):
        return
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _PASSED_OVER and not entry.name.startswith("."):
                    yield from _stamps_in(entry.path)
            elif entry.name.endswith(".py"):
                found = entry.stat()
                yield entry.path, (found.st_mtime_ns, found.st_size)
        except OSError:
            continue
