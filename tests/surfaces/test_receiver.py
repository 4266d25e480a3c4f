"""The receiver of webhooks that is in `examples`: it stores what is proved, once, and nothing else."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import httpx
import msgspec
import pytest
from standardwebhooks.webhooks import Webhook as Signer

from tenure.core.webhooks.signature import random_secret
from tests.ports import free_port
from tests.surfaces.command import PATIENCE, environment, tenure
from tests.surfaces.conftest import Start
from tests.until import until_sync

EXAMPLE = Path(__file__).parents[2] / "examples/receiver/receiver.py"
APP = """
from tenure import Tenure

app = Tenure()


@app.job("greet")
def greet(params: dict) -> str:
    return "hello"
"""
OLD, NEW = random_secret(), random_secret()


class Running(NamedTuple):
    """The receiver in a process of its own."""

    url: str
    database: Path
    process: subprocess.Popen[str]

    def send(self, message: str = "msg_1", secret: str = NEW, *, age: int = 0, **changed: Any) -> int:
        """Send an event as any sender of Standard Webhooks would; returns the status."""
        now = datetime.now(UTC)
        body = msgspec.json.encode({"type": "succeeded", "timestamp": now, "n": 4}).decode()
        sent = now - timedelta(seconds=age)
        headers = {
            "webhook-id": message,
            "webhook-timestamp": str(int(sent.timestamp())),
            "webhook-signature": Signer(secret).sign(message, sent, body),
        }
        headers |= changed.get("headers", {})
        return httpx.post(
            self.url, content=changed.get("body", body), headers=headers, trust_env=False, timeout=PATIENCE
        ).status_code

    def stored(self, column: str = "id") -> list[str]:
        """What it has stored: the ids, or another column."""
        with closing(apsw.Connection(str(self.database))) as connection:
            connection.set_busy_timeout(10_000)
            return [str(row[0]) for row in connection.execute(f"SELECT {column} FROM event ORDER BY id")]


@contextmanager
def receiving(folder: Path, secrets: str, port: int = 0) -> Iterator[Running]:
    """The receiver with these secrets, on any port that is free unless one is given."""
    process = subprocess.Popen(
        [sys.executable, str(EXAMPLE)],
        cwd=folder,
        env=environment(WEBHOOK_SECRET=secrets, PORT=str(port)),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield Running(process.stdout.readline().split()[-1], folder / "events.db", process)
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Running]:
    with receiving(tmp_path, f"{OLD} {NEW}") as running:
        yield running


def test_an_event_that_comes_twice_is_stored_once(receiver: Running) -> None:
    """S1.79: by either secret while one is replaced, signed by another implementation of the standard."""
    assert [receiver.send("msg_1"), receiver.send("msg_1"), receiver.send("msg_2", OLD)] == [204, 204, 204]
    assert receiver.stored() == ["msg_1", "msg_2"]
    receiver.process.kill()
    assert receiver.stored() == ["msg_1", "msg_2"]


@pytest.mark.parametrize(
    ("secrets", "said"), [("", "is missing"), ("whsec_typo", "is no secret of a webhook")]
)
def test_a_secret_that_is_none_is_seen_at_the_start(tmp_path: Path, secrets: str, said: str) -> None:
    ran = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        cwd=tmp_path,
        env=environment(WEBHOOK_SECRET=secrets),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (ran.returncode, ran.stdout, len(ran.stderr.splitlines())) == (2, "", 1)
    assert ran.stderr.startswith(f"WEBHOOK_SECRET: secret: {said}")


def test_what_is_not_proved_is_refused_and_not_stored(receiver: Running) -> None:
    """S1.79: another secret, a changed body or id, an old request, no signature at all, too much."""
    assert receiver.send(secret=random_secret()) == 400
    assert receiver.send(body=b'{"type":"succeeded","timestamp":"2030-01-01T00:00:00Z"}') == 400
    assert receiver.send(headers={"webhook-id": "msg_other"}) == 400
    assert receiver.send(age=301) == 400
    assert receiver.send(headers={"webhook-signature": ""}) == 400
    assert receiver.send(body=b"x" * (2**20 + 1)) == 413
    assert receiver.stored() == []
    assert receiver.send() == 204


def test_who_follows_the_guide_is_told_of_the_end_of_a_job(
    tmp_path: Path, migrated: str, start: Start
) -> None:
    """S1.17, S1.73: a webhook by command, a worker that sends, a secret that is replaced meanwhile."""
    (tmp_path / "app.py").write_text(APP)
    settings = {"TENURE_DATABASE": migrated, "TENURE_WEBHOOK_ALLOW": "127.0.0.0/8"}
    port = free_port()
    asked = ("webhooks", "create", f"http://127.0.0.1:{port}/", "--event", "onEnd", "--with-result")
    made = tenure(tmp_path, *asked, **settings)
    assert made.returncode == 0, made
    webhook, secret = made.stdout.split()
    start("worker", "app:app", **settings)

    def enqueued() -> str:
        return tenure(tmp_path, "enqueue", "greet", **settings).stdout.strip()

    with receiving(tmp_path, secret, port) as receiver:
        job = until_sync(enqueued)  # it is refused until the worker has registered the definition
        until_sync(receiver.stored)
        assert (receiver.stored("type"), receiver.stored("job")) == (["succeeded"], [job])
        assert msgspec.json.decode(receiver.stored("body")[0])["result"] == "hello"
        rotated = tenure(tmp_path, "webhooks", "rotate", webhook, **settings)
        assert rotated.returncode == 0, rotated
        tested = tenure(tmp_path, "webhooks", "test", webhook, **settings).stdout.strip()
        until_sync(lambda: tested in receiver.stored())
    with receiving(tmp_path, rotated.stdout.split()[1], port) as receiver:
        again = tenure(tmp_path, "webhooks", "test", webhook, **settings).stdout.strip()
        until_sync(lambda: again in receiver.stored())
        assert len(receiver.stored()) == 3
