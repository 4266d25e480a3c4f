"""The page about the command line has every command, with the options that it has now."""

import click
import pytest

from tenure.surfaces.cli.commands import commands
from tenure.surfaces.cli.exit_codes import EXIT_CODES, INTERRUPTED
from tools.commands import PAGE, page


def _paths(command: click.Command, path: str) -> list[str]:
    below = command.commands if isinstance(command, click.Group) else {}
    return [path, *(found for name, one in below.items() for found in _paths(one, f"{path} {name}"))]


def _commands(command: click.Command) -> list[click.Command]:
    below = command.commands.values() if isinstance(command, click.Group) else ()
    return [command, *(found for one in below for found in _commands(one))]


@pytest.mark.parametrize("path", _paths(commands, "tenure"))
def test_every_command_has_a_section(path: str) -> None:
    assert f"\n## {path}\n" in PAGE.read_text(encoding="utf-8"), "run `make states`"


def test_the_page_is_what_the_commands_say_now() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make states`"


def test_no_line_of_a_list_of_commands_is_cut() -> None:
    """At the width that click takes on a terminal: what ends in dots says too little to choose by."""
    groups = [one for one in _commands(commands) if isinstance(one, click.Group)]
    assert len(groups) > 5
    for group in groups:
        room = 78 - 6 - max(map(len, group.commands))
        cut = {name: one.get_short_help_str(room) for name, one in group.commands.items()}
        assert not [name for name, text in cut.items() if len(text) > room or text.endswith("...")]


def test_every_exit_code_is_explained() -> None:
    for code in {0, INTERRUPTED, *(code for _, code in EXIT_CODES)}:
        assert f"\n| {code} | " in page()
