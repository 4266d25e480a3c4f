"""Bodies that cannot be taken: the same answer at every route that takes one, and on both stores."""

from uuid import uuid4

from tenure.surfaces.http.calls.table import ROUTES
from tests.surfaces.http.http_server import Api

JSON = {"content-type": "application/json"}
DEEP = b"[" * 100_000 + b"]" * 100_000

BODIES: dict[str, tuple[bytes, int, str]] = {
    "empty": (b"", 400, "malformed-json"),
    "cut short": (b'{"definitionKey":', 400, "malformed-json"),
    "garbage behind": (b"{} x", 400, "malformed-json"),
    "a list": (b"[]", 422, "validation"),
    "null": (b"null", 422, "validation"),
    "a text": (b'"x"', 422, "validation"),
    "a number": (b"3", 422, "validation"),
    "no UTF-8": (b'{"a":"\xff"}', 400, "malformed-json"),
    "a byte order mark": (b"\xef\xbb\xbf{}", 400, "malformed-json"),
    "NaN": (b'{"a":NaN}', 400, "malformed-json"),
    "Infinity": (b'{"a":-Infinity}', 400, "malformed-json"),
    "a key twice": (b'{"params":{"a":[{"b":1,"b":2}]}}', 400, "duplicate-key"),
    "too deep": (DEEP, 400, "too-deep"),
    "too many digits": (b'{"a":' + b"9" * 5000 + b"}", 422, "number-range"),
    "too large a number": (b'{"a":1e400000}', 422, "number-range"),
    "NUL": (b'{"a":"\\u0000"}', 422, "invalid-character"),
    "NUL in a key": (b'{"\\u0000":1}', 422, "invalid-character"),
    "half a character": (b'{"a":"\\ud800"}', 422, "invalid-character"),
    "too many keys": (
        b"{" + b",".join(b'"%d":1' % n for n in range(10_001)) + b"}",
        422,
        "too-many-keys",
    ),
}
"""Rows 1, 2 and 4 to 10."""

FORMS: dict[str, dict[str, str]] = {
    "none": {},
    "text": {"content-type": "text/plain"},
    "a form": {"content-type": "application/x-www-form-urlencoded"},
    "another charset": {"content-type": "application/json; charset=utf-16"},
    "packed": {**JSON, "content-encoding": "gzip"},
}
"""Rows 3 and 14."""

NAMES = {"key": "mail", "version": 1, "queue": "q", "workerId": "w", "name": "n", "message": "m"} | {
    "effect": "e",
    "signal": "s",
    "step": "s",
}


async def test_where_no_body_is_wanted_an_empty_object_is_taken(api: Api) -> None:
    """Many clients send one with everything that is no GET; whatever says something is refused as before."""
    for route in (route for route in ROUTES if route.takes is None and route.method != "GET"):
        path = route.path.format_map({**NAMES, "jobId": uuid4(), "webhookId": uuid4()})
        plain = await api.call(route.method, path)
        assert plain.status != 413
        for body in (b"{}", b"{ }", b"{}\n", b""):
            reply = await api.call(route.method, path, content=body, headers=JSON)
            assert reply.status == plain.status, path
        for body in (b'{"a":1}', b"[]", b"{}{}", b" " * 65 + b"{}"):
            reply = await api.call(route.method, path, content=body, headers=JSON)
            assert (reply.status, reply.kind) == (413, "too-large"), path
    assert not api.bugs


async def test_a_body_that_is_no_good_is_refused_in_the_same_way_everywhere(api: Api) -> None:
    """Rows 1, 2 and 4 to 10: at every route that needs a body; the server goes on."""
    for route in (route for route in ROUTES if route.body is not None and route.needs_body):
        path = route.path.format_map({**NAMES, "jobId": uuid4(), "webhookId": uuid4()})
        replies = {
            name: await api.call(route.method, path, content=body, headers=JSON)
            for name, (body, _, _) in BODIES.items()
        }
        found = {name: (reply.status, reply.kind) for name, reply in replies.items()}
        assert found == {name: (status, kind) for name, (_, status, kind) in BODIES.items()}, path
    assert (await api.get("/v1/jobs")).json["items"] == []
    assert not api.bugs


async def test_a_problem_points_to_where_it_is(api: Api) -> None:
    """Row 2, and what a client needs to put it right."""
    places = {
        b"[]": "",
        b'{"definitionKey":"mail","params":{"a":[{"b":1,"b":2}]}}': "/params/a/0/b",
        b'{"definitionKey":"mail","priority":"x"}': "/priority",
        b"{}": "/definitionKey",
        b'{"definitionKey":"mail","st/ate":1}': "/st~1ate",
        b'{"definitionKey":"mail","tags":["ok","not ok"]}': "/tags/1",
    }
    for body, pointer in places.items():
        reply = await api.post("/v1/jobs", content=body, headers=JSON)
        [error] = reply.json["errors"]
        assert error["pointer"] == pointer, body
        assert error["code"] == reply.kind


async def test_only_json_in_utf_8_is_taken(api: Api) -> None:
    """Rows 3 and 14: what is packed is not unpacked."""
    for name, headers in FORMS.items():
        reply = await api.post("/v1/jobs", content=b'{"definitionKey":"mail"}', headers=headers)
        assert (reply.status, reply.kind) == (415, "unsupported-media-type"), name
    for spelled in (
        "application/json",
        "Application/JSON; charset=UTF-8",
        'application/json;charset="utf-8"',
    ):
        reply = await api.post(
            "/v1/jobs", content=b'{"definitionKey":"mail"}', headers={"content-type": spelled}
        )
        assert reply.status == 202, spelled


async def test_no_answer_echoes_much_of_what_was_sent(api: Api) -> None:
    """At most 64 characters in a row come back, whatever the field."""
    long = "x" * 5000
    bodies: list[dict[str, object]] = [
        {"definitionKey": long},
        {"definitionKey": "mail", long: 1},
        {"definitionKey": "mail", "runAt": long},
        {"definitionKey": "mail", "params": {long: 1}},
        {"definitionKey": "mail", "params": {"to": 5, "y": long}},
        {"definitionKey": "mail", "priority": int("9" * 300)},
        {"definitionKey": "mail", "idempotencyKey": long},
        {"definitionKey": "bill", "params": {"a": {long: {long: 1e308}}}, "tags": [long]},
    ]
    replies = [await api.post("/v1/jobs", body) for body in bodies]
    replies += [await api.get(f"/v1/jobs?{query}={long}") for query in ("cursor", "tag", "limit", long)]
    replies += [await api.get(f"/v1/jobs/{long}")]
    for reply in replies:
        assert 400 <= reply.status < 500
        assert b"x" * 65 not in reply.body
        assert b"9" * 65 not in reply.body
        assert len(reply.body) < 2000


async def test_a_body_may_be_left_out_where_nothing_need_be_said(api: Api) -> None:
    job = (await api.post("/v1/jobs", {"definitionKey": "mail", "hold": True})).json["jobId"]
    assert (await api.post(f"/v1/jobs/{job}/cancel")).status == 202
    reply = await api.post(f"/v1/jobs/{job}/release", {"a": 1})
    assert (reply.status, reply.kind) == (413, "too-large")
