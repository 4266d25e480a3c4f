"""The receiver of webhooks that is in `examples`: it stores what is proved, once, and nothing else."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import httpx
import msgspec
import pytest
from standardwebhooks.webhooks import Webhook as Signer

from tenure.core.webhooks.signature import random_secret
from tests.surfaces.command import PATIENCE, environment

EXAMPLE = Path(__file__).parents[2] / "examples/receiver/receiver.py"
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

    def stored(self) -> list[str]:
        """The ids of what it has stored."""
        with apsw.Connection(str(self.database)) as connection:
            return [str(row[0]) for row in connection.execute("SELECT id FROM event ORDER BY id")]


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Running]:
    variables = {"WEBHOOK_SECRET": f"{OLD} {NEW}", "PORT": "0"}
    process = subprocess.Popen(
        [sys.executable, str(EXAMPLE)],
        cwd=tmp_path,
        env=environment(**variables),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield Running(process.stdout.readline().split()[-1], tmp_path / "events.db", process)
    finally:
        process.kill()
        process.communicate()


def test_an_event_that_comes_twice_is_stored_once(receiver: Running) -> None:
    """S1.79: by either secret while one is replaced, signed by another implementation of the standard."""
    assert [receiver.send("msg_1"), receiver.send("msg_1"), receiver.send("msg_2", OLD)] == [204, 204, 204]
    assert receiver.stored() == ["msg_1", "msg_2"]
    receiver.process.kill()
    assert receiver.stored() == ["msg_1", "msg_2"]


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
