"""The programs on the page about durable handlers, run as they stand there."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tenure.core.model.durable import EffectAnswer, Signal
from tenure.core.values.documents import write
from tenure.testing import Harness, HarnessJob, harness

PAGE = (Path(__file__).parents[2] / "docs/how-to/durable-handlers.md").read_text()
FILES = dict(re.findall(r"^```python\n# (\w+)\.py\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


def program(name: str) -> Any:
    """The names of one program."""
    names: dict[str, Any] = {"__name__": name}
    exec(FILES[name], names)  # noqa: S102
    return SimpleNamespace(**names)


def only(t: Harness) -> HarnessJob:
    [job] = t.jobs()
    return job


def test_the_page_has_these_programs() -> None:
    assert set(FILES) == {"film", "report", "trial", "poll", "order", "till", "leave"}


def test_what_is_done_is_not_done_again() -> None:
    """S0.7, S0.6"""
    film = program("film")
    with harness(film.app) as t:
        film.publish.enqueue_sync({"url": "https://example.com/film"})
        t.advance("10m")
        assert [one["size"] for one in only(t).result] == [1080, 720, 480]
    sizes = ["converted to 1080", "converted to 720", "converted to 480", "converted to 480"]
    assert film.done == ["fetched https://example.com/film", *sizes]


def test_a_document_is_found_again() -> None:
    report = program("report")
    with harness(report.app) as t:
        report.add_up.enqueue_sync({"pages": 5})
        t.advance("10m")
        assert only(t).result == 10
    assert report.read == [0, 1, 2, 3, 3, 4]


def test_a_job_sleeps_for_weeks() -> None:
    """S2.30"""
    trial = program("trial")
    with harness(trial.app) as t:
        trial.remind.enqueue_sync({"to": "ada"})
        t.advance("13d")
        assert (only(t).state, only(t).attempt) == ("suspended", 0)
        assert trial.sent == ["welcome ada", "how is it, ada?"]
        t.advance("1d")
        assert only(t).state == "succeeded"
    assert trial.sent[2:] == ["one more day, ada"]


def test_a_loop_keeps_little() -> None:
    poll = program("poll")
    with harness(poll.app) as t:
        poll.poll.enqueue_sync({"turns": 5})
        t.advance("5h")
        assert only(t).state == "succeeded"
        job = only(t).id
        assert t._ask(lambda at: at.store.steps(job)) == []
    assert poll.looked == [1, 2, 3, 4, 5]


def test_an_effect_in_doubt_is_answered() -> None:
    """S3.65"""
    order = program("order")
    with harness(order.app) as t:
        order.pay.enqueue_sync({"order": 7})
        t.advance("1d")
        assert (only(t).state, order.charged) == ("suspended", [7])
        said = EffectAnswer(step="charge", happened=True, by="ada", result=write({"receipt": 1}))
        job = only(t).id
        t._ask(lambda at: at.store.answer(job, said))
        t.drain()
        assert (only(t).result, order.charged) == ({"receipt": 1}, [7])


def test_somebody_approves_or_nobody_does() -> None:
    leave = program("leave")
    with harness(leave.app) as t:
        for who in ("bob", "eve"):
            leave.ask.enqueue_sync({"who": who})
        t.drain()
        bob, _ = t.jobs()
        approved = Signal(name="approved", by="ada", body=write({"by": "ada"}))
        t._ask(lambda at: at.store.signal(bob.id, approved))
        t.advance("4d")
        assert [job.result for job in t.jobs()] == ["approved by ada", "nobody has answered"]
    assert leave.told == ["may bob leave?", "may eve leave?"]
