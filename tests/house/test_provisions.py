"""What a machine lacks is brought, and what cannot be brought is named."""

import subprocess
from pathlib import Path

import pytest

from tests import debian, node
from tests.provisions import NEEDED, bring


def test_a_script_starts_a_program_with_the_libraries_that_came_along(tmp_path: Path) -> None:
    (folder := tmp_path / "it's here/usr/lib").mkdir(parents=True)
    (folder / "libone.so.1").touch()
    (program := folder / "program").write_text('#!/bin/sh\necho "$LD_LIBRARY_PATH" "$2"\n')
    program.chmod(0o755)
    (script := tmp_path / "script").write_text(debian.script_for(program, tmp_path / "it's here"))
    script.chmod(0o755)
    assert subprocess.check_output([script, "a", "b c"], text=True) == f"{folder} b c\n"


def test_a_package_that_cannot_be_fetched_is_an_error_which_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(debian.PackageMissing, match=r"Debian package `pgbouncer` \(apt-get.* is missing\)"):
        debian.fetched("pgbouncer", place=tmp_path)
    assert not (tmp_path / "pgbouncer").exists()


def test_what_cannot_be_brought_is_told_and_the_rest_is_brought(capsys: pytest.CaptureFixture[str]) -> None:
    came: list[str] = []

    def fail() -> None:
        raise debian.PackageMissing("install the Debian package `one`")

    bring({"One": fail, "another": lambda: came.append("another")})
    assert came == ["another"]
    assert capsys.readouterr().out == "== One: install the Debian package `one`\n"


@pytest.mark.parametrize("name", NEEDED)
def test_all_that_tests_need_is_here(name: str) -> None:
    assert Path(str(NEEDED[name]())).exists()


def test_node_runs() -> None:
    assert subprocess.check_output([node.program(), "--version"], text=True).startswith("v")
