"""Every invariant is seen red: evidence with a single forgery breaks that one, and no other.

Where a forgery cannot but break two (an attempt that overlaps the next also differs from its own events), the
table names both.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from math import sin
from typing import Any
from uuid import uuid4

import pytest
from msgspec.structs import replace

from chaos.casebook import Casebook
from chaos.checker import INVARIANTS, check
from chaos.evidence import Leftovers, Outage, Secret, Stay
from chaos.history import Call
from chaos.invariants.serving import excused_by_the_machine
from tenure.core.model.lease import Line
from tenure.core.model.limit import Limit, LimitUse
from tenure.core.model.outcome import Ending
from tenure.core.model.policy import Policy
from tenure.core.model.states import State
from tenure.core.reports.retention import Retention
from tenure.core.values.documents import Document, canonical_hash
from tenure.core.values.failure import Failure
from tests.chaos import test_planted_hooks, test_planted_progress, test_planted_ticks
from tests.chaos.forged_evidence import Forger
from tests.chaos.scene import TERMS, WIRE, Scene, play
from tests.storage.backends import SqliteBackend
from tests.storage.clock import START
from tests.storage.verbs import MAIL, seconds

Forgery = Callable[[Forger], Forger]
HOUR = timedelta(hours=1)
LATER = START + HOUR
ALIVE = {"stop_at": None, "ended_at": None, "killed": False, "exit_code": None}
ALL = frozenset({MAIL, WIRE})
NARROW = {"limits": (Limit("api", size=1),)}
MOVED = {"type": "rescheduled", "payload": Document(f'{{"from":null,"to":"{START.isoformat()}"}}')}
TOO_LATE = Document(f'{{"from":null,"to":"{LATER.isoformat()}"}}')
CANARY = "planted-5d81c0"
RISING = [(float(n), 100.0 + n + 5 * sin(n)) for n in range(60)]
LEVEL = [(float(n), 100.0 + 5 * sin(n)) for n in range(60)]


@pytest.fixture(scope="module")
def forger(tmp_path_factory: pytest.TempPathFactory) -> Forger:
    """The run of `scene`, as it was."""

    async def run() -> Forger:
        backend = SqliteBackend(tmp_path_factory.mktemp("scene") / "tenure.db")
        await backend.prepare()
        store = backend.store()
        await store.open()
        scene = Scene(store, backend.clock)
        evidence = replace(
            await play(scene),
            marks={"default": "mark-of-ours", "theirs": "mark-of-theirs"},
            secrets=[Secret("what was planted", CANARY)],
        )
        await store.close()
        return Forger(evidence, scene.jobs)

    return asyncio.run(run())


def enqueue_again(forger: Forger) -> Forger:
    """The key of a job, sent again and answered with another job."""
    again = Call(
        number=99,
        verb="enqueue",
        keys=["good"],
        sent_at=38.0,
        answered_at=38.0,
        outcome="acknowledged",
        jobs=[forger.jobs["retried"]],
    )
    return forger.but(history=[*forger.evidence.history, again])


def refused_for_nothing(forger: Forger) -> Forger:
    """A job sent again as it was, and refused because its key was used for something else."""
    first = forger.evidence.history[0]
    job = next(job for job in forger.evidence.jobs if job.id == first.jobs[0])
    again = replace(
        first,
        number=99,
        outcome="refused",
        jobs=[],
        moved=[],
        bodies=[canonical_hash(job.params).hex()],
        error="idempotency-key-reused: /idempotencyKey",
    )
    return forger.but(history=[*forger.evidence.history, again])


def leaking(forger: Forger) -> Failure:
    """The error of an attempt, with a secret in it."""
    [failed] = [one for one in forger.evidence.attempts if one.job == forger.jobs["given up"]]
    assert failed.error is not None
    return replace(failed.error, message=f"no entry with {CANARY}")


def half_a_batch(forger: Forger) -> Forger:
    twins = next(call for call in forger.evidence.history if call.batch)
    return forger.without("other twin").call(twins.number, outcome="unknown", jobs=[], moved=[])


def cancelled_again(forger: Forger) -> Forger:
    first = next(call for call in forger.evidence.history if call.verb == "cancel")
    return forger.but(history=[*forger.evidence.history, replace(first, number=99)])


def no_attempt(forger: Forger) -> Forger:
    return forger.but(attempts=[a for a in forger.evidence.attempts if a.job != forger.jobs["poison"]])


def left_later(forger: Forger) -> Forger:
    return forger.attempt("rescued", 1, ended_at=START + seconds(33))


def counted_at_the_end(forger: Forger) -> Forger:
    """A job whose second claim has the number of the first, as if that had never been charged."""
    second = [replace(e, attempt=1) if e.job == forger.jobs["rescued"] else e for e in forger.evidence.ledger]
    forged = forger.event("rescued", 4, attempt=1).event("rescued", 5, attempt=1)
    return forged.attempt("rescued", 2, number=1).but(ledger=second)


def narrow(forger: Forger) -> Forger:
    return forger.job("good", **NARROW).job("retried", **NARROW)


def crowded(forger: Forger) -> Forger:
    """Two at once under a limit of one: the good one had begun when it was claimed."""
    early = [
        replace(one, at=1.0) if (one.job, one.kind) == (forger.jobs["good"], "start") else one
        for one in forger.evidence.ledger
    ]
    return narrow(forger).but(ledger=early)


def event_of_nobody(forger: Forger) -> Forger:
    return forger.but(events=[*forger.evidence.events, replace(forger.evidence.events[0], job=uuid4())])


def pruned(forger: Forger) -> Forger:
    return forger.without("dropped", unseen=False).terms(retention=Retention(others=HOUR, keyed=HOUR))


def grown(forger: Forger) -> Forger:
    return forger.but(resources={"memory": RISING, "descriptors": LEVEL})


def named_twice(forger: Forger) -> Forger:
    stay = Stay(worker="b", pid=3, started_at=0.0, ended_at=1.0, exit_code=0, stop_at=37.5)
    return forger.but(stays=[*forger.evidence.stays, stay])


FORGERIES: list[tuple[set[str], str, Forgery]] = [
    ({"I1"}, "a job that was acknowledged is gone", lambda f: f.without("good")),
    ({"I1"}, "a cancellation that was acknowledged", lambda f: f.call(12, moved=[f.jobs["good"]])),
    ({"I2"}, "a job of a call that was refused", lambda f: f.call(1, outcome="refused", jobs=[], moved=[])),
    ({"I3"}, "a key with two rows", lambda f: f.job("other twin", key="twin")),
    ({"I3"}, "a key with two answers", enqueue_again),
    ({"I4"}, "a key that stands for something else", lambda f: f.call(1, bodies=["00"])),
    ({"I4"}, "a refusal without a reason", refused_for_nothing),
    ({"I5"}, "half a batch", half_a_batch),
    ({"I5"}, "a batch in two steps", lambda f: f.job("twin", created_at=START + seconds(0.01))),
    ({"I6"}, "at rest while a job runs", lambda f: f.terms(quiet=True)),
    ({"I7"}, "a step of another name", lambda f: f.event("retried", 4, type="accepted")),
    ({"I7"}, "a step by somebody who may not", lambda f: f.event("dropped", 2, actor="clock")),
    ({"I7"}, "a step from elsewhere", lambda f: f.event("delayed", 2, source=State.RETRYING)),
    ({"I7"}, "a time given where none is waited for", lambda f: f.event("good", 3, **MOVED)),
    ({"I8"}, "a row that counts otherwise", lambda f: f.job("good", failures=1)),
    ({"I8"}, "a claim without its attempt", no_attempt),
    ({"I8"}, "a step of another attempt", lambda f: f.event("given up", 4, attempt=3)),
    ({"I8", "I11"}, "a step of another claim", lambda f: f.event("dropped", 2, fence=3)),
    ({"I8"}, "an attempt of another worker", lambda f: f.attempt("stopped", 1, worker="b")),
    ({"I8"}, "an attempt that ended otherwise", lambda f: f.attempt("again", 1, ending=Ending.STOPPED)),
    ({"I8"}, "an attempt that was lost by itself", lambda f: f.attempt("stopped", 1, ending=Ending.LOST)),
    ({"I8"}, "totals that miss a job", lambda f: f.but(lines=[replace(f.evidence.lines[0], counts={})])),
    ({"I9"}, "a result written over", lambda f: f.row("good", result=Document("2"))),
    ({"I10"}, "a number left out", lambda f: f.event("good", 3, n=7)),
    ({"I10"}, "a time before the last", lambda f: f.event("good", 3, at=START)),
    ({"I11"}, "a count without its event", lambda f: f.job("dropped", events=3)),
    ({"I11"}, "a look between row and event", lambda f: f.sighting("rescued", 3, state=State.RUNNING)),
    ({"I8", "I12"}, "two owners at once", left_later),
    ({"I13"}, "a fence lower than the last", lambda f: f.refenced("rescued", 1, 1_000_000)),
    ({"I13"}, "a fence with two owners", lambda f: f.refenced("again", 1, f.fence("poison", 1))),
    ({"I14"}, "an end by somebody else", lambda f: f.event("good", 4, actor="b")),
    ({"I14"}, "a note under an old fence", lambda f: f.event("good", 3, fence=0)),
    ({"I14"}, "an end after the lease", lambda f: f.sighting("good", 2, lease_expires_at=START)),
    ({"I14"}, "a child of nobody", lambda f: f.job("child", created_at=START + seconds(20))),
    ({"I15"}, "reaped while its lease held", lambda f: f.sighting("rescued", 2, lease_expires_at=LATER)),
    ({"I15"}, "reaped before any lease was over", lambda f: f.terms(lease=HOUR)),
    ({"I16"}, "a name used twice", named_twice),
    ({"I17"}, "a lease that ran out long ago", lambda f: f.but(now=LATER)),
    ({"I17"}, "no lease at all", lambda f: f.job("busy", lease_expires_at=None)),
    ({"I18"}, "a job dated before it was asked for", lambda f: f.job("good", created_at=START - HOUR)),
    ({"I18"}, "a claim dated after its start", lambda f: f.entry("start", "poison", 1, 0.5)),
    ({"I19"}, "work long after it was lost", lambda f: f.entry("end", "rescued", 1, 37.0)),
    ({"I20"}, "a start that is not on record", lambda f: f.entry("start", "again", 1, 38.0, fence=99)),
    ({"I20"}, "a success that never ended", lambda f: f.unwritten("good", "end")),
    ({"I21"}, "a claim that was not charged", counted_at_the_end),
    ({"I21"}, "given up too soon", lambda f: f.job("poison", policy=Policy(max_attempts=3))),
    ({"I22"}, "two starts of one claim", lambda f: f.entry("start", "again", 1, 37.5)),
    ({"I23"}, "a start before its time", lambda f: f.job("delayed", run_at=START + seconds(33))),
    ({"I23"}, "a wait cut short", lambda f: f.sighting("retried", 3, due_at=LATER)),
    ({"I23"}, "a start before the time it was moved to", lambda f: f.event("moved", 2, payload=TOO_LATE)),
    ({"I23"}, "a wait by no policy", lambda f: f.terms(backoff_by_policy=True)),
    ({"I24"}, "an effect twice", lambda f: f.entry("effect", "again", 1, 37.5)),
    ({"I24"}, "a success without effect", lambda f: f.unwritten("good", "effect")),
    ({"I25"}, "a start after the cancellation", lambda f: f.entry("start", "given up", 1, 10.0)),
    ({"I26"}, "stopped too late", lambda f: f.job("stopped", policy=Policy(grace=seconds(1)))),
    ({"I26"}, "at work after it was stopped", lambda f: f.entry("effect", "stopped", 1, 9.0)),
    ({"I27"}, "a cancellation done twice", cancelled_again),
    ({"I28"}, "a process left", lambda f: f.but(leftovers=Leftovers(processes=["4711 sleep"]))),
    ({"I29"}, "lost from a worker that lives", lambda f: f.stay("a", **ALIVE)),
    ({"I30"}, "more at once than the limit", crowded),
    ({"I30"}, "a place held by nobody", lambda f: f.but(limits=[LimitUse("api", "", 2, 1)])),
    ({"I30"}, "more at once than slots", lambda f: f.terms(slots=0)),
    ({"I31"}, "asked to stop, and failed", lambda f: f.stay("b", exit_code=1)),
    ({"I31"}, "claimed after it was asked to stop", lambda f: f.stay("b", stop_at=33.0)),
    ({"I32"}, "the lower priority first", lambda f: f.terms(one_by_one=True).job("busy", priority=9)),
    ({"I33"}, "in line while slots are free", lambda f: f.terms(slots=50, served=ALL).stay("b", **ALIVE)),
    ({"I34"}, "nothing claimed for long", lambda f: f.but(outages=[Outage(20.0, 25.0)])),
    ({"I35"}, "run by who does not know it", lambda f: f.terms(served=frozenset({Line("other", "mail")}))),
    ({"I44"}, "gone, though nothing was pruned", lambda f: f.but(history=[]).without("twin", unseen=False)),
    ({"I44"}, "pruned before its time", pruned),
    ({"I44"}, "an event of nobody", event_of_nobody),
    ({"I45"}, "what grows", grown),
    ({"I46"}, "an answer with another's job", lambda f: f.heard("theirs", str(f.jobs["good"]))),
    ({"I46"}, "an id without hyphens", lambda f: f.heard("theirs", f.jobs["good"].hex.upper())),
    ({"I46"}, "an answer with another's mark", lambda f: f.heard("theirs", "a mark-of-ours here")),
    ({"I52"}, "a message gone before the end", lambda f: f.led("good", 1, removed_at=1.2)),
    ({"I52"}, "a message gone, and the job lost", lambda f: f.led("rescued", 1, removed_at=31.9)),
    ({"I53"}, "a message left", lambda f: f.but(leftovers=Leftovers(messages=["1"]))),
    ({"I48"}, "a job that is aside", lambda f: f.row("busy", aside_at=LATER)),
    ({"I47"}, "a secret in an answer", lambda f: f.heard(None, f"sent: {CANARY}")),
    ({"I47"}, "a secret in a log", lambda f: f.wrote("worker-1.log", f"on postgres://me:{CANARY}@here")),
    ({"I47"}, "a secret around a job", lambda f: f.wrote("seen-1", f"TOKEN={CANARY}")),
    ({"I47"}, "a secret in an event", lambda f: f.event("good", 2, reason=CANARY)),
    ({"I47"}, "a secret in an error", lambda f: f.attempt("given up", 1, error=leaking(f))),
    ({"I47"}, "a secret in a result", lambda f: f.job("good", result=Document(f'"{CANARY}"'))),
]


def test_nothing_is_found_where_nothing_is_forged(forger: Forger) -> None:
    assert check(forger.evidence) == []
    assert check(forger.but(resources={"memory": LEVEL}).evidence) == []
    ours = forger.job("good", params=Document(f'{{"password":"{CANARY}"}}'))
    assert check(ours.heard("default", f"{forger.jobs['good']} mark-of-ours").evidence) == []
    assert check(ours.heard(None, f"{forger.jobs['good']} mark-of-ours").evidence) == []
    assert forger.evidence.terms == TERMS


@pytest.mark.parametrize(
    ("broken", "forgery"),
    [pytest.param(broken, forgery, id=f"{min(broken)}: {story}") for broken, story, forgery in FORGERIES],
)
def test_a_forgery_breaks_its_invariant_alone(forger: Forger, broken: set[str], forgery: Forgery) -> None:
    found = check(forgery(forger).evidence)
    assert {violation.invariant for violation in found} == broken, found


def test_a_message_may_go_with_the_end_or_never_and_copies_at_any_time(forger: Forger) -> None:
    for removed_at in (1.6, None):
        with_copy = forger.led("good", 1, removed_at=removed_at).led("good", 1, removed_at=1.2, leads=False)
        assert check(with_copy.evidence) == []


def test_what_the_run_itself_has_spoilt_may_be_aside(forger: Forger) -> None:
    aside = forger.row("busy", aside_at=LATER)
    assert check(aside.terms(spoilt=frozenset({forger.jobs["busy"]})).evidence) == []
    assert broken_by(aside.terms(spoilt=frozenset({forger.jobs["retried"]}))) == {"I48"}


def test_who_was_frozen_is_judged_from_when_it_could_move_again(forger: Forger) -> None:
    late = forger.entry("end", "rescued", 1, 37.0)
    assert check(late.stay("a", frozen=[(30.0, 36.5)]).evidence) == []
    assert [found.invariant for found in check(late.stay("a", frozen=[(30.0, 35.0)]).evidence)] == ["I19"]
    assert [found.invariant for found in check(late.stay("a", frozen=[(30.0, 31.0)]).evidence)] == ["I19"]


def lost_unharmed(forger: Forger, **changed: Any) -> Forger:
    """Attempts of `a` that were lost half a minute into the run, though it lives."""
    return forger.stay("a", **{**ALIVE, **changed})


def test_who_was_held_up_near_the_time_may_lose_an_attempt(forger: Forger) -> None:
    assert check(lost_unharmed(forger, held_up=[(20.0, 21.0)]).evidence) == []
    found = check(lost_unharmed(forger, held_up=[(39.0, 40.0)]).evidence)
    assert {violation.invariant for violation in found} == {"I29"}


def test_the_machine_is_an_excuse_if_it_kept_a_worker_waiting_for_long_and_is_counted(forger: Forger) -> None:
    """A quarter of a lease: as long as it waits for a heartbeat's answer."""
    starved = lost_unharmed(forger, starved=[(10.0, 15.0), (20.0, 23.0)]).evidence
    assert check(starved) == []
    assert excused_by_the_machine(Casebook(starved)) > 0
    for spans in ([(10.0, 15.0), (20.0, 22.0)], [(39.0, 59.0)]):
        found = check(lost_unharmed(forger, starved=spans).evidence)
        assert {violation.invariant for violation in found} == {"I29"}
    assert excused_by_the_machine(Casebook(forger.evidence)) == 0


def test_to_be_held_up_at_another_time_is_no_excuse_for_what_is_lost_at_the_end(forger: Forger) -> None:
    at_the_end = {"stop_at": 20.0, "ended_at": 25.0, "killed": False, "exit_code": 0}
    assert "I31" not in broken_by(forger.stay("a", **at_the_end, held_up=[(19.0, 21.0)]))
    assert "I31" in broken_by(forger.stay("a", **at_the_end, held_up=[(39.0, 40.0)]))


def test_a_worker_that_was_held_up_has_a_lease_longer_to_stop_a_job(forger: Forger) -> None:
    late = forger.job("stopped", policy=Policy(grace=seconds(1)))
    assert broken_by(late.stay("a", held_up=[(5.0, 6.0)])) == set()
    assert broken_by(late.stay("a", held_up=[(39.0, 40.0)])) == {"I26"}
    assert broken_by(late.stay("a", held_up=[(5.0, 6.0)]).terms(lease=seconds(0.1))) >= {"I26"}


def test_a_claim_that_waited_has_its_place_from_when_its_work_began(forger: Forger) -> None:
    """Its date is from before it waited, perhaps for this very place."""
    assert broken_by(narrow(forger)) == set()
    assert broken_by(crowded(forger)) == {"I30"}


def test_a_store_that_is_back_is_not_claimed_from_by_who_has_no_time(forger: Forger) -> None:
    away = forger.but(outages=[Outage(20.0, 25.0)])
    everybody = away.stay("a", starved=[(25.0, 33.0)]).stay("b", starved=[(25.0, 33.0)])
    assert "I34" in broken_by(away)
    assert "I34" not in broken_by(everybody)


def broken_by(forger: Forger) -> set[str]:
    return {violation.invariant for violation in check(forger.evidence)}


def test_every_invariant_has_been_seen_broken() -> None:
    everywhere = [
        *(broken for broken, _, _ in FORGERIES),
        *(broken for broken, _, _ in test_planted_ticks.FORGERIES),
        *(broken for broken, _, _ in test_planted_hooks.FORGERIES),
        *(broken for broken, *_ in test_planted_progress.FORGERIES),
    ]
    assert {number for broken in everywhere for number in broken} == set(INVARIANTS)
