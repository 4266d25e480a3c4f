"""Follows a page as a reader would: writes its files, types its commands into one shell, compares the output.

Times, durations, sizes and names of workers match any other of their kind. An id or a key of the page stands
for one of this run, the same one wherever it occurs again, in commands too. `…` stands for anything on its
line, and alone on a line for any lines.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self

from tests.wiretap import Overheard, makes_a_key

PATIENCE = 120.0
"""Seconds after which output that the page shows is taken never to come."""

LOOK = re.compile(r"cat |tenure jobs list|curl (?!.* -d )")
"""Commands that only read: repeated until they print what the page shows; a reader is slower than we are."""

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*(?:(?<=\\)\n.*)*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_NAMED = re.compile(r"tnr_\w+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ALIKE = (
    (
        re.compile(r"^bash: line \d+: +\d+ Killed .*\n", re.MULTILINE),
        "",
    ),  # the shell's message about a background process
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z|\b\d\d:\d\d:\d\d\b"), "<time>"),
    (re.compile(r"\b\d+(?:\.\d+)?(?:s|ms|[KMG])\b"), "<amount>"),
    (re.compile(r"(?<![\w.-])(?![0-9a-f]{8}-[0-9a-f]{4}-)[\w.-]+-\d+-[0-9a-f]{12}\b"), "<worker>"),
    (re.compile(r"[ \t]+"), " "),
)


class Typed(NamedTuple):
    """A command of the page, and what the page shows of its output."""

    command: str
    shown: str


def files(page: str) -> Iterator[tuple[str, str]]:
    """The files of the page: their names, from their first lines, and their text."""
    for kind, body in _FENCE.findall(page):
        if kind == "python":
            yield body.splitlines()[0].removeprefix("# "), body


def commands(page: str) -> Iterator[Typed]:
    """The commands of the page, in order."""
    for kind, body in _FENCE.findall(page):
        if kind == "console":
            yield from (Typed(*found) for found in _COMMAND.findall(body))


class Reader:
    """One shell for the commands of a page; `replaced` maps text of the page to that of this run."""

    def __init__(self, folder: Path, environment: Mapping[str, str], replaced: Mapping[str, str]) -> None:
        self._known: dict[str, str] = {}
        self._replaced = replaced
        self._shell = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,
        )

    @classmethod
    @contextmanager
    def at(cls, folder: Path, environment: Mapping[str, str], replaced: Mapping[str, str]) -> Iterator[Self]:
        """A reader; everything that it started ends with it."""
        reader = cls(folder, environment, replaced)
        try:
            yield reader
        finally:
            os.killpg(reader._shell.pid, signal.SIGKILL)
            reader._shell.communicate()

    def follow(self, typed: Typed) -> None:
        """Type a command, and compare its output with the page."""
        until = time.monotonic() + (PATIENCE if LOOK.match(typed.command) else 0)
        output = self._type(typed.command)
        while not (found := re.fullmatch(self._pattern(typed.shown), _alike(output))):
            if time.monotonic() >= until:
                raise AssertionError(f"$ {typed.command}\n{output}\nThe page shows:\n{typed.shown}")
            output = self._type(typed.command)
        names = dict.fromkeys(name for name in _NAMED.findall(typed.shown) if name not in self._known)
        self._known |= dict(zip(names, found.groups(), strict=True))

    def _type(self, command: str) -> str:
        for ours, here in (*self._known.items(), *self._replaced.items()):
            command = command.replace(ours, here)
        assert self._shell.stdin is not None
        assert isinstance(self._shell.stdout, Overheard)
        self._shell.stdout.may_show_a_key = makes_a_key(command.split())
        self._shell.stdin.write(f"{{ {command}\n}} 2>&1; printf '\\n\\0\\n'\n")
        self._shell.stdin.flush()
        output = "".join(iter(self._shell.stdout.readline, "\0\n"))
        for ours, here in self._replaced.items():
            output = output.replace(here, ours)
        return output

    def _pattern(self, shown: str) -> str:
        """What the output must match; an id or key that is new on the page is a group of its own."""
        lines = _alike(shown).splitlines()
        pattern = "".join(
            r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + r"\n" for line in lines
        )
        for name in dict.fromkeys(_NAMED.findall(shown)):
            if name in self._known:
                pattern = pattern.replace(re.escape(name), re.escape(self._known[name]))
            else:
                pattern = pattern.replace(re.escape(name), f"({_NAMED.pattern})", 1)
        return pattern


def _alike(text: str) -> str:
    for kind, hole in _ALIKE:
        text = kind.sub(hole, text)
    return "".join(f"{line.strip()}\n" for line in text.strip().splitlines())
