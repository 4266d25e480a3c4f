"""What an attempt says while it runs: output, log lines, progress, events, and children it asks for."""

import asyncio
import json
import os
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest

from tenure.core.errors import InvalidParams, ParamsProblem, StoreUnavailable
from tenure.core.model.job import Enqueued, NewJob
from tenure.core.model.lease import Progress
from tenure.core.model.retry import Raised, Returned
from tenure.core.model.trail import Note
from tenure.core.values.documents import write
from tenure.core.values.failure import Failure
from tenure.execution.handler.context import LARGEST_PAYLOAD
from tenure.execution.parent import output, patience, reports
from tenure.execution.parent.child_wire import ChildWire
from tenure.execution.parent.process_lane import ProcessLane
from tenure.execution.protocol.frames import frame
from tenure.execution.protocol.messages import EventMessage
from tests.execution.attempts import Recorder, is_alive, opened, run
from tests.until import until

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_whatever_is_printed_becomes_a_line(lane: ProcessLane) -> None:
    recorder = Recorder()
    await run(lane, "speaks", recorder=recorder)
    assert recorder.texts("stdout") == ["to stdout", "by descriptor", "unfinished"]
    assert recorder.texts("stderr") == ["to stderr"]
    assert recorder.texts("warning") == ["by logging"]
    assert [line.n for line in recorder.lines] == [1, 2, 3, 4, 5]
    assert all(line.at.tzinfo for line in recorder.lines)


async def test_the_context_logs_with_fields_and_forges_no_line(lane: ProcessLane) -> None:
    """S1.62: the context has a logger and can emit events."""
    recorder = Recorder()
    await run(lane, "logs", recorder=recorder)
    assert [(line.level, line.text) for line in recorder.lines] == [
        ("debug", "one"),
        ("info", "two"),
        ("warning", "three"),
        ("error", "four\\nlines\\x1b[31m"),
    ]
    fields = [None if line.fields is None else json.loads(line.fields) for line in recorder.lines]
    assert fields == [None, {"count": 2, "path": "/x"}, {"values": [1, None]}, None]
    assert recorder.progresses == [Progress(0.5, "half")]
    assert [(note.type, note.payload) for note in recorder.notes] == [
        ("custom:paid", '{"amount":3}'),
        ("custom:bare", None),
    ]


async def test_what_cannot_be_recorded_is_refused_where_it_is_said(lane: ProcessLane) -> None:
    recorder = Recorder()
    end = (await run(lane, "emits_nonsense", recorder=recorder)).end
    assert isinstance(end, Returned)
    assert len(json.loads(end.result)) == 4
    assert (recorder.notes, recorder.progresses) == ([], [])


async def test_a_log_has_an_end_and_says_so(lane: ProcessLane) -> None:
    recorder = Recorder()
    assert isinstance(
        (await run(lane, "logs_too_much", output.MOST_LINES + 50, recorder=recorder)).end, Returned
    )
    assert len(recorder.texts("info")) == output.MOST_LINES
    [mark] = recorder.texts("warning")
    assert output.CUT in mark
    assert recorder.lines[-1].text == mark


async def test_events_have_an_end_and_say_so(lane: ProcessLane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "MOST_NOTES", 1)
    recorder = Recorder()
    await run(lane, "logs", recorder=recorder)
    assert [note.type for note in recorder.notes] == ["custom:paid"]
    assert "more than 1 events" in recorder.texts("warning")[-1]


async def test_large_events_have_an_end_before_there_are_many(lane: ProcessLane) -> None:
    """The worker holds what is said while the store is away."""
    recorder = Recorder()
    await run(lane, "emits_too_much", recorder=recorder)
    held = sum(len(note.payload or "") for note in recorder.notes)
    assert reports.MOST_NOTED - LARGEST_PAYLOAD < held <= reports.MOST_NOTED
    [mark] = recorder.texts("warning")
    assert "the rest is dropped" in mark


@pytest.mark.parametrize("definition", ["spawns", "spawns_plainly"])
async def test_children_are_asked_for_over_the_pipe(lane: ProcessLane, definition: str) -> None:
    recorder = Recorder()
    end = (await run(lane, definition, recorder=recorder)).end
    assert isinstance(end, Returned)
    assert len(set(json.loads(end.result))) == 3
    assert [job.params for job in recorder.spawned] == ['{"n":0}', '{"n":1}', '{"n":2}']


async def test_a_refusal_of_the_store_reaches_the_handler_as_that_error(lane: ProcessLane) -> None:
    recorder = Recorder(refusal=StoreUnavailable("disk full"))
    end = (await run(lane, "spawns_in_vain", recorder=recorder)).end
    assert end == Returned('"unavailable: disk full"')  # type: ignore[arg-type]


async def test_params_that_do_not_fit_are_refused_with_all_that_is_wrong(lane: ProcessLane) -> None:
    problems = [ParamsProblem("/tu", "is not known"), ParamsProblem("/to", "is missing")]
    end = (
        await run(lane, "spawns_plainly", recorder=Recorder(refusal=InvalidParams("email@1", problems)))
    ).end
    assert isinstance(end, Raised)
    assert (end.error.kind, end.error.message) == (
        "InvalidParams",
        "email@1: params/tu: is not known; params/to: is missing",
    )


async def test_a_store_that_is_slow_to_enqueue_costs_no_result(
    lane: ProcessLane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a child has said before it ended counts, however long what it asked for takes."""
    monkeypatch.setattr(patience, "LAST_WORDS", 0.02)
    ledger = tmp_path / "on"

    class Slow(Recorder):
        async def spawn(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
            await until(lambda: ledger.exists() and not is_alive(int(ledger.read_text() or 0)))
            await asyncio.wait({running}, timeout=1)  # time enough for an end that does not wait
            return await super().spawn(jobs)

    recorder = Slow()
    running = asyncio.create_task(run(lane, "spawns_and_leaves", str(ledger), recorder=recorder))
    assert (await running).end == Returned('"gone"')  # type: ignore[arg-type]
    assert len(recorder.spawned) == 1


async def test_an_error_of_the_listener_ends_the_attempt_and_is_not_hidden(lane: ProcessLane) -> None:
    class Broken(Recorder):
        def progress(self, progress: Progress) -> None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run(lane, "says_something_and_hangs", recorder=Broken())


async def test_on_start_runs_before_the_handler_in_its_process(lane: ProcessLane) -> None:
    recorder = Recorder()
    assert isinstance((await run(lane, "returns", recorder=recorder)).end, Returned)
    assert recorder.texts("info") == ["greeted"]


async def test_a_hook_that_fails_is_an_event_and_changes_nothing(lane: ProcessLane) -> None:
    recorder = Recorder()
    end = (await run(lane, "returns_later", 5, recorder=recorder)).end
    assert end == Returned("5")  # type: ignore[arg-type]
    [note] = recorder.notes
    assert note.type == "hook_failed"
    assert note.payload is not None
    assert json.loads(note.payload) == {
        "hook": "on_start",
        "kind": "RuntimeError",
        "message": "no greeting",
    }


async def test_another_hook_runs_in_a_child_of_its_own(lane: ProcessLane) -> None:
    recorder = Recorder()
    ended = await run(lane, "returns", hook="on_fail", error=Failure("Oh", "no luck"), recorder=recorder)
    assert isinstance(ended.end, Returned)
    assert [(line.text, line.fields) for line in recorder.lines] == [("told", '{"error":"no luck"}')]
    failed = (await run(lane, "returns", hook="on_end")).end
    assert isinstance(failed, Raised)
    assert failed.error.message == "no greeting"


async def test_a_hook_is_told_of_params_that_cannot_be_read(lane: ProcessLane) -> None:
    failed = (await run(lane, "returns", "unreadable")).end
    assert isinstance(failed, Raised)
    assert failed.error.message == "cannot be read"
    recorder = Recorder()
    await run(lane, "returns", "unreadable", hook="on_fail", error=failed.error, recorder=recorder)
    assert [line.text for line in recorder.lines] == ["told"]


async def test_what_is_left_in_the_temporary_folder_is_removed(lane: ProcessLane) -> None:
    end = (await run(lane, "litters")).end
    assert isinstance(end, Returned)
    others, folder = json.loads(end.result)
    assert folder not in os.listdir(others)  # noqa: PTH208


@pytest.mark.parametrize("how", ["open", "gone", "file", "not at all"])
async def test_a_temporary_folder_is_used_again_only_as_it_was(how: str) -> None:
    async with opened("tests.execution.sample_app:app", spares=0) as lane:
        first = (await run(lane, "spoils_its_folder", how)).end
        second = (await run(lane, "sees_its_folder")).end
    assert isinstance(first, Returned)
    assert isinstance(second, Returned)
    name, mode, entries = json.loads(second.result)
    assert (name == json.loads(first.result)) is (how == "not at all")
    assert (mode, entries) == (0o700, 0)


async def test_what_an_attempt_used_is_told(lane: ProcessLane) -> None:
    spent = (await run(lane, "uses_time", 0.2)).usage
    assert spent.cpu.total_seconds() >= 0.2
    assert spent.peak_memory > 1 << 20


async def test_who_is_never_silent_leaves_the_loop_to_others() -> None:
    """However much has arrived, others have their turn in between: also the timer that ends the attempt."""
    said = frame(EventMessage("much", write({f"key {n}": n for n in range(500)})))
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.sendall(said * 12)  # more than is received at once
    turns = 0
    heard_in: set[int] = set()

    class Counted(Recorder):
        def emit(self, note: Note) -> None:
            super().emit(note)
            heard_in.add(turns)

    recorder = Counted()
    talk = reports.MessageSink(recorder, output.Journal(recorder.log))
    wire = ChildWire(ours)
    hearing = asyncio.create_task(talk.read_from(wire))
    while not hearing.done():
        turns += 1
        await asyncio.sleep(0)
    wire.close()
    assert len(recorder.notes) == 12
    assert len(heard_in) > 1


async def test_what_is_dropped_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """To look at it would cost more than to keep it did: it is much, or it would not be dropped."""
    monkeypatch.setattr(reports, "MOST_NOTES", 2)
    recorder = Recorder()
    talk = reports.MessageSink(recorder, output.Journal(recorder.log))
    for _ in range(3):
        talk.take(EventMessage("much", "[]"))
    talk.take(EventMessage("much", "no JSON"))
    assert len(recorder.notes) == 2
