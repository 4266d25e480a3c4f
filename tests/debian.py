"""What tests need and a machine may lack: Debian's packages, fetched once into the user's cache folder.

Nobody needs root's rights for it: packages are unpacked and used from where they lie. Only what needs half of
a system around it is installed, by root.
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NoReturn


def fetched(package: str) -> Path:
    """The folder that a package and the libraries that it depends on are unpacked in."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tenure-tests"
    target = cache / package
    if not target.exists():
        cache.mkdir(parents=True, exist_ok=True)
        _fetch(package, cache, target)
    return target


def installed(program: str, package: str) -> str:
    """Where a program of the system is; its package is installed if it is not there, and nobody minds."""
    if found := shutil.which(program):
        return found
    waiting = ["-o", "DPkg::Lock::Timeout=300"]
    _output(package, ["apt-get", *waiting, "update"], "/")
    _output(package, ["apt-get", *waiting, "install", "--yes", "--no-install-recommends", package], "/")
    return shutil.which(program) or _missing(package, f"it brought no {program}")


def _missing(package: str, why: str) -> NoReturn:
    raise RuntimeError(f"the tests need {package}: install the Debian package `{package}` ({why})")


def _fetch(package: str, cache: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        depends = re.findall(
            r"^ *Depends: (\S+)", _output(package, ["apt-cache", "depends", package], folder), re.M
        )
        libraries = {name for name in depends if name.startswith("lib") and name != "libc6"}
        _output(package, ["apt-get", "download", package, *sorted(libraries)], folder)
        for found in Path(folder).glob("*.deb"):
            _output(package, ["dpkg-deb", "-x", found.name, "root"], folder)
        try:
            (Path(folder) / "root").rename(target)
        except OSError:
            # Another process was faster, and its copy is as good.
            if not target.exists():
                raise


def _output(package: str, command: list[str], folder: str) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        _missing(package, f"{command[0]}, which would fetch it, is missing")
    if done.returncode:
        _missing(package, f"{' '.join(command)} said: {done.stderr.strip()}")
    return done.stdout
