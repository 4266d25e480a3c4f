"""How an attempt ends by itself: it returns, raises, dies, or breaks the rules of the pipe."""

import json

import pytest

from tenure.core.model.retry import Raised, RetryAsked, Returned
from tenure.execution.parent.process_lane import ProcessLane
from tests.execution import sample_app
from tests.execution.attempts import JOB, lane_of, run

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("definition", ["returns", "returns_later"])
async def test_what_a_handler_returns_is_the_result(lane: ProcessLane, definition: str) -> None:
    ended = await run(lane, definition, {"a": [1, None]})
    assert ended.end == Returned(json.dumps({"a": [1, None]}, separators=(",", ":")))  # type: ignore[arg-type]
    assert (ended.usage.exit_code, ended.usage.signal) == (0, None)


async def test_what_a_handler_raises_is_told_with_its_lineage_and_its_own_frames(lane: ProcessLane) -> None:
    end = (await run(lane, "raises")).end
    assert isinstance(end, Raised)
    assert end.error.kind == "LookupError"
    assert end.error.message == "nothing there"
    assert end.lineage[:2] == ("LookupError", "Exception")
    assert end.error.traceback is not None
    assert "in raises" in end.error.traceback
    assert "tenure/execution" not in end.error.traceback


async def test_a_wish_of_the_handler_arrives(lane: ProcessLane) -> None:
    end = (await run(lane, "raises_later")).end
    assert isinstance(end, Raised)
    assert isinstance(end.asked, RetryAsked)
    assert end.asked.after is not None
    assert end.asked.after.total_seconds() == 5


async def test_an_exhausted_iterator_is_reported_as_such(lane: ProcessLane) -> None:
    end = (await run(lane, "exhausts")).end
    assert isinstance(end, Raised)
    assert end.error.kind == "StopIteration"


async def test_a_handler_that_calls_exit_has_raised(lane: ProcessLane) -> None:
    end = (await run(lane, "exits")).end
    assert isinstance(end, Raised)
    assert end.error.kind == "SystemExit"


async def test_a_handler_that_is_not_there_fails_its_own_attempt(lane: ProcessLane) -> None:
    end = (await run(lane, "nowhere")).end
    assert isinstance(end, Raised)
    assert end.error.kind == "KeyError"
    assert isinstance((await run(lane, "returns")).end, Returned)


async def test_a_handler_knows_its_attempt_and_has_a_process_of_its_own(lane: ProcessLane) -> None:
    """S1.3, S1.18, S1.57: it knows its job and its params, in a process that no attempt used before."""
    answers = []
    for attempt in (1, 2):
        end = (await run(lane, "identifies", {"x": 1}, attempt=attempt, fence=attempt + 4)).end
        assert isinstance(end, Returned)
        answers.append(json.loads(end.result))
    first, second = answers
    assert first["job"] == str(JOB)
    assert (second["attempt"], second["fence"]) == (2, 6)
    assert (first["definition"], first["version"], first["params"]) == ("identifies", 1, {"x": 1})
    assert first["confined"] is True
    assert first["key"] == second["key"]
    assert first["pid"] != second["pid"]


async def test_the_manifest_is_passed_on_unread() -> None:
    lane = lane_of("tests.execution.sample_app:app", spares=0)
    try:
        assert await lane.start() == sample_app.MANIFEST
        assert lane.notice is None
    finally:
        await lane.close()
