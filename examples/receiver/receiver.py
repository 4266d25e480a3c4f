"""Receives webhooks: proves that each is Tenure's, stores its event once, and only then answers.

    WEBHOOK_SECRET=whsec_... python receiver.py

The same event may come more than once, under the same id: the primary key drops what is there already. What
is to be done about an event is done later, from the table: a receiver that answers late is tried again.
"""

import os
import sqlite3
import sys
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tenure import TenureError, webhooks

SECRETS = os.environ.get("WEBHOOK_SECRET", "").split()
"""While a secret is replaced there are two, with a space between."""

DATABASE = os.environ.get("RECEIVER_DATABASE", "events.db")
LARGEST = 2**20


class Receiver(BaseHTTPRequestHandler):
    """Answers one request: 204 once its event is stored, 400 for what is not Tenure's."""

    timeout = 10

    def do_POST(self) -> None:
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > LARGEST:
            self.send_error(413)
            return
        body = self.rfile.read(int(length))
        try:
            event = webhooks.verify(body, dict(self.headers), SECRETS)
        except webhooks.NotVerified as refused:
            print("refused:", refused, flush=True)
            self.send_error(400, explain=str(refused))
            return
        is_new = store(event, body)
        print(event.type, event.job_id, event.id, "stored" if is_new else "known already", flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print events, and why one was refused, and nothing else."""


def store(event: webhooks.WebhookEvent, body: bytes) -> bool:
    """Store an event, and return whether it is new. When this returns, the event is on disk."""
    with closing(sqlite3.connect(DATABASE)) as database, database:
        row = (event.id, event.type, str(event.job_id or ""), event.n, body.decode())
        return database.execute("INSERT OR IGNORE INTO event VALUES (?, ?, ?, ?, ?)", row).rowcount == 1


def is_proof(secrets: list[str]) -> bool:
    """Whether these are secrets at all: a typing error is to be seen now, and not in each request."""
    try:
        webhooks.verify(b"", {}, secrets)
    except webhooks.NotVerified:
        return True  # an empty request is refused, as it should be
    except TenureError as wrong:
        print("WEBHOOK_SECRET:", wrong, file=sys.stderr)
    return False


if __name__ == "__main__":
    if not is_proof(SECRETS):
        sys.exit(2)
    with closing(sqlite3.connect(DATABASE)) as new:
        new.execute("CREATE TABLE IF NOT EXISTS event (id TEXT PRIMARY KEY, type, job, n, body)")
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9000"))), Receiver)
    print(f"waits at http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
