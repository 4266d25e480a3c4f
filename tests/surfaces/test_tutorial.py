"""The tutorial, followed to the letter by a reader that notices every difference."""

import re
import shlex
import sys
from pathlib import Path

import click
import pytest

from tenure.core.values.urls import masked
from tenure.surfaces.cli.commands import commands as tenure_commands
from tests.debian import program
from tests.ports import free_port
from tests.surfaces.command import environment
from tests.surfaces.docs_reader import Reader, Typed, commands, files
from tests.whole import dealt

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/tutorial.md").read_text()
TEN_SECONDS = "await asyncio.sleep(0.5)"
UNTIL_KILLED = "await asyncio.sleep(3600 if (params.pages, ctx.attempt) == (20, 1) else 0.5)"
"""The worker is killed while the job runs, however long the commands before that take on a busy machine."""


@pytest.mark.long
@pytest.mark.parametrize("migrated", dealt(0), indirect=True)
@pytest.mark.timeout(900)  # some thirty commands, most of which start an interpreter
def test_the_tutorial_is_followed_to_its_end(tmp_path: Path, migrated: str) -> None:
    """S1.2, S1.23, S3.1: functions become jobs, one outlives its worker, and nothing is lost."""
    port = str(free_port())
    around = environment(TENURE_DATABASE=migrated, TENURE_PORT=port)
    curl = Path(program("curl", "curl")).parent
    around["PATH"] = f"{Path(sys.executable).parent}:{around['PATH']}:{curl}"
    here = {":8000": f":{port}", "sqlite:///tenure.db": masked(migrated)}
    with Reader.at(tmp_path, around, here) as reader:
        for name, text in files(PAGE):
            (tmp_path / name).write_text(text.replace(TEN_SECONDS, UNTIL_KILLED))
        assert PAGE.count(TEN_SECONDS) == 1
        for typed in commands(PAGE):
            reader.follow(typed)


def test_the_test_that_the_tutorial_writes_passes(tmp_path: Path) -> None:
    around = environment()
    around["PATH"] = f"{Path(sys.executable).parent}:{around['PATH']}"
    with Reader.at(tmp_path, around, {}) as reader:
        for name, text in files(PAGE):
            (tmp_path / name).write_text(text)
        [typed] = [typed for typed in commands(PAGE) if "pytest" in typed.command]
        reader.follow(typed)
    assert not (tmp_path / "tenure.db").exists()


@pytest.mark.parametrize("typed", [typed for typed in commands(PAGE) if typed.command.startswith("tenure ")])
def test_every_command_of_the_tutorial_is_one(typed: Typed) -> None:
    """Its name and its options; what it says is seen by `make long`."""
    _, *words = shlex.split(re.split(r" (?:&|\||[0-9]?>)", typed.command)[0])
    command: click.Command = tenure_commands
    while isinstance(command, click.Group):
        command = command.commands[words.pop(0)]
    command.make_parser(click.Context(command)).parse_args(words)


def test_it_is_installed_as_the_readme_says() -> None:
    first = re.findall(r"^```sh\n(.*)\n```$", (ROOT / "README.md").read_text(), re.MULTILINE)[0]
    install = re.findall(r"^```sh\n(.*)\n```$", PAGE, re.MULTILINE)[0]
    assert install.rpartition(" && ")[0] == first.rpartition(" && ")[0]


ID, OTHER = "01a1e2ea-f7ae-79fc-8d96-c4b36c7c6f03", "01a1e2ec-132f-7701-9f60-add46d55505d"


@pytest.mark.parametrize(
    ("typed", "fits"),
    [
        ([("echo '  a   b'", "a b")], True),
        ([("echo a b", "a c")], False),
        ([("echo a", "")], False),
        ([("true", "a")], False),
        ([("printf 'a\\nb\\nc\\n'", "a\n…\nc")], True),
        ([("printf 'a\\nc\\n'", "a\n…\nc")], True),
        ([("printf 'a\\nc\\n'", "a\n…")], True),
        ([("printf 'a\\nb\\nd\\n'", "a\n…\nc")], False),
        ([("echo took 3.25s at 10:11:12", "took 11.5s at 23:59:59")], True),
        ([(f"echo {ID}", OTHER), (f"echo {ID}", OTHER)], True),
        ([(f"echo {ID}", OTHER), (f"echo {OTHER}", ID)], True),
        ([(f"echo {ID}", OTHER), (f"echo {'0' + ID[1:]}", ID), ("echo " + "0" * 8 + ID[8:], OTHER)], False),
        ([("A=3", ""), ("echo $A", "3")], True),
        ([('echo \'{"a":1,"b":2}\'', '{…"b":2}')], True),
    ],
)
def test_a_reader_notices_what_is_not_as_shown(
    tmp_path: Path, typed: list[tuple[str, str]], fits: bool
) -> None:
    """A follower that was never seen to fail proves nothing."""
    with Reader.at(tmp_path, environment(), {}) as reader:
        try:
            for one in typed:
                reader.follow(Typed(*one))
        except AssertionError:
            assert not fits
        else:
            assert fits
