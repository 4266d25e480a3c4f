"""`tenure jobs steps`, `signal` and `answer`: what a job has kept, and what it is told."""

import json
from pathlib import Path

from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.progress import asking, in_doubt, keep, waiting
from tests.storage.verbs import claim, enqueue_one, job_in
from tests.surfaces.command import fails, tenure
from tests.surfaces.store_behind import NOBODY, job_of, on


async def three_jobs(store: Store) -> tuple[str, str, str]:
    """A job that waits for a signal, one that waits for an answer, and one that has succeeded."""
    return str(await waiting(store)), str(await asking(store)), str(await job_in(store, State.SUCCEEDED))


def test_a_signal_is_sent_and_seen(tmp_path: Path, migrated: str) -> None:
    """The whole way of an operator, by commands: who waits, what for, and how it goes on."""
    job, _, ended = on(migrated, three_jobs)
    where = ("--database", migrated)
    listed = tenure(tmp_path, "jobs", "list", "--waiting-for", "approved", "--json", *where)
    assert [item["jobId"] for item in json.loads(listed.stdout)["items"]] == [job]
    why = tenure(tmp_path, "jobs", "why", job, *where)
    assert f"tenure jobs signal {job} approved PAYLOAD" in why.stdout
    shown = tenure(tmp_path, "jobs", "show", job, *where).stdout
    assert "waits for the signal approved" in shown
    assert "wait:approved" in shown

    misspelt = tenure(tmp_path, "jobs", "signal", job, "aproved", *where)
    note = "the signal 'aproved' is kept; what the job waits for now is 'approved'\n"
    assert (misspelt.returncode, misspelt.stdout, misspelt.stderr) == (0, f"{job} suspended\n", note)
    sent = tenure(tmp_path, "jobs", "signal", job, "approved", '{"by": "ann"}', *where)
    assert (sent.returncode, sent.stdout, sent.stderr) == (0, f"{job} queued\n", "")
    again = tenure(tmp_path, "jobs", "signal", job[-8:], "approved", '{"by":"ann"}', "--json", *where)
    assert json.loads(again.stdout) == {"jobId": job, "status": "queued"}
    other = tenure(tmp_path, "jobs", "signal", job, "approved", *where)
    assert fails(other, 1, f"job {job} was sent the signal 'approved' before with another payload")
    late = tenure(tmp_path, "jobs", "signal", ended, "approved", *where)
    assert fails(late, 1, f"job {ended} has ended already: it is succeeded")
    assert fails(tenure(tmp_path, "jobs", "signal", NOBODY, "x", *where), 1, f"there is no job {NOBODY}")
    assert job_of(migrated, job).state is State.QUEUED


def test_what_is_no_signal_is_wrong_usage(tmp_path: Path, migrated: str) -> None:
    job, _, _ = on(migrated, three_jobs)
    for given, text in (
        (("a/b",), "name: is 'a/b', with one of / # ?"),
        (("approved", "{yes}"), "payload: "),
        (("approved", "@none.json"), "payload: cannot be read from 'none.json'"),
        (("x" * 201,), "name: has over 200 bytes"),
    ):
        ran = tenure(tmp_path, "jobs", "signal", job, *given, "--database", migrated)
        assert fails(ran, 2, text), ran
    assert job_of(migrated, job).state is State.SUSPENDED


def test_an_answer_ends_the_doubt(tmp_path: Path, migrated: str) -> None:
    """Nobody but a person says that an effect has happened; then the job goes on."""
    _, job, _ = on(migrated, three_jobs)
    where = ("--database", migrated)
    doctor = tenure(tmp_path, "doctor", *where)
    assert f"tenure jobs answer {job} charge --happened" in doctor.stdout
    assert "in doubt" in tenure(tmp_path, "jobs", "steps", job, *where).stdout
    for given, text in (
        ((), "--happened: is missing; give it, or --did-not-happen"),
        (("--did-not-happen", "--result", "1"), "--result: cannot be combined with --did-not-happen"),
        (("--happened", "--result", "yes"), "result: "),
    ):
        ran = tenure(tmp_path, "jobs", "answer", job, "charge", *given, *where)
        assert fails(ran, 2, text), ran
    done = tenure(tmp_path, "jobs", "answer", job, "charge", "--happened", "--result", '{"id":7}', *where)
    assert (done.returncode, done.stdout) == (0, f"{job} queued\n")
    steps = json.loads(tenure(tmp_path, "jobs", "steps", job, "--json", *where).stdout)
    assert [(step["status"], step["result"]) for step in steps["items"]] == [("done", {"id": 7})]
    late = tenure(tmp_path, "jobs", "answer", job, "charge", "--did-not-happen", *where)
    assert fails(late, 1, f"job {job} has no effect 'charge' in doubt")
    assert "charge" not in tenure(tmp_path, "doctor", *where).stdout


def test_an_effect_of_a_dead_letter_is_shown_and_answered(tmp_path: Path, migrated: str) -> None:
    job = str(on(migrated, in_doubt))
    where = ("--database", migrated)
    shown = tenure(tmp_path, "jobs", "show", job, *where).stdout
    assert "Its effect charge may or may not have happened" in shown
    told = json.loads(tenure(tmp_path, "jobs", "show", job, "--json", *where).stdout)
    assert [effect["step"] for effect in told["effectsInDoubt"]] == ["charge"]
    assert [step["inDoubt"] for step in told["stepList"]] == [True]
    done = tenure(tmp_path, "jobs", "answer", job, "charge", "--did-not-happen", *where)
    assert done.stdout == f"{job} failed\n"


def test_steps_are_a_table_for_people(tmp_path: Path, migrated: str) -> None:
    """A job without steps says so; a long result is cut, and control characters do nothing."""

    async def work(store: Store) -> tuple[str, str]:
        none = await enqueue_one(store)
        [held] = await claim(store)
        some = await enqueue_one(store)
        [held] = await claim(store)
        await keep(store, held, "plan", '{"text":"' + "x" * 300 + '"}')
        await keep(store, held, "clean")
        return str(none), str(some)

    none, some = on(migrated, work)
    ran = tenure(tmp_path, "jobs", "steps", none, "--database", migrated)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "the job has kept no steps\n")
    lines = tenure(tmp_path, "jobs", "steps", some, "--database", migrated).stdout.splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["step", "kind", "status"],
        ["plan", "step", "done"],
        ["clean", "step", "done"],
    ]
    assert lines[1].endswith("x…")
