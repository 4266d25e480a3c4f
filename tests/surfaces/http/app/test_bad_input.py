"""Every bad input that a client may send to the server, by its number: one table, so that none is forgotten.

A row is either asked here, at both stores, or names the tests that ask it: on a socket of their own, or
because it takes jobs that have come some way.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from tenure.storage.contract.store import Store
from tests.storage.verbs import EVERY_JOB
from tests.surfaces.http.auth import test_access, test_keys, test_namespaces
from tests.surfaces.http.calls import (
    test_bulk,
    test_create,
    test_definitions,
    test_intent,
    test_operate,
    test_quota,
    test_read,
    test_streams,
    test_streams_killed,
)
from tests.surfaces.http.http_server import Api, Reply
from tests.surfaces.http.server import test_command, test_framing, test_no_room

JSON = {"content-type": "application/json"}
NOBODY = "01890000-0000-7000-8000-000000000000"
DEEP = b"[" * 100_000 + b"]" * 100_000


class Case(NamedTuple):
    """A request, and what it is answered with: a status, and the kind of problem if it is one.

    `pointer` is where the first fault is, and `answer` what else it has. A header of None is left out.
    """

    status: int
    kind: str | None
    method: str = "POST"
    path: str = "/v1/jobs"
    body: Any = None
    raw: bytes | None = None
    headers: Mapping[str, str | None] = MappingProxyType({})
    pointer: str | None = None
    answer: Mapping[str, str] = MappingProxyType({})

    async def ask(self, api: Api) -> Reply:
        given = self.headers if self.raw is None else {**JSON, **self.headers}
        headers = {name: text for name, text in given.items() if text is not None}
        if self.raw is not None:
            return await api.call(self.method, self.path, content=self.raw, headers=headers)
        return await api.call(self.method, self.path, self.body, headers=headers)

    def check(self, reply: Reply) -> None:
        assert reply.status == self.status, (self, reply)
        if self.kind is not None:
            assert reply.kind == self.kind, (self, reply)
        if self.pointer is not None:
            assert reply.json["errors"][0]["pointer"] == self.pointer, (self, reply)
        if self.status == 405:
            assert reply.headers["allow"], (self, reply)
        assert self.answer.items() <= (reply.json.items() if self.answer else {}.items()), (self, reply)
        assert not [name for name in reply.headers if name.startswith("access-control-")]


def raw(status: int, kind: str, *bodies: bytes, pointer: str | None = None) -> list[Case]:
    return [Case(status, kind, raw=body, pointer=pointer) for body in bodies]


def job(status: int, kind: str | None, *fields: dict[str, Any]) -> list[Case]:
    return [Case(status, kind, body={"definitionKey": "mail", **some}) for some in fields]


def params(pointer: str, *bodies: Any) -> list[Case]:
    return [
        Case(422, "invalid-params", body={"definitionKey": "mail", "params": body}, pointer=pointer)
        for body in bodies
    ]


def get(status: int, kind: str | None, *paths: str, **headers: str) -> list[Case]:
    return [Case(status, kind, "GET", path, headers=headers) for path in paths]


def listed(status: int, kind: str, *queries: str) -> list[Case]:
    return get(status, kind, *(f"/v1/jobs?{query}" for query in queries))


def forms(*types: dict[str, str | None]) -> list[Case]:
    return [Case(415, "unsupported-media-type", raw=b"{}", headers=headers) for headers in types]


def schema(*schemas: Any) -> list[Case]:
    bodies = [{"paramsSchema": one} for one in schemas]
    return [Case(422, "invalid-definition", "PUT", "/v1/definitions/new/1", body) for body in bodies]


ROWS: dict[int, list[Case]] = {
    1: raw(400, "malformed-json", b"", b'{"definitionKey":', b"{} x"),
    2: raw(422, "validation", b"[]", b"null", b'"x"', b"3", pointer=""),
    3: forms(
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "application/json; charset=utf-16"},
        {"content-type": ""},
        {"content-type": None},
    ),
    4: raw(400, "malformed-json", b'{"a":"\xff"}', b"\xef\xbb\xbf{}"),
    5: raw(400, "malformed-json", b'{"a":NaN}', b'{"a":Infinity}', b'{"a":-Infinity}'),
    6: raw(400, "duplicate-key", b'{"a":1,"a":2}', b'{"params":{"a":[{"b":1,"b":2}]}}'),
    7: raw(400, "too-deep", DEEP),
    8: raw(422, "number-range", b'{"a":' + b"9" * 5000 + b"}", b'{"a":1e400000}'),
    9: raw(422, "invalid-character", b'{"a":"\\u0000"}', b'{"\\u0000":1}'),
    10: raw(422, "invalid-character", b'{"a":"\\ud800"}', b'{"\\udc00":1}', b'{"params":{"a":["\\ud83d"]}}'),
    14: forms({"content-encoding": "gzip"}, {"content-encoding": "br"}),
    17: [
        Case(405, "method-not-allowed", method, path)
        for method in ("DELETE", "PATCH", "TRACE")
        for path in ("/v1/jobs", "/jobs", "/v1/definitions/mail/1")
    ],
    18: get(406, "not-acceptable", "/v1/jobs", "/v1/stats", accept="text/html"),
    20: [
        *job(
            422, "unknown-field", {"state": "succeeded"}, {"attempts": 0}, {"workerId": "x"}, {"tenant": "x"}
        ),
        Case(
            422,
            "unknown-field",
            path="/jobs",
            body={"jobType": "mail", "idempotencyKey": "k", "status": "COMPLETED"},
            pointer="/status",
        ),
    ],
    21: [
        Case(422, "validation", body={"params": {}}),
        *job(422, "validation", *({"definitionKey": key} for key in ("", "x" * 201, "mail\n", "../x", 7))),
    ],
    22: [
        *job(422, "unknown-definition", {"definitionKey": "nope"}, {"definitionVersion": 7}),
        *job(422, "validation", *({"definitionVersion": version} for version in (0, -1, 1.0, "1", 2**31))),
    ],
    23: job(422, "validation", *({"priority": priority} for priority in ("5", 5.5, True, 10**9))),
    24: job(422, "validation", *({"maxAttempts": most} for most in (0, -1, 10**6, None))),
    25: job(422, "validation", *({"timeoutSeconds": seconds} for seconds in (0, -1, 604_801))),
    26: job(
        422,
        "datetime",
        *(
            {"runAt": at}
            for at in (
                *("2030-01-01T00:00:00", "2030-02-30T00:00:00Z", "2030-01-01T00:00:60Z", "tomorrow"),
                *("2030-W01-1T00:00:00Z", 1_900_000_000),
            )
        ),
    ),
    27: [
        Case(
            202,
            None,
            body={"definitionKey": "mail", "runAt": "1999-12-31T23:59:59Z"},
            answer={"status": "queued"},
        ),
        *job(422, "datetime", {"runAt": "2126-01-01T00:00:00Z"}),
    ],
    28: [
        *params("/params/to", {"to": 5}),
        *params("/params/cc", {"cc": "x"}),
        *params("/params", [], None, "x"),
    ],
    29: schema(
        {"$ref": "https://localhost:1/schema.json"},
        {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
        {"properties": {"a": {"pattern": "(a*)*\\1"}}},
        {"properties": {"a": {"pattern": "((a{0,99}){0,99}){0,99}"}}},
    ),
    30: job(422, "idempotency-key", *({"idempotencyKey": key} for key in ("", "x" * 256, "a\x07"))),
    35: [
        Case(422, "validation", path="/v1/jobs/batch", body={"jobs": []}),
        Case(422, "validation", path="/v1/jobs/batch", body={"jobs": [{"definitionKey": "mail"}] * 10_001}),
        Case(
            422,
            "invalid-params",
            path="/v1/jobs/batch",
            body={"jobs": [{"definitionKey": "mail"}, {"definitionKey": "mail", "params": {"to": 5}}]},
        ),
    ],
    38: get(
        404,
        "not-found",
        *(
            f"/v1/jobs/{text}"
            for text in (
                *("1", "%27%20OR%201=1--", f"%7B{NOBODY}%7D", f"urn:uuid:{NOBODY}", NOBODY.replace("-", "")),
                *("%00", "x" * 7000),
            )
        ),
    ),
    39: get(404, "not-found", f"/v1/jobs/{NOBODY}", f"/jobs/{NOBODY}", f"/v1/jobs/{NOBODY}/events"),
    40: listed(422, "validation", "limit=0", "limit=-1", "limit=abc", "limit=1000000000"),
    41: listed(400, "invalid-cursor", "cursor=garbage", "cursor=", "cursor=" + "A" * 5000),
    42: [
        *listed(422, "validation", "status=nope", "&".join(["status=queued"] * 500)),
        *listed(422, "validation", "sort=id;drop%20table%20jobs"),
        *listed(422, "unknown-field", "frobnicate=1"),
    ],
    43: listed(422, "validation", "tag=%25_%5C", "queue=%25", "definitionKey=_%25"),
    47: [
        case
        for text in ("garbage", "-1", "AAAA", "0, 0", "x" * 5000, "../../etc/passwd", "1")
        for case in get(
            400,
            "invalid-event-id",
            *("/v1/events", f"/v1/jobs/{NOBODY}/events"),
            **{"accept": "text/event-stream", "last-event-id": text},
        )
    ],
    48: [
        *get(200, None, "/docs", range="bytes=" + ",".join(f"{n}-{n}" for n in range(1000))),
        *get(404, "not-found", "/%2e%2e%2fetc%2fpasswd", "/docs/%2e%2e%2f", "/docs/..%2f..%2fetc"),
    ],
    49: get(421, "misdirected-request", "/v1/jobs", host="evil.example"),
    50: [
        Case(405, "method-not-allowed", "OPTIONS", headers={"origin": "http://evil.example"}),
        Case(403, "csrf", body={"definitionKey": "mail"}, headers={"origin": "http://evil.example"}),
    ],
}

ELSEWHERE: dict[int, tuple[Callable[..., object], ...]] = {
    11: (
        test_framing.test_a_body_that_says_it_is_too_large_is_refused_before_it_is_read,
        test_command.test_the_command_bounds_requests_as_the_server_does,
    ),
    12: (test_framing.test_a_chunked_body_that_grows_past_the_limit_is_cut_off,),
    13: (
        test_framing.test_a_request_that_comes_too_slowly_is_given_up,
        test_framing.test_slow_clients_take_no_place_from_others,
    ),
    15: (
        test_framing.test_what_is_not_http_is_refused,
        test_framing.test_after_a_garbled_request_nothing_more_is_read,
    ),
    16: (test_framing.test_heads_are_bounded,),
    19: (
        test_framing.test_who_leaves_in_the_middle_of_a_body_leaves_nothing,
        test_framing.test_who_leaves_before_the_answer_may_ask_again,
    ),
    29: (
        test_definitions.test_a_schema_that_cannot_be_used_is_refused_at_once,
        test_definitions.test_a_pattern_that_others_match_for_ever_is_matched_at_once,
        test_definitions.test_nothing_is_fetched_for_a_schema,
    ),
    31: (
        test_intent.test_the_same_key_again_is_the_same_job_and_looks_the_same,
        test_create.test_a_key_binds_what_was_asked,
    ),
    32: (
        test_create.test_a_key_binds_what_was_asked,
        test_intent.test_the_same_key_with_anything_else_is_the_first_job,
    ),
    33: (
        test_create.test_a_hundred_at_once_with_one_key_are_one_job,
        test_intent.test_many_at_once_with_one_key_make_one_job,
    ),
    34: (
        test_create.test_a_key_binds_what_was_asked,
        test_intent.test_the_same_key_with_anything_else_is_the_first_job,
        test_namespaces.test_the_same_idempotency_key_is_another_in_each,
    ),
    35: (test_create.test_every_job_of_a_batch_that_cannot_be_taken_is_told,),
    36: (
        test_command.test_while_the_server_is_away_nothing_is_promised,
        test_command.test_while_the_file_is_held_nothing_is_promised,
        test_no_room.test_on_a_full_disk_nothing_is_promised,
        test_no_room.test_while_every_connection_is_taken_nothing_is_promised,
    ),
    37: (
        test_quota.test_a_full_queue_takes_no_more,
        test_command.test_the_command_bounds_queues,
    ),
    39: (test_namespaces.test_no_answer_has_a_byte_of_another_namespace,),
    41: (
        test_read.test_a_cursor_belongs_to_its_list,
        test_bulk.test_a_cursor_belongs_to_its_sweep,
        test_namespaces.test_a_cursor_leads_nobody_else_on,
    ),
    44: (
        test_operate.test_a_job_that_waits_is_cancelled_once,
        test_operate.test_a_job_that_runs_is_asked_to_stop,
    ),
    45: (test_operate.test_a_job_that_has_ended_stays_as_it_is,),
    46: (test_create.test_a_job_that_has_not_ended_is_not_run_again,),
    47: (
        test_streams.test_an_id_of_another_stream_is_refused,
        test_streams.test_who_never_reads_is_cut_off,
        test_streams_killed.test_readers_that_never_read_cost_no_memory,
    ),
    49: (
        test_access.test_only_the_servers_own_names_lead_here,
        test_access.test_whoever_forwards_is_not_believed,
    ),
    50: (test_access.test_no_page_of_another_origin_may_read_or_ask_beforehand,),
    51: (
        test_keys.test_a_route_is_open_to_its_scope_and_to_no_other,
        test_keys.test_whatever_is_no_key_is_told_to_bring_one,
    ),
    52: (test_keys.test_nobody_is_told_what_is_wrong_with_a_key,),
    53: (test_keys.test_a_key_is_not_taken_from_the_address_and_told_to_nobody,),
    54: (test_keys.test_a_route_is_open_to_its_scope_and_to_no_other,),
    55: (test_keys.test_who_guesses_keys_is_told_to_wait_and_others_are_not,),
}
"""The tests that ask a row, or the rest of one; each says so."""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"row-{row}")
async def test_a_bad_input_is_answered_as_the_table_says(api: Api, store: Store, row: int) -> None:
    """The same on both stores; nothing is written, and nothing goes wrong inside."""
    before = len(await store.definitions())
    for case in ROWS[row]:
        case.check(await case.ask(api))
    taken = sum(case.status == 202 for case in ROWS[row])
    assert len((await store.page(EVERY_JOB)).jobs) == taken
    assert len(await store.definitions()) == before
    assert not api.bugs
    assert (await api.get("/healthz")).status == 200


@pytest.mark.parametrize("row", ELSEWHERE, ids=lambda row: f"row-{row}")
def test_what_is_asked_elsewhere_is_asked_there(row: int) -> None:
    """Rows 11 to 16 on a socket in bytes, others with jobs that have come some way."""
    for test in ELSEWHERE[row]:
        rows = re.search(r"[Rr]ows? ([\d, and]+)", test.__doc__ or "")
        assert rows, test.__name__
        assert str(row) in re.findall(r"\d+", rows[1]), test.__name__


def test_no_row_is_forgotten() -> None:
    """Rows 1 to 55."""
    assert sorted({*ROWS, *ELSEWHERE}) == list(range(1, 56))
