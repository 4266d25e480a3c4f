"""What a harness does as a worker's process does: hooks at its start and end, and the standard `logging`."""

import logging
from typing import Any

import pytest

from tenure import JobHandle, Tenure
from tenure.testing import harness
from tenure.testing.bound_app import BoundApp

LOG = logging.getLogger("shop")


@pytest.fixture
def calls() -> list[str]:
    return []


def shop(calls: list[str]) -> Tenure:
    app = Tenure("sqlite:///unused.db")
    app.on_process_start(lambda: calls.append("start"))

    @app.on_process_start
    async def start_later() -> None:
        calls.append("start later")

    @app.on_process_stop
    async def stop() -> None:
        calls.append("stop")

    @app.job("plain")
    def plain() -> None:
        calls.append("plain")
        LOG.warning("from %s", "plain")

    @app.job("later")
    async def later() -> None:
        calls.append("later")
        LOG.error("from later")

    return app


def logged(t: BoundApp, job: JobHandle[Any]) -> list[tuple[str, str]]:
    """The lines in a job's log."""
    return [(line.level, line.text) for _, line in t._ask(lambda at: at.store.logs(job.id, limit=10))]


def test_a_plain_harness_starts_at_the_first_handler_and_stops_at_its_end(
    calls: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """What handlers log is in the job's log, and in pytest's."""
    with harness(shop(calls)) as t:
        jobs = t.enqueue("plain"), t.enqueue("later")
        assert calls == []
        t.drain()
        assert logged(t, jobs[0]) == [("warning", "from plain")]
        assert logged(t, jobs[1]) == [("error", "from later")]
    assert calls == ["start", "start later", "plain", "later", "stop"]
    assert [record.getMessage() for record in caplog.records] == ["from plain", "from later"]
    LOG.warning("after it")  # and `logging` is as it was
    assert caplog.records[-1].getMessage() == "after it"


async def test_an_async_harness_does_the_same_once_for_all(
    calls: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    async with harness(shop(calls), slots=4) as t:
        jobs = [await t.enqueue(key) for key in ("plain", "later", "plain")]
        await t.drain()
        assert [len(logged(t, job)) for job in jobs] == [1, 1, 1]
    assert calls[:2] == ["start", "start later"]
    assert sorted(calls[2:5]) == ["later", "plain", "plain"]
    assert calls[5:] == ["stop"]
    assert len(caplog.records) == 3


def test_a_start_hook_that_fails_fails_the_attempt_and_a_stop_hook_the_test() -> None:
    app = Tenure("sqlite:///unused.db")
    app.on_process_start(lambda: None)

    @app.on_process_stop
    def stop() -> None:
        raise ValueError("cannot close it")

    @app.job("plain")
    def plain() -> None: ...

    entered = harness(app)
    t = entered.__enter__()
    t.enqueue("plain")
    t.drain()
    with pytest.raises(ValueError, match="cannot close it"):
        entered.__exit__(None, None, None)
    app.process_hooks.stop.clear()
    app.on_process_start(lambda: 1 / 0)
    with harness(app) as t:
        job = t.enqueue("plain")
        t.drain()
        error = t.job(job).error
        assert error is not None
        assert error.kind == "ProcessStartFailed"
