"""What is logged: of every signal an entry with its fields, on one line, without a secret, in both forms."""

import json
import logging
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from tenure.api.redaction import USUAL
from tenure.core.model.outcome import Recoverable
from tenure.core.model.states import State
from tenure.core.model.trail import LogLine
from tenure.core.signals import Signal, WorkerDraining, WorkerReady
from tenure.core.values.documents import write
from tenure.core.values.failure import Failure
from tenure.core.values.urls import masked_in
from tenure.execution.protocol.assignment import Assignment
from tenure.surfaces.cli.process import human_lines
from tenure.surfaces.cli.process.human_lines import HumanLines
from tenure.surfaces.cli.process.log_output import Libraries
from tenure.telemetry.logs.logs import LEVELS, LONGEST_ERROR, EventLog, LogEntry
from tenure.telemetry.logs.structured import Structured
from tests import canaries
from tests.telemetry.sample_signals import (
    EVERY_SIGNAL,
    FAILED_TICK,
    LEFT_ALONE,
    NASTY,
    OF_A_JOB,
    TICKED,
    TRACE,
    WORKER,
    settled,
    success,
)

PAGE = (Path(__file__).parents[3] / "docs/reference/logs.md").read_text()
OF_EVERY_JOB = ["jobId", "definition", "version", "queue", "attempt", "worker", "traceId"]


ATTEMPT = Assignment(job=UUID(int=1), fence=1, attempt=2, definition="mail", version=1)
PRINTABLE = NASTY.replace("\udc80", "")
FIELDS = {
    "logger": "shop",
    "token": canaries.PARAM,
    "exception": f"Traceback:\n{PRINTABLE}",
    "to": [PRINTABLE],
}


def hide(text: str) -> str:
    return USUAL.text(masked_in(text))


def entries(*signals: Signal, level: str = "debug") -> list[LogEntry]:
    """What is put down of signals, and of whatever else there is to say."""
    put: list[LogEntry] = []
    logs = EventLog(put.append, level)
    for signal in signals:
        logs(signal)
    return put


def everything() -> list[LogEntry]:
    """One entry of each kind at least, with the worst that can be in it."""
    put: list[LogEntry] = []
    logs = EventLog(put.append, "debug")
    for signal in EVERY_SIGNAL:
        logs(signal)
    logs.notice(NASTY.partition("password")[0])
    logs.output(f"{NASTY}".encode(errors="surrogateescape"))
    logs.line(ATTEMPT, LogLine(1, datetime.now(UTC), "stdout", NASTY))
    logs.line(ATTEMPT, LogLine(2, datetime.now(UTC), "error", NASTY, write(FIELDS)))
    logs.answered(uuid4(), "GET", "/v1/jobs", 200, 0.01, "k")
    try:
        raise RuntimeError(NASTY)
    except RuntimeError as error:
        logs.failed(uuid4(), error)
        record = logging.LogRecord("asyncio", logging.ERROR, "", 1, NASTY, None, (RuntimeError, error, None))
    logs.library(record)
    return put


def structured(given: list[LogEntry], *, notices: bool = True) -> list[dict[str, Any]]:
    lines = Structured(hide, notices=notices, hide_fields=USUAL.fields)(given, 0)
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("signal", OF_A_JOB, ids=lambda signal: type(signal).__name__)
def test_every_line_about_a_job_says_which_one_it_is(signal: Signal) -> None:
    """S1.74."""
    [_, line] = structured(entries(WorkerReady(WORKER), signal))
    assert [line[name] for name in OF_EVERY_JOB] == [
        *(str(UUID(int=1)), "mail", 2, "post", line["attempt"], "host-7-abc", TRACE)
    ]
    assert list(line)[:3] == ["timestamp", "level", "event"]


def test_every_attempt_is_told_with_its_duration_reason_retries_and_state() -> None:
    """S2.43, S3.5."""
    succeeded, retrying, failed = structured(entries(*OF_A_JOB[1:4]))
    names = ("level", "state", "outcome", "durationSeconds", "retries", "againInSeconds")
    assert [succeeded.get(name) for name in names] == ["info", "succeeded", "succeeded", 0.25, 0, None]
    assert [retrying.get(name) for name in names] == ["warning", "retrying", "recoverable", 0.25, 1, 4.0]
    assert [failed.get(name) for name in names] == ["error", "failed", "unrecoverable", 0.25, 2, None]
    assert retrying["reason"].startswith("ValueError: \x1b[2J\r\nforged")
    assert (succeeded["cpuSeconds"], succeeded["peakMemoryBytes"]) == (0.02, 3 << 20)


def json_lines(given: list[LogEntry]) -> list[bytes]:
    return list(Structured(hide, notices=True, hide_fields=USUAL.fields)(given, 7))


def console_lines(given: list[LogEntry]) -> list[bytes]:
    return HumanLines(hide, is_coloured=False, hide_fields=USUAL.fields)(given, 7)


@pytest.mark.parametrize("form", [json_lines, console_lines])
def test_nothing_forges_a_line_moves_the_cursor_or_tells_a_secret(
    form: Callable[[list[LogEntry]], list[bytes]],
) -> None:
    """S1.79, and row 90."""
    for line in form(everything()):
        text = line.decode()
        assert text.endswith("\n")
        assert text[:-1].isprintable()
        assert not text.startswith("forged")
        assert canaries.STEM not in text


def test_a_terminal_has_colours_of_ours_alone() -> None:
    lines = HumanLines(hide, is_coloured=True)(everything(), 0)
    ours = re.compile(r"\x1b\[\d*m")
    assert any(ours.search(line.decode()) for line in lines)
    assert all(ours.sub("", line.decode()[:-1]).isprintable() for line in lines)


def test_what_is_below_the_level_is_left_out_but_for_notices() -> None:
    for level in LEVELS:
        levels = {entry.level for entry in entries(*EVERY_SIGNAL, level=level)}
        assert levels == set(LEVELS[LEVELS.index(level) :])
    put: list[LogEntry] = []
    EventLog(put.append, "error").notice("http://127.0.0.1:8000 on sqlite:///tenure.db")
    assert len(put) == 1


@pytest.mark.parametrize(
    ("route", "status", "level"),
    [
        ("/v1/jobs", 200, "debug"),
        ("/v1/jobs", 422, "info"),
        ("/v1/jobs", 401, "warning"),
        ("/v1/jobs", 503, "warning"),
        ("/v1/jobs", 500, "error"),
        ("/readyz", 503, "debug"),
    ],
)
def test_what_goes_wrong_with_a_request_is_louder(route: str, status: int, level: str) -> None:
    put: list[LogEntry] = []
    EventLog(put.append, "debug").answered(uuid4(), "GET", route, status, 0.01, None)
    assert [entry.level for entry in put] == [level]


def test_successes_that_come_faster_than_anybody_reads_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else is left out, and each is counted."""
    monkeypatch.setattr(human_lines, "MOST_AT_ONCE", 3)
    given = entries(*(success(n) for n in range(10)), EVERY_SIGNAL[-3])
    lines = HumanLines(hide, is_coloured=False)(given, 0)
    assert len(lines) == 5
    assert lines[-1].endswith(b" 7 more succeeded\n")


def test_notices_are_for_people_unless_json_is_asked_for() -> None:
    put: list[LogEntry] = []
    EventLog(put.append).notice("app:app on sqlite:///tenure.db")
    assert list(Structured(hide, notices=False)(put, 0)) == [b"app:app on sqlite:///tenure.db\n"]
    [line] = structured(put)
    assert (line["event"], line["message"]) == ("notice", "app:app on sqlite:///tenure.db")


def test_every_event_and_field_is_described_and_no_other() -> None:
    lines = structured([*everything(), LogEntry(0.0, "warning", "log.dropped", {"count": 1})])
    described = set(re.findall(r"^\| `([a-z_.]+)` \| `", PAGE, re.MULTILINE))
    assert {line["event"] for line in lines} == described
    named = set(re.findall(r"`(\w+)`", PAGE))
    assert {name for line in lines for name in line} <= named


def test_a_reason_is_bounded_when_its_secrets_are_out() -> None:
    """One that is cut first would show what stands before the cut."""
    long = Failure("E", "x" * 1990 + f" password={canaries.PARAM}" + "y" * 5000)
    [line] = structured(entries(settled(Recoverable(long, timedelta(0)), State.RETRYING)))
    assert len(line["reason"]) == 2000
    assert canaries.STEM[:5] not in line["reason"]


def test_people_are_told_how_long_an_attempt_took() -> None:
    """S2.43."""
    lines = b"".join(HumanLines(hide, is_coloured=False)(entries(*OF_A_JOB[1:4]), 0))
    found = re.findall(rb"attempt (\d) (\w+) \(0\.250 s", lines)
    assert found == [(b"1", b"succeeded"), (b"2", b"retrying"), (b"3", b"failed")]


def test_what_others_write_is_not_taken_for_a_line_of_ours_by_people() -> None:
    """Row 90: programs know it by its event."""
    put: list[LogEntry] = []
    logs = EventLog(put.append)
    logs.output(b"08:30:00 mail 1f3a9c2e attempt 2 succeeded")
    [line] = HumanLines(hide, is_coloured=False)(put, 0)
    assert re.match(rb"\d\d:\d\d:\d\d \| 08:30:00 mail", line)


def test_a_line_of_a_job_says_whose_it_is_and_what_was_logged() -> None:
    put: list[LogEntry] = []
    fields = write({"logger": "shop.mail", "to": "ada", "exception": "Traceback:\nKeyError: 1"})
    EventLog(put.append, "error").line(ATTEMPT, LogLine(1, datetime.now(UTC), "warning", "no luck", fields))
    [head, *trace] = HumanLines(hide, is_coloured=False, hide_fields=USUAL.fields)(put, 0)
    assert head[9:] == b'mail 00000001 attempt 2 warning | shop.mail: no luck  {"to": "ada"}\n'
    assert trace == [b"    Traceback:\n", b"    KeyError: 1\n"]
    [line] = structured(put)
    shown = [line[name] for name in ("level", "line", "message", "jobId", "attempt")]
    assert shown == ["warning", "warning", "no luck", str(UUID(int=1)), 2]
    assert line["fields"]["logger"] == "shop.mail"


@pytest.mark.parametrize(
    ("running", "reason", "said"),
    [
        (0, "told by SIGINT", "stops (told by SIGINT); no job is running"),
        (1, "told by SIGINT", "1 job is running; waits up to 30 s for it (Ctrl-C again ends it at once)"),
        (
            3,
            "told by SIGTERM",
            "3 jobs are running; waits up to 30 s for them (a second signal ends them at once)",
        ),
        (1, "the code has changed", "1 job is running; waits up to 30 s for it"),
    ],
)
def test_a_worker_that_stops_says_what_it_waits_for(running: int, reason: str, said: str) -> None:
    put = entries(WorkerDraining("host-7-abc", running, reason, 30.0))
    [line] = HumanLines(hide, is_coloured=False)(put, 0)
    assert line.decode().endswith(f"{said}\n")


def test_a_traceback_is_cut_between_lines() -> None:
    """A name that is cut off would leave its value behind."""
    secret = "password=" + "x" * LONGEST_ERROR
    put: list[LogEntry] = []
    logs = EventLog(put.append)
    logs.failed(uuid4(), RuntimeError(f"{secret}\nlast words"))
    logs.failed(uuid4(), RuntimeError(secret))
    assert [entry.fields.get("error") for entry in put] == ["last words", None]


def test_a_library_that_logs_amiss_is_not_disturbed(capsys: pytest.CaptureFixture[str]) -> None:
    put: list[LogEntry] = []
    libraries = Libraries(EventLog(put.append))
    libraries.emit(logging.LogRecord("lib", logging.ERROR, "", 1, "%d of them", ("many",), None))
    libraries.emit(logging.LogRecord("lib", logging.ERROR, "", 1, "x" * 10**6, (), None))
    assert [len(entry.fields["reason"]) for entry in put] == [LONGEST_ERROR]
    assert "many" in capsys.readouterr().err


def test_an_attempt_without_an_outcome_is_told_of_in_full() -> None:
    """S2.43: how long it took, why, after how many retries, and what became of the job if it is known."""
    back, lost, _ = (entry.fields for entry in entries(*OF_A_JOB[4:7]))
    assert (back["durationSeconds"], back["retries"], back["maxAttempts"]) == (1.5, 0, 3)
    assert (back["reason"], back["state"], back["outcome"]) == (NASTY, "queued", "killed")
    assert (lost["durationSeconds"], lost["retries"], lost["maxAttempts"]) == (1.5, 0, 3)
    assert (lost["reason"], lost["outcome"]) == ("we could not keep its lease", "lost")


def test_ticks_are_told_with_what_became_of_them() -> None:
    """S1.74: those that made no job although they should are louder."""
    ticked, failed = structured(entries(TICKED, FAILED_TICK))
    names = ("level", "event", "schedule", "namespace", "tick", "lateSeconds", "outcomes")
    assert [ticked[name] for name in names] == [
        *("info", "schedule.ticked", "nightly", "default", "2026-03-01T00:00:00Z", 0.2),
        {"missed": 9, "fired": 1},
    ]
    assert (failed["level"], failed["outcomes"]) == ("warning", {"failed": 1})
    [told, _] = HumanLines(hide, is_coloured=False)(entries(TICKED, FAILED_TICK), 0)
    assert told.endswith(b" schedule nightly: 9 missed, 1 fired\n")


def test_a_schedule_that_is_left_to_others_is_told() -> None:
    [line] = structured(entries(LEFT_ALONE))
    assert (line["level"], line["event"], line["schedule"]) == ("warning", "schedule.unreadable", "nightly")
    [told] = HumanLines(hide, is_coloured=False)(entries(LEFT_ALONE), 0)
    assert b" schedule nightly is left to other processes: this version of tenure cannot read it" in told
