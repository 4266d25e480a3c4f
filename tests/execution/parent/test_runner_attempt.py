"""What an attempt among others says of itself is believed as far as it can be true."""

import asyncio
import math
from datetime import timedelta
from typing import Any

import pytest

from tenure.core.model.retry import Returned
from tenure.core.values.documents import Document
from tenure.execution.parent.attempt_terms import AttemptTerms, StopRequest
from tenure.execution.parent.runner_attempt import RunnerAttempt
from tenure.execution.protocol.messages import Finished
from tests.execution.attempts import Recorder


class _Host:
    """A runner in which nothing happens."""

    is_shared = True

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()


@pytest.mark.parametrize(
    ("cpu", "believed"),
    [(math.nan, 0.0), (-math.inf, 0.0), (-1.0, 0.0), (2.5, 2.5), (math.inf, 1e9)],
)
async def test_the_last_word_counts_whatever_time_it_says_to_have_used(cpu: float, believed: float) -> None:
    """One that could not be taken in would keep its slot for ever."""
    host: Any = _Host()
    attempt = RunnerAttempt(host, AttemptTerms(timedelta(minutes=1), timedelta(0), StopRequest(), Recorder()))
    attempt.finish(Finished(Returned(Document("7")), cpu=cpu))
    assert attempt.ending is not None
    attempt.settle(attempt.ending)
    ended = await attempt.ended()
    assert ended.end == Returned(Document("7"))
    assert ended.usage.cpu == timedelta(seconds=believed)
