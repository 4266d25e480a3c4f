"""Keys and the audit log: who may do what, and who did what."""

import re
from collections.abc import Sequence
from datetime import datetime
from struct import pack

from msgspec import Struct

from tenure.core.reports.access import AuditEntry, AuditRecord, Key, opened_by
from tenure.surfaces.dashboard.renderer import render, see_other
from tenure.surfaces.http.app import cursors
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal

KEYS = "/ui/keys"
PAGE = 50
_LIST = b"audit page"
_RIGHTS = {
    "admin": "can do everything",
    "operate": "can operate",
    "submit": "can start jobs",
    "read": "can read",
    "work": "can run jobs",
}
_METHODS = {"POST": "create", "PUT": "set", "PATCH": "change", "DELETE": "delete"}
_ROUTE = re.compile(r"(POST|PUT|PATCH|DELETE) /(ui|v1)?/?(.*)")


class ShownKey(Struct, frozen=True):
    """A key, in words: what it may do, on what, and whether it opens nothing any more."""

    key: Key
    rights: str
    on: str
    over: str
    """`revoked` or `expired`; nothing while it is valid."""


class ShownEntry(Struct, frozen=True):
    """What somebody did: a verb with its object, by which way, and how it ended unless it was done."""

    record: AuditRecord
    what: str
    way: str
    problem: str


async def keys(context: AppContext, request: Request) -> Response:
    """The page: keys, those that are valid first, and the audit log, the latest first."""
    now = await context.client.schedules.now()
    before = None
    if "cursor" in request.query:
        [before] = cursors.read_numbers(request.query["cursor"], _LIST, ">q")
    found = await context.access.audit_entries(before=before, limit=PAGE + 1)
    shown = found[:PAGE]
    older = None
    if len(found) > PAGE:
        older = f"{KEYS}?cursor={cursors.write(pack('>q', shown[-1].n), _LIST)}"
    known = [_shown(key, now) for key in await context.access.keys()]
    return render(
        request,
        "keys.html",
        fragment="_keys.html",
        keys=sorted(known, key=lambda one: bool(one.over)),
        entries=[entry_of(record) for record in shown],
        older=older,
        is_start=before is None,
    )


async def sure(context: AppContext, request: Request) -> Response:
    """The page that says what it means to revoke a key."""
    key = await _key(context, request)
    return render(request, "key_sure.html", one=_shown(key, await context.client.schedules.now()))


async def revoke(context: AppContext, request: Request) -> Response:
    """Let a key open nothing from now on. The store writes the entry of the audit log with it."""
    key = await _key(context, request)
    entry = AuditEntry(
        who=request.caller.name,
        key=request.caller.key,
        action="POST /ui/keys/{keyId}/revoke",
        target=key.id,
        request=request.page.request,
    )
    await context.access.revoke_key(key.id, entry)
    return see_other(KEYS)


def entry_of(record: AuditRecord) -> ShownEntry:
    """An entry in words."""
    action, target = record.entry.action, record.entry.target
    found = _ROUTE.fullmatch(action)
    way = {"ui": "dashboard", "v1": "HTTP"}.get(found[2] or "", "dashboard") if found else "command line"
    outcome = record.outcome
    is_done = outcome is not None and (outcome == "done" or outcome[:1] in {"2", "3"})
    what = _verb(found[1], found[3]) if found else action
    problem = "" if is_done else outcome or "not known how it ended"
    return ShownEntry(record, f"{what} {target}".strip(), way, problem)


def _verb(method: str, path: str) -> str:
    """What a route does to what, from its path: `queues/{queue}/pause` is `pause queue`."""
    parts = [part for part in path.split("/") if part]
    names = [part for part in parts if not part.startswith("{")]
    if not names:
        return method.lower()
    if len(names) > 1 and len(parts) > 1 and not parts[-1].startswith("{"):
        return f"{names[-1].replace('-', ' ')} {_one(names[-2])}"
    return names[0] if len(parts) == 1 and names[0] in {"login"} else f"{_METHODS[method]} {_one(names[-1])}"


def _one(noun: str) -> str:
    return noun.removesuffix("s").replace("-", " ")


def _shown(key: Key, now: datetime) -> ShownKey:
    over = ""
    if key.revoked_at is not None:
        over = "revoked"
    elif key.expires_at is not None and key.expires_at <= now:
        over = "expired"
    return ShownKey(key, _rights(key.scopes), _bound(key), over)


def _rights(scopes: Sequence[str]) -> str:
    """The widest of its rights; those that another includes are not named."""
    named = [one for one in scopes if not any(one in opened_by([other]) for other in scopes if other != one)]
    return ", ".join(_RIGHTS[scope] for scope in named)


def _bound(key: Key) -> str:
    parts = [", ".join((*key.definitions, *key.queues))] if key.definitions or key.queues else []
    parts += [f"namespace {key.namespace}"] if key.namespace else []
    return ", ".join(parts) or "everything"


async def _key(context: AppContext, request: Request) -> Key:
    for key in await context.access.keys():
        if key.id == request.path["keyId"]:
            return key
    raise Refusal("not-found", "there is no such key")
