"""Lanes and programs in definitions: what is accepted, what is refused, and the way out."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tenure import Context, InvalidInput, InvalidParams, ProgramFailed, Tenure
from tenure.core.model.lanes import LANES
from tenure.core.model.spec import Spec
from tenure.settings.settings import Settings


class Film(msgspec.Struct):
    name: str
    frames: int = 24


@pytest.fixture
def app() -> Tenure:
    """An app whose database is never opened."""
    return Tenure("sqlite:///never.db", settings=Settings())


def plain() -> None: ...


async def later() -> None: ...


@pytest.mark.parametrize("lane", sorted({*LANES} - {"command"}))
def test_a_definition_says_its_lane_and_it_is_kept(app: Tenure, lane: Any) -> None:
    made = app.job("mail", lane=lane)(plain if lane == "thread" else later)
    assert made.spec.lane == lane
    assert Spec.read(made.spec.document()).lane == lane


def test_without_a_word_every_attempt_has_a_process(app: Tenure) -> None:
    assert app.job("mail")(plain).spec.lane == "process"


@pytest.mark.parametrize(
    ("terms", "field", "words"),
    [
        ({"lane": "proces"}, "lane", "give one of process, warm, async, thread, command, spawn"),
        ({"lane": None}, "lane", "give one of"),
        ({"lane": "command"}, "lane", "use app.command"),
        ({"lane": "async", "on_lost": "bury"}, "on_lost", 'use lane "process"'),
        ({"lane": "thread", "on_lost": "bury"}, "on_lost", 'use lane "process"'),
        ({"lane": "async", "memory": "1G"}, "memory", "share a process"),
        ({"lane": "thread", "cpu": 5}, "cpu", "share a process"),
        ({"lane": "async", "files": 64}, "files", "share a process"),
        ({"lane": "thread", "environment": ["SECRET"]}, "environment", "TENURE_CHILD_ENV"),
    ],
)
def test_what_a_lane_cannot_give_is_refused(
    app: Tenure, terms: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        app.job("mail", **terms)
    assert refused.value.field == field
    assert words in str(refused.value)


@pytest.mark.parametrize("lane", ["process", "warm", "spawn"])
def test_a_process_of_its_own_can_be_limited(app: Tenure, lane: Any) -> None:
    spec = app.job("mail", lane=lane, on_lost="bury", memory="1G", cpu=5, files=64)(plain).spec
    assert (spec.memory, spec.cpu, spec.files) == (1 << 30, 5, 64)


def test_a_function_must_fit_its_lane(app: Tenure) -> None:
    with pytest.raises(InvalidInput, match=r'plain: is a plain def.*write async def, or use lane "thread"'):
        app.job("a", lane="async")(plain)
    with pytest.raises(InvalidInput, match='later: is an async def in lane thread; use lane "async"'):
        app.job("b", lane="thread")(later)
    assert app.specs() == []


def test_what_a_later_version_has_stored_can_be_read() -> None:
    """A lane that this version does not know, and limits where it would refuse them."""
    later = Spec(key="mail", lane="quantum", memory=1 << 20)
    assert Spec.read(later.document()) == later
    shared = Spec(key="mail", lane="async", memory=1 << 20)
    assert Spec.read(shared.document()) == shared


def test_a_program_is_a_definition_like_any_other(app: Tenure) -> None:
    probe = app.command("probe", ["ffprobe", Path("-v")], params=Film, queue="video", timeout=5, memory="1G")

    @probe.on_fail
    def tell(ctx: Context) -> None: ...

    spec = probe.spec
    assert (spec.key, spec.lane, spec.queue, spec.memory, spec.hooks) == (
        "probe",
        "command",
        "video",
        1 << 30,
        ("on_fail",),
    )
    assert probe.new_job(Film("Nosferatu")).definition == "probe"
    assert Spec.read(spec.document()) == spec


def test_the_type_of_a_programs_params_is_its_schema(app: Tenure) -> None:
    typed, free = app.command("typed", ["cat"], params=Film), app.command("free", ["cat"])
    with pytest.raises(InvalidParams, match="params/name"):
        app._registry.check_params(typed.spec, typed.new_job({"frames": 1}).params)  # type: ignore[arg-type]
    app._registry.check_params(free.spec, free.new_job({"whatever": 1}).params)


@pytest.mark.parametrize(
    ("arguments", "more", "field", "words"),
    [
        ("ffprobe -v quiet", {}, "arguments", "no shell"),
        ([], {}, "arguments", "name no program"),
        ([""], {}, "arguments", "name no program"),
        (["cat", 5], {}, "arguments", "as a list"),
        (5, {}, "arguments", "as a list"),
        (["cat", "a\x00b"], {}, "arguments", "without NUL"),
        (["cat"], {"fatal_codes": 3}, "fatal_codes", "a list of exit codes"),
        (["cat"], {"fatal_codes": [0]}, "fatal_codes", "from 1 to 255"),
        (["cat"], {"fatal_codes": [256]}, "fatal_codes", "from 1 to 255"),
        (["cat"], {"fatal_codes": ["3"]}, "fatal_codes", "a whole number"),
        (["cat"], {"lane": "warm"}, "lane", "leave it out"),
        (["cat"], {"params": int}, "params", "no JSON object"),
        (["ffprobe", "{name}"], {"params": Film}, "arguments", "from standard input"),
    ],
)
def test_what_cannot_be_a_program_is_refused(
    app: Tenure, arguments: Any, more: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        app.command("bad", arguments, **more)
    assert refused.value.field == field
    assert words in str(refused.value)
    assert app.specs() == []


def test_a_term_that_there_is_not_is_an_error_of_the_call(app: Tenure) -> None:
    with pytest.raises(TypeError, match=r"command\(\) got an unexpected keyword argument 'tiemout'"):
        app.command("bad", ["cat"], tiemout=5)  # type: ignore[call-overload]


def test_two_of_one_name_are_told_apart(app: Tenure) -> None:
    app.command("probe", ["ffprobe"])
    with pytest.raises(InvalidInput, match="by the program ffprobe and by the program cat"):
        app.command("probe", ["cat"])


def test_a_program_can_be_called_as_it_is(
    app: Tenure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """For a user's own tests; it leaves no file behind."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    script = 'echo hello; cat > "$TENURE_RESULT"; test -z "$TENURE_JOB_ID"'
    probe = app.command("probe", ["sh", "-c", script], params=Film)
    assert probe(Film("Nosferatu")) == {"name": "Nosferatu", "frames": 24}
    assert capfd.readouterr().out == "hello\n"
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ProgramFailed, match="false exited with code 1") as failed:
        app.command("false", ["false"])()
    assert failed.value.kinds == ("ExitCode1", "ProgramFailed")
