"""What tests need and a machine may lack: Debian's packages, unpacked into a cache and used from there.

It needs no root and changes no system: to install PostgreSQL would start a server.
For the same reason apt is given lists and a cache of its own. The system's books are only read, so that of
all that a package depends on nothing is fetched which is there already.
"""

import fcntl
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

SCRIPTS = "run"
"""The folder of scripts that start a package's programs with the libraries that were unpacked beside them."""

_SYSTEMS_OWN = ("libc6_", "libc-bin_")
"""The loader and the library that every program has in memory already must be of one make."""

_FONTS_FILE = "etc/fonts/fonts.conf"
_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>{place}/usr/share/fonts</dir>
  <cachedir>{place}/var/cache/fontconfig</cachedir>
  <include>{place}/usr/share/fontconfig/conf.avail/60-latin.conf</include>
</fontconfig>
"""


class PackageMissing(RuntimeError):
    """A package that is not here and could not be fetched; the text names it."""


def cache() -> Path:
    """Where packages are kept; root's are to be reached by the users whom tests run servers as."""
    if os.geteuid() == 0:
        return Path("/var/cache/tenure-tests")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tenure-tests"


def program(name: str, package: str, folder: str = "usr/bin") -> str:
    """Where a program is: the system's, or else the one in that folder of its package."""
    # What is in `sbin` is there for everybody, though not on everybody's PATH.
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"
    return shutil.which(name, path=path) or str(fetched(package, folder) / SCRIPTS / name)


def fetched(package: str, programs: str | None = None, place: Path | None = None) -> Path:
    """The folder that a package is unpacked in, with what it depends on and the system lacks.

    For the programs in one of its folders there are scripts to start them by, in `SCRIPTS`.
    """
    place = place or cache()
    target = place / package
    if not target.exists():
        with alone(place):
            if not target.exists():
                _fetch(package, target, programs)
    return target


def script_for(program: Path, root: Path, target: Path | None = None) -> str:
    """A script that starts a program with the libraries of a folder, which may be about to move."""
    place = target or root
    folders = {place / found.parent.relative_to(root) for found in root.rglob("*.so*")}
    variables = {"LD_LIBRARY_PATH": ":".join(sorted(map(str, folders)))}
    if (root / _FONTS_FILE).exists():
        variables["FONTCONFIG_FILE"] = str(place / _FONTS_FILE)
    settings = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
    return f'#!/bin/sh\n{settings}exec {shlex.quote(str(program))} "$@"\n'


@contextmanager
def alone(place: Path) -> Iterator[None]:
    """Make the folder, and keep out others that fetch something there: tests run side by side."""
    place.mkdir(parents=True, exist_ok=True)
    place.chmod(0o755)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(package: str, target: Path, programs: str | None) -> None:
    print(f"== {package} is not here: fetching Debian's package into {target}", flush=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        _download(package, Path(folder), target.parent / "lists")
        root = Path(folder) / "root"
        for found in sorted((Path(folder) / "archives").glob("*.deb")):
            if not found.name.startswith(_SYSTEMS_OWN):
                _output(package, ["dpkg-deb", "-x", str(found), str(root)])
        if not root.exists():
            _missing(package, "apt-get fetched nothing")
        if programs is not None:
            if not (root / programs).is_dir():
                _missing(package, f"what was fetched has no {programs}")
            _write_scripts(root, programs, target)
        # Whole or not at all: a process that finds the folder may use it.
        root.rename(target)


def _download(package: str, folder: Path, lists: Path) -> None:
    (folder / "archives/partial").mkdir(parents=True)
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    settings = {
        "Dir::State::lists": lists,
        "Dir::Cache": folder,
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "Debug::NoLocking": "true",
        "APT::Sandbox::User": "root",
    }
    apt = ["apt-get", *(word for name, value in settings.items() for word in ("-o", f"{name}={value}"))]
    # A source that does not answer may be one that is not needed; if it is, the next command tells.
    _run(package, [*apt, "update"])
    wanted = ["install", "--yes", "--no-install-recommends", "--download-only", "--reinstall", package]
    _output(package, [*apt, *wanted])


def _write_scripts(root: Path, programs: str, target: Path) -> None:
    """Scripts for all programs of a folder, which will lie in the target."""
    if (fonts := root / _FONTS_FILE).exists():
        # The system knows of no fonts: those that came along are named where they lie.
        fonts.write_text(_FONTS.format(place=target))
    (root / SCRIPTS).mkdir()
    (root / SCRIPTS).chmod(0o755)
    for found in (root / programs).iterdir():
        if found.is_file() and os.access(found, os.X_OK):
            script = root / SCRIPTS / found.name
            script.write_text(script_for(target / programs / found.name, root, target))
            script.chmod(0o755)


def _missing(package: str, why: str) -> NoReturn:
    raise PackageMissing(f"the tests need {package}: install the Debian package `{package}` ({why})")


def _output(package: str, command: list[str]) -> str:
    done = _run(package, command)
    if done.returncode:
        _missing(package, f"{' '.join(command)} said: {done.stderr.strip()}")
    return done.stdout


def _run(package: str, command: list[str]) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    except FileNotFoundError:
        _missing(package, f"{command[0]}, which would fetch it, is missing")
