"""The programs on the pages about durable handlers, run as they stand there."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tenure.testing import Harness, HarnessJob, crash_matrix, harness

PAGES = ("durable-handlers", "effects", "signals")
FILES = {
    page: dict(
        re.findall(
            r"^```python\n# (\w+)\.py\n(.*?)^```$",
            (Path(__file__).parents[2] / f"docs/how-to/{page}.md").read_text(),
            re.MULTILINE | re.DOTALL,
        )
    )
    for page in PAGES
}


def program(page: str, name: str) -> Any:
    """The names of one program."""
    names: dict[str, Any] = {"__name__": name}
    exec(FILES[page][name], names)  # noqa: S102
    return SimpleNamespace(**names)


def only(t: Harness) -> HarnessJob:
    [job] = t.jobs()
    return job


def test_the_pages_have_these_programs() -> None:
    assert {page: set(programs) for page, programs in FILES.items()} == {
        "durable-handlers": {"film", "report", "trial", "poll", "till"},
        "effects": {"keyed", "order", "looked"},
        "signals": {"leave"},
    }


def test_what_is_done_is_not_done_again() -> None:
    """S0.7, S0.6"""
    film = program("durable-handlers", "film")
    with harness(film.app) as t:
        film.publish.enqueue_sync({"url": "https://example.com/film"})
        t.advance("10m")
        assert [one["size"] for one in only(t).result] == [1080, 720, 480]
    sizes = ["converted to 1080", "converted to 720", "converted to 480", "converted to 480"]
    assert film.done == ["fetched https://example.com/film", *sizes]


def test_a_document_is_found_again() -> None:
    report = program("durable-handlers", "report")
    with harness(report.app) as t:
        report.add_up.enqueue_sync({"pages": 5})
        t.advance("10m")
        assert only(t).result == 10
    assert report.read == [0, 1, 2, 3, 3, 4]


def test_a_job_sleeps_for_weeks() -> None:
    """S2.30"""
    trial = program("durable-handlers", "trial")
    with harness(trial.app) as t:
        trial.remind.enqueue_sync({"to": "ada"})
        t.advance("13d")
        assert (only(t).state, only(t).attempt) == ("suspended", 0)
        assert trial.sent == ["welcome ada", "how is it, ada?"]
        t.advance("1d")
        assert only(t).state == "succeeded"
    assert trial.sent[2:] == ["one more day, ada"]


def test_a_loop_keeps_little() -> None:
    poll = program("durable-handlers", "poll")
    with harness(poll.app) as t:
        poll.poll.enqueue_sync({"turns": 5})
        for turn in range(1, 6):  # a sleep of an hour in every turn, not only in the first
            t.drain()
            assert (only(t).state, poll.looked) == ("suspended", list(range(1, turn + 1)))
            t.advance("1h")
        assert only(t).state == "succeeded"
        job = only(t).id
        assert t._ask(lambda at: at.store.steps(job)) == []
    assert poll.looked == [1, 2, 3, 4, 5]


def test_an_effect_in_doubt_is_answered() -> None:
    """S3.65"""
    order = program("effects", "order")
    with harness(order.app) as t:
        job = order.pay.enqueue_sync({"order": 7})
        t.advance("1d")
        assert (only(t).state, order.charged) == ("suspended", [7])
        job.answer_sync("charge", happened=True, result={"receipt": 1})
        t.drain()
        assert (only(t).result, order.charged) == ({"receipt": 1}, [7])


def test_no_crash_repeats_what_the_other_side_knows_or_tells() -> None:
    """S3.65"""
    keyed, looked = program("effects", "keyed"), program("effects", "looked")
    charges = keyed.charges
    matrix = crash_matrix(keyed.app, keyed.pay, {"order": 7}, lambda: charges, prepare=charges.clear)
    assert matrix.clean, matrix
    outbox = looked.outbox
    matrix = crash_matrix(looked.app, looked.mail, {"text": "hello"}, outbox, prepare=outbox.clear)
    assert matrix.clean, matrix


def test_somebody_approves_or_nobody_does() -> None:
    leave = program("signals", "leave")
    with harness(leave.app) as t:
        bob, _ = [leave.ask.enqueue_sync({"who": who}) for who in ("bob", "eve")]
        t.drain()
        bob.signal_sync("approved", {"by": "ada"})
        t.advance("4d")
        assert [job.result for job in t.jobs()] == ["approved by ada", "nobody has answered"]
    assert leave.told == ["may bob leave?", "may eve leave?"]
