"""The page of keys and of the audit log: who may what, who did what, and how a key is revoked."""

import re

from tenure.core.reports.access import AuditEntry, AuditRecord
from tenure.storage.contract.store import Store
from tenure.surfaces.dashboard.pages.keys import entry_of
from tests.storage.clock import Clock
from tests.storage.verbs import enqueue_one, seconds
from tests.surfaces.dashboard.browser_user import Visitor, log_in, visitor
from tests.surfaces.http.auth.test_keys import make
from tests.surfaces.http.http_server import Api
from tests.surfaces.store_behind import NOBODY


async def page_of(who: Visitor) -> str:
    return (await who.get("/ui/keys")).body.decode()


async def test_keys_are_told_by_what_they_may_without_their_secrets(
    api: Api, store: Store, clock: Clock
) -> None:
    admin = await visitor(api, store, "admin")
    made = await make(store, "submit", name="<i>shop</i>", definitions=("mail",), namespace="acme")
    await make(store, "operate", "read", name="brief", lifetime=seconds(60))
    await clock.advance(seconds(61))
    page = await page_of(admin)
    assert "&lt;i&gt;shop&lt;/i&gt;" in page
    assert "can start jobs" in page
    assert "mail, namespace acme" in page
    assert made[4:14] in page
    assert made[15:] not in page
    assert re.search(r"brief</b>.*?expired", page, re.DOTALL)


async def test_only_who_may_do_everything_finds_the_page(api: Api, store: Store) -> None:
    operator, admin = await visitor(api, store, "operate"), await visitor(api, store, "admin")
    bound = await visitor(api, store, "admin", namespace="acme")
    for other in (operator, bound):
        assert (await other.get("/ui/keys")).status == 403
        assert b'href="/ui/keys"' not in (await other.get("/ui/jobs")).body
    assert b'href="/ui/keys"' in (await admin.get("/ui/jobs")).body


async def test_a_key_is_revoked_after_a_page_has_said_what_that_means(api: Api, store: Store) -> None:
    """The audit log has it once; its owner's browser is logged out at once."""
    admin, key = await visitor(api, store, "admin"), await make(store, "operate", name="ann")
    owner = await log_in(api, key)
    path = f"/ui/keys/{key[4:14]}/revoke"
    question = await admin.get(path)
    assert b"Revoke key ann?" in question.body
    assert b"you will be logged out" not in question.body
    assert (await owner.get("/ui/jobs")).status == 200
    assert (await admin.submit(path)).status == 303
    assert (await owner.get("/ui/jobs")).status == 303
    assert re.search(r"ann</b>.*?revoked", await page_of(admin), re.DOTALL)
    assert b"opens nothing" in (await admin.get(path)).body
    entries = [one for one in await store.audit_entries() if "revoke" in one.entry.action]
    assert [(one.entry.target, one.outcome) for one in entries] == [(key[4:14], "done")]


async def test_a_key_that_is_not_there_is_a_page_that_says_so(api: Api, store: Store) -> None:
    admin = await visitor(api, store, "admin")
    assert (await admin.get("/ui/keys/nonsense/revoke")).status == 404
    assert (await admin.submit("/ui/keys/nonsense/revoke")).status == 404
    assert not api.bugs


async def test_who_did_what_is_told_with_how_it_ended_and_goes_on(api: Api, store: Store) -> None:
    admin = await visitor(api, store, "admin")
    await enqueue_one(store)
    await admin.submit("/ui/queues/default/pause", {"reason": "a fire"})
    await admin.submit(f"/ui/jobs/{NOBODY}/cancel")
    page = await page_of(admin)
    assert "pause queue default" in page
    assert f"cancel job {NOBODY}" in page
    assert "404 not-found" in page
    for _ in range(60):
        await admin.submit("/ui/queues/default/resume")
    page = await page_of(admin)
    older = re.search(r'href="(/ui/keys\?cursor=[^"]+)"', page)
    assert older
    assert "pause queue default" not in page
    assert b"pause queue default" in (await admin.get(older[1])).body
    assert (await admin.get("/ui/keys?cursor=nonsense")).status == 400


def test_an_action_is_told_in_words(clock: Clock) -> None:
    def told(action: str, outcome: str | None = "204") -> tuple[str, str, str]:
        entry = AuditEntry(who="ann", action=action, target="x", request=NOBODY)  # type: ignore[arg-type]
        shown = entry_of(AuditRecord(n=1, at=clock.now, entry=entry, outcome=outcome))
        return shown.what, shown.way, shown.problem

    assert told("POST /ui/definitions/{key}/pause") == ("pause definition x", "dashboard", "")
    assert told("DELETE /v1/schedules/{namespace}/{id}") == ("delete schedule x", "HTTP", "")
    assert told("PUT /v1/retention/{key}") == ("set retention x", "HTTP", "")
    assert told("keys create", "done") == ("keys create x", "command line", "")
    assert told("POST /v1/jobs/purge", None)[2] == "not known how it ended"
