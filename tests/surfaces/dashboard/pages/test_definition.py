"""The page of a definition: figures, policy with its source, and the form that starts a job."""

import json
from datetime import timedelta
from uuid import UUID

import pytest

from tenure.core.model.lease import Line
from tenure.core.model.limit import Limit
from tenure.core.model.outcome import Report, Succeeded, Unrecoverable
from tenure.core.model.policy import OnLost, Policy
from tenure.core.model.spec import Spec
from tenure.core.model.states import State
from tenure.core.model.trail import Usage
from tenure.core.reports.reading import Filter
from tenure.core.values.documents import write
from tenure.core.values.failure import Failure
from tenure.engine.upkeep.pace_sampling import sample_pace
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import claim, enqueue_one, seconds, settle
from tests.surfaces.dashboard.browser_user import Visitor, visitor
from tests.surfaces.http.http_server import Api, register

PAGE = "/ui/definitions/invoice.send"
INVOICE = Spec(
    key="invoice.send",
    version=2,
    concurrency=50,
    limits=(Limit("ledger", size=20),),
    policy=Policy(timeout=seconds(30), on_lost=OnLost.BURY),
    params_schema=write(
        {
            "type": "object",
            "properties": {
                "order": {"type": "integer", "minimum": 1},
                "amount": {"type": "number"},
                "note": {"type": "string", "maxLength": 5},
                "to": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
                "<b>": {"type": "string"},
            },
            "required": ["order", "amount"],
        }
    ),
)
RIGHT = {"p/order": "84121", "p/amount": "129.90"}


async def shown(who: Visitor, path: str = PAGE) -> str:
    reply = await who.get(path)
    assert reply.status == 200, reply
    return reply.body.decode()


async def only_job(store: Store) -> UUID:
    [job] = (await store.page(Filter(definition="invoice.send"))).jobs
    return job.id


async def test_a_job_is_started_with_what_the_fields_hold(api: Api, store: Store) -> None:
    await register(store, INVOICE)
    options = {"queue": "fast", "priority": "7", "delay": "2h", "key": "k-1", "tags": "a, b"}
    reply = await Visitor(api).submit(f"{PAGE}/start", {**RIGHT, "p/to/city": "Bonn", **options})
    job = await store.get(await only_job(store))
    assert job is not None
    assert (reply.status, reply.headers["location"]) == (303, f"/ui/jobs/{job.id}")
    assert job.params == '{"order":84121,"amount":129.90,"to":{"city":"Bonn"}}'
    assert (job.queue, job.priority, job.key, job.tags) == ("fast", 7, "k-1", ("a", "b"))
    assert (job.state, job.version) == (State.SCHEDULED, 2)
    assert not api.bugs


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (
            {"p/order": "1", "p/amount": "129,90"},
            'id="p/amount-problem">is not a decimal number; write 129.90<',
        ),
        ({"p/amount": "1"}, 'id="p/order-problem">is missing; write digits, such as 42<'),
        ({**RIGHT, "p/order": "0"}, 'id="p/order-problem">is less than the minimum of 1<'),
        ({**RIGHT, "p/note": "far too long"}, 'id="p/note-problem">is longer than 5 characters<'),
        ({**RIGHT, "priority": "high"}, 'id="priority-problem">is &#39;high&#39;; write a whole number'),
        ({**RIGHT, "delay": "soon"}, 'id="delay-problem">is &#39;soon&#39;; write seconds'),
        ({**RIGHT, "queue": "a b"}, 'id="queue-problem">'),
        ({**RIGHT, "tags": "\u202e"}, 'id="tags-problem">'),
        ({**RIGHT, "p/nothing": "1"}, "is not a field of this definition any more"),
        ({"params": "{"}, 'id="params-problem">is not JSON'),
        ({"params": '{"order": 1}'}, 'id="params-problem">amount is missing<'),
        ({"params": '{"order": 1, "amount": "x"}'}, 'id="params-problem">amount is not of type'),
    ],
)
async def test_what_is_wrong_comes_back_beside_its_field(
    api: Api, store: Store, fields: dict[str, str], told: str
) -> None:
    await register(store, INVOICE)
    reply = await Visitor(api).submit(f"{PAGE}/start", fields)
    page = reply.body.decode()
    assert (reply.status, told in page) == (422, True), page.partition('id="start"')[2][:9000]
    for text in fields.values():
        assert text.replace('"', "&#34;") in page, "what was typed is still there"
    assert (await store.page(Filter())).jobs == []
    assert not api.bugs


async def test_fields_become_json_and_keep_what_they_hold(api: Api, store: Store) -> None:
    await register(store, INVOICE)
    anybody = Visitor(api)
    reply = await anybody.submit(f"{PAGE}/start", {**RIGHT, "queue": "fast", "as_json": "yes"})
    page = reply.body.decode()
    assert reply.status == 200
    text = page.partition("<textarea")[2].partition(">")[2].partition("</textarea>")[0]
    assert json.loads(text.replace("&#34;", '"')) == {"order": 84121, "amount": 129.9}
    assert 'value="fast"' in page
    assert "As fields" in page
    assert (await anybody.submit(f"{PAGE}/start", {"params": '{"order":1,"amount":2}'})).status == 303
    assert "As fields" in await shown(anybody, f"{PAGE}?form=json")


async def test_an_idempotency_key_that_was_used_is_told_beside_its_field(api: Api, store: Store) -> None:
    await register(store, INVOICE)
    anybody = Visitor(api)
    first = await anybody.submit(f"{PAGE}/start", {**RIGHT, "key": "k-1"})
    again = await anybody.submit(f"{PAGE}/start", {**RIGHT, "key": "k-1"})
    assert (first.status, again.headers["location"]) == (303, first.headers["location"])
    other = await anybody.submit(f"{PAGE}/start", {**RIGHT, "p/order": "2", "key": "k-1"})
    assert other.status == 422
    assert b'id="key-problem">was used for another job, ' in other.body


async def test_a_schema_without_fields_has_one_for_json(api: Api, store: Store) -> None:
    await register(store, Spec(key="anything"))
    anybody = Visitor(api)
    page = await shown(anybody, "/ui/definitions/anything")
    assert ("<textarea" in page, "As fields" in page, "As JSON" in page) == (True, False, False)
    assert (await anybody.submit("/ui/definitions/anything/start", {"params": "[1]"})).status == 422
    assert (await anybody.submit("/ui/definitions/anything/start")).status == 303


async def test_hostile_names_and_texts_stay_text(api: Api, store: Store) -> None:
    """Row 90: of a schema as of what was typed; a typed text comes back as it was."""
    await register(store, INVOICE)
    typed = '"><script>alert(1)</script>\u202e'
    reply = await Visitor(api).submit(f"{PAGE}/start", {"p/%3Cb%3E": typed, "p/amount": "{{ 7*7 }}"})
    page = reply.body.decode()
    assert reply.status == 422
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\u202e" in page
    assert '<label for="p/%3Cb%3E">&lt;b&gt;' in page
    assert "{{ 7*7 }}" in page
    assert not api.bugs


async def test_only_who_may_submit_starts_jobs_and_only_who_operates_changes_policy(
    api: Api, store: Store
) -> None:
    await register(store, INVOICE)
    reader, submitter = await visitor(api, store, "read"), await visitor(api, store, "read", "submit")
    assert "Start job" not in await shown(reader)
    assert (await reader.submit(f"{PAGE}/start", RIGHT, token=await reader.token())).status == 403
    page = await shown(submitter)
    assert ("Start job" in page, "Change…" in page) == (True, False)
    token = await submitter.token()
    assert (await submitter.submit(f"{PAGE}/start", RIGHT, token=token)).status == 303
    policy = f"{PAGE}/versions/2/policy"
    assert (await submitter.submit(policy, {"timeout": "9s"}, token=token)).status == 403
    assert ">Save<" not in await shown(submitter, policy)
    for nowhere in ("/ui/definitions/nope/start", "/ui/definitions/a%20b/start"):
        assert (await submitter.submit(nowhere, token=token)).status == 404, nowhere


async def test_a_policy_names_the_source_of_each_part(api: Api, store: Store) -> None:
    await register(store, INVOICE)
    operator = await visitor(api, store, "operate")
    policy = f"{PAGE}/versions/2/policy"
    reply = await operator.submit(policy, {"timeout": "90", "retry-base": "5s", "priority": "3"})
    assert (reply.status, reply.headers["location"]) == (303, PAGE)
    await store.set_limit("ledger", 4)
    await store.set_retention("invoice.send", {"others": timedelta(days=90)})
    page = await shown(operator)
    for name, value in (
        (
            "Timeout",
            '1 min 30 s, then 10 s to stop<span class="sub">code says 30 s, then 10 s to stop</span>',
        ),
        (
            "Back-off",
            '5 s, doubling, up to 5 min<span class="sub">code says 1 s, doubling, up to 5 min</span>',
        ),
        ("Priority", '3<span class="sub">code says 0</span>'),
        ("At once, ledger", '4 in the whole cluster<span class="sub">code says 20</span>'),
        (
            "Kept after its end",
            '7 d, failures 90 d<span class="sub">7 d, failures 30 d for all others</span>',
        ),
    ):
        row = page.partition(f">{name}</td>")[2].partition("</tr>")[0]
        assert (value in row, "set here" in row) == (True, True), (name, row)
    for name, value in (("Attempts", "1"), ("When its worker is lost", "buried: it must not run twice")):
        row = page.partition(f">{name}</td>")[2].partition("</tr>")[0]
        assert (f"<td>{value}</td>" in row, "set here" in row) == (True, False), (name, row)
    assert (await operator.submit(policy)).status == 303
    assert "code says 30 s" not in await shown(operator)


async def test_a_policy_that_cannot_be_comes_back_with_what_is_wrong(api: Api, store: Store) -> None:
    await register(store, INVOICE)
    operator = await visitor(api, store, "operate")
    for fields, field in (
        ({"timeout": "soon"}, "timeout"),
        ({"timeout": "999d"}, "timeout"),
        ({"priority": "1.5"}, "priority"),
        ({"max-attempts": "3"}, "max-attempts"),
        ({"retry-base": "9d"}, "retry-base"),
        ({"retry-cap": "0"}, "retry-cap"),
    ):
        reply = await operator.submit(f"{PAGE}/versions/2/policy", fields)
        assert (reply.status, f'id="{field}-problem"' in reply.body.decode()) == (422, True), fields
    assert (await operator.get(f"{PAGE}/versions/9/policy")).status == 404
    [known] = [one for one in await store.definitions() if one.key == "invoice.send"]
    assert known.override is None
    assert not api.bugs


async def test_figures_tell_what_was_counted_and_measured(api: Api, store: Store, clock: Clock) -> None:
    await register(store, INVOICE)
    used = Usage(exit_code=0, cpu=seconds(0.31), peak_memory=75 * 2**20)
    for n in range(10):
        await enqueue_one(store, definition="invoice.send", version=2)
        await clock.advance(seconds(1))
        [owned] = await claim(store, lines=[Line("default", "invoice.send", 2)])
        await clock.advance(seconds(2))
        ending = Unrecoverable(Failure("OSError", "no")) if n == 0 else Succeeded()
        await settle(store, [Report(owned.lease, ending, used)])
    await clock.advance(seconds(60))
    assert await sample_pace(store)
    page = await shown(Visitor(api), f"{PAGE}?period=hour")
    assert ("<b>310 ms</b>" in page, "<b>75.0 MiB</b>" in page) == (True, True)
    figures = page.partition('aria-label="Figures"')[2].partition("</section>")[0]
    for part in (">Jobs<", "<b>10</b>", "10 an hour", ">10 %<", "1 of 10", "Ran, median", "Waited, median"):
        assert part in figures, (part, figures)
    assert "Jobs per minute" in page
    assert (await Visitor(api).get(f"{PAGE}?period=century")).status == 422
