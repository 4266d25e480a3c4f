"""The agent in a harness: what it does, and that no crash makes it do something twice."""

from pathlib import Path
from typing import Any

import pytest

from examples.agent.jobs import Wish, app, travel
from tenure.testing import crash_matrix, harness
from tests.examples.agent import booked

WISH = Wish("Two of us to Lisbon on Friday")
YES = {"by": "ann"}


def effects() -> list[Any]:
    """What is in the books: a request that is repeated under its key is one request."""
    asked = [(request.tool, request.key) for request in booked.requests()]
    return [*asked, *[(payment.booking, payment.amount) for payment in booked.payments()]]


def test_it_books_what_a_person_approves(books: Path) -> None:
    with harness(app) as t:
        job = travel.enqueue_sync(WISH)
        t.drain()
        assert t.job(job).state == "suspended"
        assert {request.tool for request in booked.requests()} == {"find_train", "find_room"}
        job.signal_sync("approved", YES)
        t.drain()
        answer = job.result_sync()["answer"]
    [payment] = booked.payments()
    assert answer == f"Lisbon, Friday: booking {payment.booking}, receipt 1"
    assert payment.amount == 170


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ({"by": "ann", "no": "it is too dear"}, "ann says it is too dear"),
        ("yes", "the answer names nobody"),
        (None, "nobody has answered"),
    ],
)
def test_it_books_nothing_else(books: Path, payload: Any, why: str) -> None:
    with harness(app) as t:
        job = travel.enqueue_sync(WISH)
        t.drain()
        if payload is not None:
            job.signal_sync("approved", payload)
        t.advance("4d")
        assert job.result_sync()["answer"] == f"Nothing is booked: {why}."
    assert not booked.payments()
    assert {request.tool for request in booked.requests()} == {"find_train", "find_room"}


def test_it_does_nothing_twice_wherever_it_crashes(books: Path) -> None:
    """S0.7, S3.65: before and after each thing that it keeps."""

    def begin_anew() -> None:
        books.unlink(missing_ok=True)

    matrix = crash_matrix(app, travel, WISH, effects, signals={"approved": YES}, prepare=begin_anew)
    assert matrix.clean, matrix
    assert len(matrix.expected) == 5
    assert {"once pay 4: intended", "wait:approved: begins"} <= {run.what for run in matrix.runs}
