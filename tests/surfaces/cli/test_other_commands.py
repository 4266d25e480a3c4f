"""Commands of other job systems, typed at this one."""

from pathlib import Path

import pytest

from tenure.surfaces.cli.calls.jobs import jobs
from tenure.surfaces.cli.commands import commands
from tenure.surfaces.cli.other_commands import _OPTIONS, _WORDS
from tenure.surfaces.cli.schedules.commands import schedules
from tests.surfaces.command import tenure


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("retry", "No such command 'retry'; use `tenure jobs replay ID`."),
        ("why", "No such command 'why'; use `tenure jobs why`."),
        ("list", "No such command 'list'; use `tenure jobs list`."),
        ("beat", "No such command 'beat'; use `tenure schedules`; to start, nothing"),
        ("jobs retry", "No such command 'retry'; use `tenure jobs replay ID`."),
        ("jobs ls", "No such command 'ls'; use `tenure jobs list`."),
        ("jobs resume", "No such command 'resume'; use `tenure jobs signal ID NAME PAYLOAD`."),
        ("schedules run-now nightly", "No such command 'run-now'; use `tenure schedules trigger NAME`."),
        ("jobs whyy", "No such command 'whyy'."),
    ],
)
def test_a_command_of_another_system_has_its_word_here(tmp_path: Path, given: str, text: str) -> None:
    ran = tenure(tmp_path, *given.split())
    assert (ran.returncode, ran.stdout) == (2, "")
    assert text in ran.stderr


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            "worker -A jobs worker",
            "No such option -A; use `tenure worker MODULE:APP`, with the app as an argument.",
        ),
        ("-A jobs worker", "No such option -A; use `tenure worker MODULE:APP`"),
        ("worker jobs:app --concurrency=4", "No such option --concurrency; use --slots."),
        ("worker jobs:app -c4", "No such option -c; use --slots."),
        ("serve jobs:app -Q mail", "No such option -Q; use --queues."),
        ("worker jobs:app --slotz 4", "'--slots'"),
    ],
)
def test_an_option_of_another_systems_worker_has_its_word_here(tmp_path: Path, given: str, text: str) -> None:
    ran = tenure(tmp_path, *given.split())
    assert (ran.returncode, ran.stdout) == (2, "")
    assert text in ran.stderr


def test_no_word_hides_a_command() -> None:
    assert not _WORDS["tenure"].keys() & commands.commands.keys()
    assert not _WORDS["jobs"].keys() & jobs.commands.keys()
    assert not _WORDS["schedules"].keys() & schedules.commands.keys()


@pytest.mark.parametrize("name", ["worker", "serve"])
def test_no_word_hides_an_option(name: str) -> None:
    assert not _OPTIONS.keys() & {option for given in commands.commands[name].params for option in given.opts}
