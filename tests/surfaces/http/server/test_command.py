"""`tenure api` as it is run: it starts, stops in good order, outlives its database, and is killed."""

import json
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from tests.storage.faults.own_server import OwnServer
from tests.storage.faults.sqlite_stores import held_by_another_process
from tests.surfaces.command import fails, make_newer, sql, tenure
from tests.surfaces.conftest import Start
from tests.surfaces.http.http_server import request
from tests.surfaces.http.server.test_framing import GARBLED, OVERSIZED
from tests.surfaces.store_behind import MAIL, register
from tests.until import until_sync

WISH = {"jobType": "mail", "payload": {"to": "ada"}, "idempotencyKey": "k"}
BOUND = 60.0
"""Seconds within which everything here has long ended; who needs them hangs."""

Running = tuple["subprocess.Popen[str]", httpx.Client]


@contextmanager
def serving(start: Start, database: str, *arguments: str, **variables: str) -> Iterator[Running]:
    """The command on a database, as soon as it listens, and a client for it."""
    process = start("api", "--database", database, "--port", "0", *arguments, **variables)
    assert process.stderr is not None
    first = process.stderr.readline()
    found = re.match(r"(http://127\.0\.0\.1:\d+) on ", first)
    assert found, first + process.stderr.read()
    with httpx.Client(base_url=found[1], timeout=BOUND, trust_env=False) as client:
        yield process, client


def test_it_serves_until_told_to_stop(start: Start, migrated: str) -> None:
    """S0.38: and what it was told is kept when it is gone."""
    register(migrated, MAIL)
    with serving(start, migrated) as (process, client):
        assert client.get("/readyz").json() == {"status": "ready"}
        job = client.post("/jobs", json=WISH).json()["jobId"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(BOUND) == 0
    with serving(start, migrated) as (process, client):
        assert client.get(f"/jobs/{job}").json()["status"] == "PENDING"
        process.send_signal(signal.SIGINT)
        assert process.wait(BOUND) == 0


def test_what_is_under_way_is_finished_and_nothing_new_is_taken(start: Start, migrated: str) -> None:
    """S3.51, S3.52, S3.53: a request half-sent is done, a long wait ends at once, a new caller is refused."""
    register(migrated, MAIL)
    with serving(start, migrated) as (process, client), ThreadPoolExecutor() as threads:
        job = client.post("/jobs", json=WISH).json()["jobId"]
        host, port = client.base_url.host, client.base_url.port or 0
        body = json.dumps({"definitionKey": "mail"}).encode()
        with socket.create_connection((host, port), timeout=BOUND) as half_sent:
            headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
            half_sent.sendall(request(headers=headers) + body[:5])
            waiting = threads.submit(client.get, f"/v1/jobs/{job}/result?waitSeconds=30")
            _until_heard(client)
            process.send_signal(signal.SIGTERM)
            assert waiting.result(25).status_code == 202  # sooner than it was asked to wait
            _until_refused(host, port)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1)  # for as long as a request is under way
            half_sent.sendall(body[5:])
            assert half_sent.recv(100).startswith(b"HTTP/1.1 202")
        assert process.wait(BOUND) == 0
    assert sql(migrated, "SELECT count(*) FROM tenure.job") == [(2,)]


def _until_heard(client: httpx.Client) -> None:
    """Until requests that were sent later are answered: those before them have been read."""
    with httpx.Client(base_url=client.base_url, timeout=BOUND, trust_env=False) as other:
        for _ in range(10):
            assert other.get("/healthz").status_code == 200


def _until_refused(host: str, port: int) -> None:
    def is_refused() -> bool:
        try:
            socket.create_connection((host, port), timeout=BOUND).close()
        except ConnectionError:
            return True
        return False

    until_sync(is_refused)


def test_a_second_signal_ends_it_at_once(start: Start, migrated: str) -> None:
    register(migrated, MAIL)
    with serving(start, migrated, "--shutdown-seconds", "600") as (process, client):
        host, port = client.base_url.host, client.base_url.port or 0
        with socket.create_connection((host, port), timeout=BOUND) as half_sent:
            half_sent.sendall(request(headers={"Content-Type": "application/json", "Content-Length": "9"}))
            _until_heard(client)
            client.close()
            process.send_signal(signal.SIGTERM)
            _until_refused(host, port)
            process.send_signal(signal.SIGTERM)
            assert process.wait(BOUND) == 130


def test_the_command_bounds_requests_as_the_server_does(start: Start, tmp_path: Path) -> None:
    """Rows 11, 15 and 16: on the loop that the command runs on, which closes connections in its own way."""
    with serving(start, f"sqlite:///{tmp_path / 'jobs.db'}") as (_, client):
        address = (client.base_url.host, client.base_url.port or 0)
        form = {"Content-Type": "application/json"}
        for data, status in {
            request(headers={**form, "Content-Length": str(8 * 2**20)}) + b"x" * (4 * 2**20): b"413",
            GARBLED["both lengths"]: b"400",
            **{data: str(status).encode() for data, status in OVERSIZED.values()},
        }.items():
            with socket.create_connection(address, timeout=BOUND) as wire:
                wire.sendall(data)
                assert wire.recv(100).startswith(b"HTTP/1.1 " + status)
        assert client.get("/healthz").status_code == 200


def test_the_command_bounds_queues(start: Start, tmp_path: Path) -> None:
    """Row 37: if it is told to, and never for who asks again."""
    database = f"sqlite:///{tmp_path / 'jobs.db'}"
    register(database, MAIL)
    with serving(start, database, TENURE_MAX_QUEUE_DEPTH="1") as (_, client):
        replies = [client.post("/jobs", json={**WISH, "idempotencyKey": key}) for key in ("k", "other", "k")]
        assert [reply.status_code for reply in replies] == [202, 429, 202]
        assert replies[1].headers["retry-after"] == "2"
        assert replies[2].json() == replies[0].json()


@pytest.mark.both_stores
def test_a_server_killed_before_it_could_answer_has_lost_or_made_nothing_twice(
    start: Start, migrated: str
) -> None:
    """C4, S0.42, S0.59: what it recorded it has accepted; whoever heard nothing asks again, of another."""
    register(migrated, MAIL)
    body = json.dumps(WISH).encode()
    with serving(start, migrated) as (process, client):
        address = (client.base_url.host, client.base_url.port or 0)
        with socket.create_connection(address, timeout=BOUND) as unheard:
            unheard.sendall(request(path="/jobs", headers={"Content-Type": "application/json"}, body=body))
            _until_recorded(migrated)
            process.kill()
            process.wait()
    with serving(start, migrated) as (_, client):
        replies = [client.post("/jobs", json=WISH).json() for _ in range(2)]
        assert replies[0] == replies[1]
    assert sql(migrated, "SELECT state FROM tenure.job_state") == [("queued",)]


def _until_recorded(database: str) -> None:
    until_sync(lambda: sql(database, "SELECT 1 FROM tenure.job"))


@pytest.fixture(scope="module")
def own_server() -> Iterator[OwnServer]:
    """A server that may be stopped."""
    with OwnServer() as started:
        yield started


def test_while_the_server_is_away_nothing_is_promised(start: Start, own_server: OwnServer) -> None:
    """S0.47, and row 36: 503 and when to come back, never 202; and back by itself."""
    database = own_server.create_database(f"api_{uuid4().hex}")
    register(database, MAIL)
    with serving(start, database) as (_, client):
        first = client.post("/jobs", json=WISH).json()
        own_server.stop_at_once()
        try:
            replies = [
                client.post("/jobs", json=WISH),
                client.post("/v1/jobs", json={"definitionKey": "mail"}),
                client.get("/v1/jobs"),
                client.get(f"/jobs/{first['jobId']}"),
                client.get("/readyz"),
            ]
            assert client.get("/healthz").status_code == 200
        finally:
            own_server.start_again()
        for reply in replies:
            _is_unavailable(reply)
        _until_ready(client)
        assert client.post("/jobs", json=WISH).json() == first
    assert sql(database, "SELECT count(*) FROM tenure.job") == [(1,)]


def test_while_the_file_is_held_nothing_is_promised(start: Start, tmp_path: Path) -> None:
    """S0.47, and row 36: as above, and whoever only looks is served."""
    path = tmp_path / "jobs.db"
    database = f"sqlite:///{path}"
    register(database, MAIL)
    with serving(start, database) as (_, client), ThreadPoolExecutor() as threads:
        first = client.post("/jobs", json=WISH).json()
        with held_by_another_process(path):
            writing = [
                threads.submit(client.post, "/jobs", json={**WISH, "idempotencyKey": str(n)})
                for n in range(5)
            ]
            for one in writing:
                _is_unavailable(one.result(BOUND))
            assert client.get(f"/jobs/{first['jobId']}").status_code == 200
        assert client.post("/jobs", json=WISH).json() == first
        for n in range(5):
            assert client.post("/jobs", json={**WISH, "idempotencyKey": str(n)}).status_code == 202
    assert sql(database, "SELECT count(*) FROM tenure.job") == [(6,)]


def _is_unavailable(reply: httpx.Response) -> None:
    assert reply.status_code == 503, reply.text
    assert reply.json()["type"] == "/docs#storage-unavailable"
    assert int(reply.headers["retry-after"]) > 0
    assert not re.search(r"127\.0\.0\.1|port|\.db|sqlite|postgres", reply.text)


def _until_ready(client: httpx.Client) -> None:
    until_sync(lambda: client.get("/readyz").status_code == 200)


def test_a_schema_that_becomes_another_is_not_ready(start: Start, migrated: str) -> None:
    register(migrated, MAIL)
    [(known,)] = sql(migrated, "SELECT max(number) FROM tenure.migration")
    with serving(start, migrated) as (_, client):
        make_newer(migrated)
        until_sync(lambda: client.get("/readyz").status_code != 200)  # one look answers for a second
        reply = client.get("/readyz")
        assert reply.status_code == 503
        told = reply.json()
        assert told["type"] == "/docs#schema-mismatch"
        assert (told["schemaFound"], told["schemaKnown"]) == (9999, known)
        assert told["detail"] == (
            f"the database has schema 9999, this server knows {known}; upgrade the server"
        )
        assert client.get("/healthz").status_code == 200


def test_a_server_whose_schema_was_never_made_says_so(start: Start, migrated: str) -> None:
    """Not that the store does not answer: it does."""
    register(migrated, MAIL)
    with serving(start, migrated) as (_, client):
        sql(migrated, "DELETE FROM tenure.migration WHERE number > 1")
        until_sync(lambda: client.get("/readyz").status_code != 200)
        told = client.get("/readyz").json()
        assert told["type"] == "/docs#schema-mismatch"
        assert told["schemaFound"] == 1
        assert "run `tenure migrate`" in told["detail"]


def test_a_newer_schema_that_this_version_can_read_takes_nothing_out_of_rotation(
    start: Start, migrated: str
) -> None:
    register(migrated, MAIL)
    [(known,)] = sql(migrated, "SELECT max(number) FROM tenure.migration")
    with serving(start, migrated) as (_, client):
        assert client.get("/readyz").status_code == 200
        make_newer(migrated, reads_from=known)
        assert client.post("/jobs", json=WISH).status_code == 202
    with serving(start, migrated) as (_, client):  # it may restart as well
        assert client.get("/readyz").status_code == 200


def test_a_store_that_was_restored_is_not_ready(start: Start, postgres_database: str) -> None:
    """The server runs on while the database is put back under it: its operator is told what to do."""
    register(postgres_database, MAIL)
    with serving(start, postgres_database) as (_, client):
        client.post("/jobs", json=WISH)
        sql(postgres_database, "ALTER TABLE tenure.job DISABLE TRIGGER USER")
        sql(postgres_database, "UPDATE tenure.job SET mark = mark + 1000000000")
        sql(postgres_database, "ALTER TABLE tenure.job ENABLE TRIGGER USER")
        until_sync(lambda: client.get("/readyz").json().get("type") == "/docs#store-restored")
        reply = client.get("/readyz")
        assert reply.status_code == 503
        assert "tenure migrate --after-restore" in reply.json()["detail"]
        assert client.get("/healthz").status_code == 200


def test_it_refuses_to_be_reached_by_others(tmp_path: Path) -> None:
    """Row 69."""
    for host in ("0.0.0.0", "::"):  # noqa: S104
        assert fails(tenure(tmp_path, "api", "--host", host), 2, "host", "no keys")
    assert not list(tmp_path.iterdir())


def test_what_it_cannot_listen_on_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert fails(tenure(tmp_path, "api", "--port", port), 2, "port", port)
    assert fails(tenure(tmp_path, "api", "--port", "70000"), 2, "port")


def test_a_database_that_cannot_be_used_is_told_at_the_start(tmp_path: Path, unreachable: str) -> None:
    ran = tenure(tmp_path, "api", "--port", "0", "--database", unreachable)
    assert ran.returncode == 3
    assert "s3cret" not in ran.stderr


def test_a_database_that_was_not_migrated_is_refused(tmp_path: Path, postgres_database: str) -> None:
    assert fails(tenure(tmp_path, "api", "--port", "0", "--database", postgres_database), 6)
