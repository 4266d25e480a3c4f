"""The files that are generated from the table of steps are what the table says now."""

from pathlib import Path

import pytest

from tenure.core.model.states import STEPS, State
from tools import states


@pytest.mark.parametrize("path", states.GENERATED)
def test_a_generated_file_is_current(path: str) -> None:
    assert path not in states.stale(states.ROOT), "run `make states`"


def test_a_stale_file_is_named_and_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(states, "ROOT", tmp_path)
    assert states.main(["--check"]) == 1
    named = capsys.readouterr().err
    assert all(f"{path} is stale" in named for path in states.GENERATED)

    assert states.main([]) == 0
    assert states.main(["--check"]) == 0


def test_the_page_shows_every_state_and_every_step() -> None:
    page = states.states_page()
    for state in State:
        assert f"| `{state}` |" in page
    for step in STEPS:
        assert f"{step.source or '[*]'} --> {step.target}: " in page
        assert f"| `{step.target}` | `{step.event}` | {step.by} | {step.when} |" in page
