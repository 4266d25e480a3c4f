"""Dead letters by cause, and the careful way out: one is tried first, and left out when the rest follow."""

import html
import re
from typing import Any

from tenure.core.model.states import State
from tenure.core.values.failure import Excerpt, Failure
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import claim, enqueue_one, seconds, settle, state_of, succeeded, unrecoverable
from tests.surfaces.dashboard.browser_user import Visitor, visitor
from tests.surfaces.http.http_server import Api

TRACE = (
    'Traceback (most recent call last):\n  File "/app/shop/ledger.py", line 8, in post\n    x\nOSError: no'
)
DOWN = Failure("OSError", "no route to host 7", TRACE)


async def die(store: Store, *errors: Failure) -> list[Any]:
    """Let new jobs fail for good; returns their ids."""
    for _ in errors:
        await enqueue_one(store)
    owned = await claim(store, limit=len(errors))
    await settle(store, [unrecoverable(one, error) for one, error in zip(owned, errors, strict=True)])
    return [one.lease.job for one in owned]


async def shown(who: Visitor, path: str = "/ui/dead-letters") -> str:
    reply = await who.get(path)
    assert reply.status == 200, reply.body
    return reply.body.decode()


def hidden(page: str, act: str) -> dict[str, Any]:
    """The hidden fields of the form with this action."""
    [form] = [one for one in re.findall(r"<form.*?</form>", page, re.DOTALL) if f'value="{act}"' in one]
    fields: dict[str, Any] = {}
    for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form):
        fields.setdefault(name, []).append(html.unescape(value))
    return fields


async def test_one_is_tried_and_left_out_when_the_rest_are_replayed(api: Api, store: Store) -> None:
    """Once a replay has ended, only the key of the try keeps it from being run a second time."""
    await die(store, DOWN, DOWN, DOWN)
    operator = await visitor(api, store, "operate")
    page = await shown(operator)
    assert "3 jobs that failed for good" in page
    assert "Replay all 3…" in page
    assert 'class="main"' not in page
    assert "shop/ledger.py:8 in post" in page
    [path] = re.findall(r'action="(/ui/jobs/[0-9a-f-]{36}/try)"', page)
    tried = await operator.submit(path)
    assert tried.status == 303
    goal = tried.headers["location"]
    page = await shown(operator, goal)
    assert ", is queued." in page
    assert "Try one" not in page
    [owned] = await claim(store)
    await settle(store, [succeeded(owned)])
    page = await shown(operator, goal)
    assert "went well" in page
    assert '<button class="main">Replay the other 2…</button>' in page
    asked = await operator.submit("/ui/jobs/act", hidden(page, "replay"))
    assert "Replay 2 jobs?" in asked.body.decode()
    assert 'class="main">Replay 2 jobs</button>' in asked.body.decode()
    done = await operator.submit("/ui/jobs/act", hidden(asked.body.decode(), "replay"))
    assert "did=replay&changed=2" in done.headers["location"]
    again = [one.lease.job for one in await claim(store)]
    assert len(again) == 2
    assert owned.lease.job not in again


async def test_a_try_that_fails_says_so_and_offers_no_filled_button(api: Api, store: Store) -> None:
    await die(store, DOWN, DOWN)
    operator = await visitor(api, store, "operate")
    [path] = re.findall(r'action="(/ui/jobs/[0-9a-f-]{36}/try)"', await shown(operator))
    goal = (await operator.submit(path)).headers["location"]
    [owned] = await claim(store)
    await settle(store, [unrecoverable(owned, DOWN)])
    page = await shown(operator, goal)
    assert "ended as failed" in page
    assert "The others would most likely, too." in page
    assert 'class="main"' not in page
    assert await state_of(store, owned.lease.job) is State.FAILED


async def test_causes_are_narrowed_and_put_in_order(api: Api, store: Store, clock: Clock) -> None:
    await die(store, *[Failure("KeyError", "no customer")] * 3)
    await clock.advance(seconds(25 * 3_600))
    await die(store, DOWN)
    anybody = Visitor(api)

    async def kinds(query: str = "") -> list[str]:
        return re.findall(r'<span class="bad">(\w+)</span>', await shown(anybody, f"/ui/dead-letters{query}"))

    assert await kinds() == ["OSError", "KeyError"]
    assert await kinds("?order=most") == ["KeyError", "OSError"]
    assert await kinds("?order=oldest") == ["KeyError", "OSError"]
    assert await kinds("?q=CUSTOMER+mail") == ["KeyError"]
    assert await kinds("?within=day") == ["OSError"]
    assert "No cause matches" in await shown(anybody, "/ui/dead-letters?q=nothing")
    assert (await anybody.get("/ui/dead-letters?order=colour")).status == 422
    assert (await anybody.get("/ui/dead-letters?tried=nope")).status == 422


async def test_a_cause_says_when_replaying_alone_does_not_help(api: Api, store: Store) -> None:
    await die(store, Failure("OutOfMemory", "too much"))
    page = await shown(Visitor(api))
    assert "raise <code>memory=</code> of" in page
    assert "Try it" in page
    assert "When they ended in the last 24 hours" in page


async def test_a_try_of_another_cause_or_of_no_replay_says_nothing(api: Api, store: Store) -> None:
    [dead] = await die(store, DOWN)
    page = await shown(Visitor(api), f"/ui/dead-letters?tried={dead}")
    assert "The one you tried" not in page


async def test_source_lines_and_places_that_somebody_chose_are_texts(api: Api, store: Store) -> None:
    """Rows 89, 90: what stands in a traceback, in its source lines and in a search."""
    hostile = "</pre><img src=x onerror=alert(1)>\u202e\x9b31m"
    path = f"/app/{hostile}.py"
    trace = (
        f'Traceback (most recent call last):\n  File "{path}", line 1, in {hostile}\n    {hostile}\n{hostile}'
    )
    error = Failure(hostile, hostile, trace, (Excerpt(path, 1, 1, (hostile, hostile)),))
    [job] = await die(store, error)
    anybody = Visitor(api)
    for path in (f"/ui/jobs/{job}", f"/ui/jobs/{job}?trace=all", f"/ui/jobs/{job}?trace=text"):
        page = await shown(anybody, path)
        assert "<img" not in page
        assert not {"\u202e", "\x9b"}.intersection(page)
    page = await shown(anybody)
    assert "<img" not in page
    assert not {"\u202e", "\x9b"}.intersection(page)
    searched = await shown(anybody, "/ui/dead-letters?q=%22%3E%3Cimg%20src=x%3E")
    assert "<img" not in searched
